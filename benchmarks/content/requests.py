"""Requests whose facts are known: a file of them, and what a text makes of one.

`everyday.toml` beside this file says how such a file looks; a JSON file holds the same
names.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.content.judging import Judged, judge
from benchmarks.content.matching import Text
from benchmarks.content.rules import Rule, RuleError, rule_of
from decoding_core.foreign_text import one_line
from models.prompts import TASKS, Request

EVERYDAY = Path(__file__).with_name("everyday.toml")
"""A hundred requests in everyday words."""
SIXTY = Path(__file__).with_name("sixty.toml")
"""Sixty that nobody has read who writes what is learnt from."""
EIGHTY = Path(__file__).with_name("eighty.toml")
"""Eighty for development."""

Told = Literal["request", "notes"]


class RequestsError(RuleError):
    """A file of requests cannot be used. Told to the user."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a text must say."""

    what: str
    kind: str
    """Such as `date`, `name`, `answer`, `reason`: what errors are counted by."""
    says: tuple[Rule, ...]
    """The text says it where one of these is found."""
    against: tuple[Rule, ...] = ()
    told: Told = "request"
    """Where it is told; the generalist reads no notes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and its facts."""

    name: str
    request: Request
    facts: tuple[Fact, ...]
    notes: str = ""

    def judged(self, text: str) -> list[Judged]:
        """What a text makes of each fact. One word of it contradicts one fact: where
        it might contradict more, the first."""
        found, known = Text(text), Text(self.told)
        verdicts: list[Judged] = []
        for fact in self.facts:
            judged = judge(fact.says, fact.against, found, known)
            if judged.verdict == "contradicted" and judged in verdicts:
                judged = Judged("omitted")
            verdicts.append(judged)
        return verdicts

    @property
    def told(self) -> str:
        """All that is told to whoever writes."""
        return f"{self.request.recipient}.\n{self.request.text}\n{self.notes}"


def read_requests(path: Path) -> list[Asked]:
    """The requests of a file.

    Raises:
        RequestsError: it cannot be read, or says what nothing knows.
    """
    shown = one_line(str(path))
    try:
        text = path.read_text("utf-8")
        body = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise RequestsError(
            f"{shown} cannot be read: {one_line(str(error))}"
        ) from error
    entries = body.get("request") if isinstance(body, dict) else None
    if not isinstance(entries, list) or not entries:
        raise RequestsError(
            f"{shown} holds no requests: it needs [[request]] tables, as docs/bench.md "
            "shows them"
        )
    found = [
        _asked(entry, f"{shown}, request {number}")
        for number, entry in enumerate(entries, 1)
    ]
    names = [asked.name for asked in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RequestsError(f"{shown} names two requests {one_line(twice[0])}")
    return found


def _asked(entry: Any, where: str) -> Asked:
    body = _table(
        entry,
        where,
        {"name": str, "task": str, "text": str, "facts": list},
        {"to": str, "notes": str},
    )
    where = f"{where} ({one_line(body['name'])})"
    if body["task"] not in TASKS:
        raise RequestsError(f"{where}: the task is one of {', '.join(TASKS)}")
    facts = tuple(
        _fact(fact, f"{where}, fact {number}")
        for number, fact in enumerate(body["facts"], 1)
    )
    if not facts:
        raise RequestsError(f"{where} has no facts")
    request = Request(body["text"], body["task"], body.get("to", ""))
    return Asked(body["name"], request, facts, body.get("notes", ""))


def _fact(entry: Any, where: str) -> Fact:
    body = _table(
        entry,
        where,
        {"what": str, "says": list},
        {"against": list, "kind": str, "told": str},
    )
    told = body.get("told", "request")
    if told not in ("request", "notes"):
        raise RequestsError(f"{where}: 'told' is request or notes")
    says, against = (
        tuple(_rules(body.get(name, []), f"{where}, {name}"))
        for name in ("says", "against")
    )
    if not says:
        raise RequestsError(f"{where} says nothing")
    held = [element.kind for rule in says for element in rule.values]
    return Fact(
        body["what"],
        body.get("kind", held[0] if held else "thing"),
        says,
        against,
        told,
    )


def _rules(lines: Sequence[Any], where: str) -> Iterator[Rule]:
    for line in lines:
        if not isinstance(line, str):
            raise RequestsError(f"{where}: a rule is a text, not {line!r}")
        try:
            yield rule_of(line)
        except RuleError as error:
            raise RequestsError(f"{where}: {one_line(str(error))}") from error


def _table(
    entry: Any, where: str, needed: Mapping[str, type], more: Mapping[str, type]
) -> dict[str, Any]:
    """A table that holds all that is needed and nothing unknown."""
    if not isinstance(entry, dict):
        raise RequestsError(f"{where} is no table")
    for name, value in entry.items():
        kind = needed.get(name) or more.get(name)
        if kind is None:
            known = ", ".join([*needed, *more])
            raise RequestsError(
                f"{where}: nothing is called '{one_line(name)}'; known are {known}"
            )
        if not isinstance(value, kind):
            wanted = "a text" if kind is str else "a list"
            raise RequestsError(f"{where}: '{name}' is {wanted}")
    for name in needed:
        if name not in entry:
            raise RequestsError(f"{where} has no '{name}'")
    return entry
