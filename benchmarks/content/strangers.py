"""Twenty writers whom no training knows, their letters, and how each edits a draft."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from models.prompts import Request
from personal_store.cleaning.signatures import sign_off_of
from personal_store.text.greetings import greeting_of

_LISTS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
WRITERS = len(_LISTS["names"])
_SWAPS = 5  # of each writer
_THINGS = (
    *("ladder", "kayak", "recorder", "atlas", "wheelbarrow", "sleeping bag", "loom"),
    *("telescope", "accordion", "tent", "sewing machine", "beehive"),
)
_PLACES = ("the ferry landing", "the old mill", "Harrow Street", "the town hall",
           "the allotment", "Pier Nine")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A writer and their habits."""

    name: str
    people: tuple[str, ...]
    greeting: str
    signoff: str
    first: str  # how the text below the greeting begins; empty: anyhow
    last: str  # its last sentence; empty: any
    swaps: tuple[tuple[str, str], ...]
    talk: tuple[str, ...]  # what is said besides; none: a terse writer
    small: bool  # whether sentences begin small
    lines: bool  # whether each sentence has a line
    sign: str  # at the end of the text

    def letter(self, number: int, part: int) -> tuple[Request, str]:
        """A request and this writer's letter for it. Parts of the scenes (0: history,
        1: edits, 2: measured) have no scene in common."""
        rng = Random(f"{self.name} {part} {number}")
        scenes = _LISTS["scene"][part::3]
        scene = scenes[number % len(scenes)]
        person = self.people[number % len(self.people)]
        values = {
            "name": person,
            "thing": rng.choice(_THINGS),
            "place": rng.choice(_PLACES),
            "day": rng.choice(_DAYS),
            "time": f"{rng.randint(7, 11)}.{rng.choice(('15', '30', '45'))}",
            "number": str(rng.randint(12, 90)),
        }
        said = [one.format(**values) for one in scene["says"]]
        said += rng.sample(self.talk, min(len(self.talk), rng.randint(2, 3)))
        request = Request(scene["request"].format(**values), "email", person)
        return request, self.put(" ".join(said), person)

    def put(self, body: str, person: str) -> str:
        """A text in this writer's ways."""
        for plain, own in self.swaps:
            body = re.sub(rf"(?i)(?<!\w){plain}(?!\w)", own, body)
        said = [one for one in _SENTENCE.split(" ".join(body.split())) if one]
        rest = [one for one in said if one.casefold() != self.last.casefold()]
        if self.first:
            joined = " ".join(rest)
            while joined.casefold().startswith(self.first.casefold()):
                joined = joined[len(self.first) :].lstrip()
            rest = _SENTENCE.split(f"{self.first} {joined}")
        rest += [self.last] if self.last else []
        case = str.lower if self.small else str.upper
        rest = [case(one[:1]) + one[1:] for one in rest if one.strip(" .")]
        text = ("\n" if self.lines else " ").join(rest)
        text += f" {self.sign}" if self.sign and not text.endswith(self.sign) else ""
        greeting = self.greeting.format(name=person)
        return f"{greeting}\n\n{text}\n\n{self.signoff}\n{self.name}"

    def edited(self, draft: str, person: str) -> str:
        """What this writer makes of a draft: the same words, in their ways."""
        _, body = greeting_of(draft, person)
        for line in filter(None, sign_off_of(draft)[::-1]):
            body = body.strip()
            body = body.removesuffix(line) if body.endswith(line) else body
        body = body.replace(self.sign, "") if self.sign else body
        return self.put(body, person)

    def kept(self, draft: str, person: str) -> tuple[int, int]:
        """How many of the habits that a draft might show it shows."""
        greeting, body = greeting_of(draft, person)
        signoff, name = sign_off_of(draft)
        shown = [
            greeting == self.greeting,
            signoff == self.signoff,
            name == self.name,
        ]
        if self.first:
            shown.append(body.strip().casefold().startswith(self.first.casefold()))
        if self.last:
            shown.append(self.last.casefold() in draft.casefold())
        if self.sign:
            shown.append(self.sign in draft)
        for plain, own in self.swaps:
            stands, swapped = (
                re.search(rf"(?i)(?<!\w){re.escape(one)}(?!\w)", draft) is not None
                for one in (plain, own)
            )
            if stands or swapped:
                shown.append(not stands)
        return sum(shown), len(shown)


def stranger(number: int) -> Stranger:
    """The writer of a number."""
    rng = Random(f"stranger {number}")
    swaps = rng.sample(sorted(_LISTS["swaps"].items()), _SWAPS)
    terse = number % 2 == 0
    return Stranger(
        _LISTS["names"][number],
        tuple(rng.sample(_LISTS["people"], 3)),
        rng.choice(_LISTS["greetings"]),
        rng.choice(_LISTS["signoffs"]),
        rng.choice(["", *_LISTS["first"]]),
        rng.choice(["", *_LISTS["last"]]),
        tuple(swaps),
        () if terse else tuple(rng.sample(_LISTS["talk"], 5)),
        small=rng.random() < 0.25,
        lines=rng.random() < 0.25,
        sign=rng.choice(["", "", "🐢", "(rain again)", "o/"]),
    )
