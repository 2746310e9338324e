"""Mails to clean whose right answer is known, written by nobody.

Each has the words of a writer around, below or between the words of others and of
machines, in the shape that a mail program gives them. Own words, phrases of programs
in thirty languages and the shapes are written for this measure: it shares no table
with the rules that it measures. The same seed gives the same mails.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def table(name: str) -> dict[str, Any]:
    """What a file beside this one holds."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


NAMES, OTHERS, COMPANIES, ROLES, TRAPS, POSTSCRIPTS = table("texts.toml").values()
LANGUAGES = table("languages.toml")
"""The phrases of each."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a shape is made from: the own words, and the message they answer."""

    language: str
    phrases: dict[str, list[str] | str]
    own: str
    name: str
    who: str
    mail: str
    theirs: str
    day: int
    year: int
    time: str

    def line(self, key: str) -> str:
        """A phrase of the language with date, time and names put in."""
        return str(self.phrases[key]).format(
            d=self.day, y=self.year, t=self.time, who=self.who, mail=self.mail
        )


def drafts(count: int, seed: int) -> Iterator[tuple[Draft, random.Random]]:
    """Own words and a message that they answer, the languages in turn."""
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        language = list(LANGUAGES)[number % len(LANGUAGES)]
        phrases = LANGUAGES[language]
        who, mail = rng.choice(OTHERS)
        name = rng.choice(NAMES)

        # Greeting, paragraphs, perhaps a trap, sign-off, name, perhaps a postscript.
        sentences = list(phrases["own"])
        rng.shuffle(sentences)
        own = [" ".join(sentences[:2]), *sentences[2 : rng.randint(2, 4)]]
        if rng.random() < 0.4:
            own.insert(rng.randint(0, len(own)), rng.choice(TRAPS))
        if rng.random() < 0.85:
            own.insert(0, str(phrases["hi"]).format(name=who.split()[0]))
        ending = rng.random()
        if ending < 0.85:
            own.append(f"{phrases['bye']}\n{name}" if ending < 0.7 else name)
        if rng.random() < 0.1 and ending < 0.85:
            own.append(rng.choice(POSTSCRIPTS))

        sentences = list(phrases["theirs"])
        rng.shuffle(sentences)
        theirs = [str(phrases["hi"]).format(name=name.split()[0])]
        theirs += sentences[: rng.randint(1, 3)]
        theirs.append(f"{phrases['bye']}\n{who}")
        if rng.random() < 0.3:
            theirs.append(f"-- \n{who}\n{rng.choice(ROLES)}, {rng.choice(COMPANIES)}")

        texts = "\n\n".join(own), name, who, mail, "\n\n".join(theirs)
        day, year = rng.randint(10, 28), rng.randint(2015, 2025)
        time = f"{rng.randint(10, 11)}:{rng.randint(10, 59)}"
        yield Draft(language, phrases, *texts, day, year, time), rng
