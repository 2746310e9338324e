"""Requests whose facts are known, from a file or of invented writers, and the texts
that a pair writes for them.

`everyday.toml` beside this file shows the format; a JSON file holds the same names.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmarks.cache import key_of
from benchmarks.content.judging import Judged, Judgement, judge
from benchmarks.content.rules import Rule, RuleError, rule_of, value_of
from benchmarks.pair import Bench
from decoding_core.foreign_text import one_line
from decoding_core.settings import MethodSettings
from edge_app.evaluation.cases import History, passages
from edge_app.facts.values import KINDS, values, words_of
from edge_app.retrieval.context import Searchable, find_passages
from models.prompts import TASKS, Request
from models.synthetic_writers.examples import Piece, texts_of_unseen_writer

EVERYDAY = Path(__file__).with_name("everyday.toml")
"""A hundred requests in everyday words."""
SIXTY = Path(__file__).with_name("sixty.toml")
"""Sixty that nobody has read who writes what is learnt from."""
EIGHTY = Path(__file__).with_name("eighty.toml")  # eighty for development

Told = Literal["request", "notes"]


class RequestsError(RuleError):
    """A file of requests is invalid; the message is shown."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a text must say."""

    what: str
    kind: str  # such as `date`, `name`, `answer`, `reason`: what errors are counted by
    says: tuple[Rule, ...]  # the text says it if one of these is found
    against: tuple[Rule, ...] = ()
    told: Told = "request"  # which input holds it; the generalist reads no notes


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and its facts."""

    name: str
    request: Request
    facts: tuple[Fact, ...]
    notes: str = ""

    def judged(self, text: str) -> list[Judgement]:
        """What a text makes of each fact. One word of it contradicts one fact: the
        first of those that it might."""
        found, known = Judged(text), Judged(self.told)
        verdicts: list[Judgement] = []
        for fact in self.facts:
            judged = judge(fact.says, fact.against, found, known)
            if judged.verdict == "contradicted" and judged in verdicts:
                judged = Judgement("omitted")
            verdicts.append(judged)
        return verdicts

    @property
    def told(self) -> str:
        """Recipient, request and notes."""
        return f"{self.request.recipient}.\n{self.request.text}\n{self.notes}"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Fact(_Table):
    what: str
    says: list[str] = Field(min_length=1)
    against: list[str] = []
    kind: str = ""
    told: Told = "request"


class _Request(_Table):
    name: str
    task: Literal[TASKS]  # type: ignore[valid-type]
    text: str
    facts: list[_Fact] = Field(min_length=1)
    to: str = ""
    notes: str = ""


class _File(_Table):
    request: list[_Request] = Field(min_length=1)


def read_requests(path: Path) -> list[Asked]:
    """The requests of a file. Raises RequestsError if it cannot be read, or does not
    have the form of docs/bench.md."""
    shown = one_line(str(path))
    try:
        text = path.read_text("utf-8")
        body = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        found = [_asked(one) for one in _File.model_validate(body).request]
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(
            str(part + 1) if isinstance(part, int) else part for part in first["loc"]
        )
        raise RequestsError(
            f"{shown}, {one_line(where)}: {first['msg']}; docs/bench.md shows the form"
        ) from error
    except (OSError, ValueError, RecursionError, RuleError) as error:
        raise RequestsError(
            f"{shown} cannot be read: {one_line(str(error))}"
        ) from error
    names = [asked.name for asked in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RequestsError(f"{shown} names two requests {one_line(twice[0])}")
    return found


def _asked(body: _Request) -> Asked:
    facts = []
    for fact in body.facts:
        try:
            says, against = (
                tuple(map(rule_of, rules)) for rules in (fact.says, fact.against)
            )
        except RuleError as error:
            raise RuleError(f"{body.name}, {fact.what}: {error}") from error
        held = [element.kind for rule in says for element in rule.values]
        kind = fact.kind or (held[0] if held else "thing")
        facts.append(Fact(fact.what, kind, says, against, fact.told))
    request = Request(body.text, body.task, body.to)
    return Asked(body.name, request, tuple(facts), body.notes)


SAMPLE_HABITS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "email": {
        "greeting": ("Hullo",),
        "sign-off": (
            "Yours in a hurry,",
            "Love from the hill,",
            "Yours, and not in any hurry,",
        ),
    },
    "review": {"greeting": ("Came for",), "verdict": ("Would go again:",)},
}
"""The ways of the sample's writer, by task, each in all its forms; what is called a
greeting stands first in a text. edge_app/sample/README.md describes them."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request and whose history it is written with."""

    asked: Asked
    history: Searchable
    habits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By kind, what of it a text may hold."""


@dataclass(frozen=True, slots=True)
class Text:
    """What was written for a request."""

    text: str
    tokens: int
    drafted: int
    accepted: int
    ended: str


def written(
    bench: Bench, task: Task, settings: MethodSettings, max_tokens: int
) -> Text:
    """What a method writes, from the kept texts or anew. Raises StoppedError if the
    person stopped, and ContextFullError if the request leaves no room for a text."""
    request, pair = task.asked.request, bench.pair
    found = find_passages(task.history, request)
    prompts = pair.built(request, found, task.asked.notes, max_tokens)
    ids = {"public": prompts.public_ids, "private": prompts.private_ids}
    depends = {
        "prompts": key_of(ids),
        "settings": asdict(settings),
        "max_tokens": max_tokens,
    }

    def compute() -> dict[str, Any]:
        made = pair.write_from(prompts, settings, max_tokens)
        counts, tokens = made.statistics, len(made.token_ids)
        return asdict(
            Text(made.text, tokens, counts.drafted, counts.accepted, made.ended)
        )

    return Text(**bench.result(depends, compute))


_PAST = 6  # texts of a writer that stand in the history
_DROPPED = re.compile(r"(an?|the|my|your|our|his|her|their|i|we|you|he|she|they)\b")
"""Words that a text may say otherwise, as it speaks of other people."""
_WITHIN = ("date", "day", "money", "number")
"""Values that are looked for within a longer name of a thing."""


def unseen_tasks(count: int, seed: int) -> list[Task]:
    """`count` requests, each by a writer of its own whose other texts are known."""
    tasks: list[Task] = []
    number = 0
    while len(tasks) < count:
        first, *past = texts_of_unseen_writer(1 + _PAST, 1_000 * seed + number)
        number += 1
        facts = facts_of(first)
        if not facts:
            continue
        asked = Asked(f"writer-{number}", first.request, facts)
        habits = {kind: (habit,) for kind, habit in first.habits.items()}
        tasks.append(
            Task(asked, History.of(passages(one.excerpt() for one in past)), habits)
        )
    return tasks


def facts_of(piece: Piece) -> tuple[Fact, ...]:
    """What the request of a text names and the text must name too."""
    found = []
    for thing in dict.fromkeys(piece.named):
        bare = _DROPPED.sub("", thing).strip()
        kinds = [kind for kind in KINDS if value_of(kind, bare) is not None]
        if "number" in kinds:
            # Of people, or of the clock.
            kinds = [kind for kind in ("number", "time") if kind in kinds]
        says = [rule_of(f"{{{kind} {bare}}}") for kind in kinds]
        if not says and (words := _words(thing)):
            says, kinds = [rule_of(" .. ".join(words))], ["thing"]
        if says:
            found.append(Fact(thing, kinds[0], (*says,)))
    return tuple(found)


def _words(thing: str) -> list[str]:
    """The words of a thing as a rule has them, values in braces."""
    words = words_of(thing)
    held: dict[int, tuple[str, int]] = {}
    for kind in _WITHIN:
        for place, length, _ in values(kind, words):
            held.setdefault(place, (kind, length))
    rule, place = [], 0
    while place < len(words):
        kind, length = held.get(place, ("", 1))
        said = " ".join(word.text for word in words[place : place + length])
        place += length
        if kind and value_of(kind, said) is not None:
            rule.append(f"{{{kind} {said}}}")
        elif said.isalnum() and not _DROPPED.fullmatch(said):
            rule.append(said)
    return rule
