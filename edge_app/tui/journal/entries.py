"""What happens to a draft, as values that become a line of JSON each and come back.

Letters are counted as Python counts them. `version` is the place of a version among
all that were asked for, from 0.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar, get_args

from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import Origin
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import (
    Event,
    Finished,
    Given,
    HeldBack,
    Opened,
    Quoted,
    Reckoned,
    Sent,
    Settled,
    Source,
    SourcesFound,
    Verified,
    Weighed,
    to_json,
)
from edge_app.service.requests import Letter, WriteRequest
from edge_app.tui.journal.stretch import Stretch
from edge_app.tui.journal.style import Style
from edge_app.tui.recording import from_json
from edge_app.tui.runs import Run, State
from models.prompts import TASKS, Request

_AT_REST: tuple[State, ...] = ("kept", "replaced", "typed", "pasted", "held")
"""States of words that no longer wait for a verdict."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The brief changed: `text` stands for `removed` letters from `at` on."""

    task: str
    recipient: str
    at: int
    removed: int
    text: str


@dataclass(frozen=True, slots=True)
class Begun:
    """Another version was asked for; it is the one on screen."""

    request: WriteRequest
    samples: bool = False
    """Whether it is written from sample letters."""
    stretch: Stretch | None = None
    """What of another version it is written anew from; None: it is a text of its
    own."""


@dataclass(frozen=True, slots=True)
class Written:
    """The service said something of a version that its text or its figures need."""

    version: int
    event: Event


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person stopped the writing, or it was cut off; without a word the version
    gives way to the one before it unless it is to be `kept`."""

    version: int
    kept: bool = False
    cut: bool = False
    """Whether the app ended while it was written, and nobody stopped it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The service is done with a version, whatever came of it."""

    version: int


@dataclass(frozen=True, slots=True)
class Edited:
    """The person changed a version: `runs` stand for `removed` letters from `at`."""

    version: int
    at: int
    removed: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A version was brought to the screen."""

    version: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A file holds `text` of a version."""

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A source is to be left out of later versions, or, if `taken`, is in again."""

    source: Source
    taken: bool


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The draft answers a received text, None: none; the store has what it says."""

    source: Source | None


@dataclass(frozen=True, slots=True)
class Styled:
    """How the draft is to be written was set."""

    style: Style


@dataclass(frozen=True, slots=True)
class Offline:
    """The checker was switched off or on."""

    on: bool


@dataclass(frozen=True, slots=True)
class PutAside:
    """The person is done with the draft for now: the next start begins another."""


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The person goes on with the draft."""


Entry = (
    Asked
    | Begun
    | Written
    | Stopped
    | Ended
    | Edited
    | Shown
    | Saved
    | LeftOut
    | ReplyTo
    | Styled
    | Offline
    | PutAside
    | TakenUp
)
_T = TypeVar("_T", bound=Entry | Stretch)
_PLAIN = {
    kind.__name__: kind
    for kind in (Asked, Stopped, Ended, Shown, Saved, Offline, PutAside, TakenUp)
}


def worth_keeping(event: Event) -> Event | None:
    """What of the event a journal keeps, None for nothing: what only passes over the
    screen, and what the ledger keeps. The texts of sources stay in the store alone,
    where they can be forgotten."""
    match event:
        case SourcesFound(sources=sources):
            bare = tuple(replace(source, excerpt="") for source in sources)
            return replace(event, sources=bare)
        case Given(count):
            return Given(count)
        case Sent():
            return replace(event, token_ids=(), payload=b"")
        case (
            Quoted()
            | Opened()
            | Verified()
            | Settled()
            | HeldBack()
            | Reckoned()
            | Finished()
        ):
            return event
        case Weighed():
            return event
        case _:
            return None


def to_line(entry: Entry) -> str:
    """The entry as JSON, its kind under `kind`; one line."""
    match entry:
        case Written(version, event):
            body: dict[str, Any] = {"version": version, "event": to_json(event)}
        case Begun(request, samples, stretch):
            excluded = sorted(request.excluded)
            body = asdict(request) | {"excluded": excluded, "samples": samples}
            if stretch is not None:
                body["stretch"] = asdict(stretch)
        case LeftOut(source, taken):
            body = {"source": asdict(replace(source, excerpt="")), "taken": taken}
        case ReplyTo(source):
            bare = None if source is None else asdict(replace(source, excerpt=""))
            body = {"source": bare}
        case _:
            body = asdict(entry)
    # ASCII, so that half a surrogate pair, which UTF-8 lacks, comes back too.
    return json.dumps({"kind": type(entry).__name__, **body})


def from_line(line: str) -> Entry:
    """The entry that `to_line` wrote.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: it wrote no such line.
    """
    body: dict[str, Any] = json.loads(line)
    kind = body.pop("kind")
    if kind in _PLAIN:
        made: Entry = _PLAIN[kind](**body)
        return _checked(made)
    match kind:
        case "Written":
            event = from_json(body["event"])
            settled = event.tokens if isinstance(event, Settled) else ()
            if any(token.origin not in get_args(Origin) for token in settled):
                raise ValueError("a token of no known origin")
            return _checked(Written(body["version"], event))
        case "Begun":
            samples = bool(body.pop("samples"))
            given = body.pop("stretch", None)
            stretch = None if given is None else _checked(Stretch(**given))
            return Begun(_request(body), samples, stretch)
        case "Edited":
            runs = tuple((str(text), state) for text, state in body.pop("runs"))
            if any(state not in _AT_REST for _, state in runs):
                raise ValueError("words of no known state")
            return _checked(Edited(**body, runs=runs))
        case "LeftOut":
            return LeftOut(Source(**body["source"]), bool(body["taken"]))
        case "ReplyTo":
            found = body["source"]
            if found is None:
                return ReplyTo(None)
            return ReplyTo((Letter if "sender" in found else Source)(**found))
        case "Styled":
            return Styled(Style(**body["style"]))
    raise ValueError(f"no such entry: {kind}")


def _checked(entry: _T) -> _T:
    """The entry, if its numbers are such; else ValueError."""
    if isinstance(entry, Asked) and entry.task not in TASKS:
        raise ValueError("no such kind of text")
    for field in fields(entry):
        value = getattr(entry, field.name)
        if field.type == "int" and not (type(value) is int and value >= 0):
            raise ValueError(f"{field.name} is no count")
        if field.type == "str" and not isinstance(value, str):
            raise ValueError(f"{field.name} is no text")
    return entry


def _request(body: dict[str, Any]) -> WriteRequest:
    """The request; settings that this version of the program lacks are the usual."""
    brief = Request(**{name: str(text) for name, text in body.pop("brief").items()})
    known = {field.name for field in fields(MethodSettings)}
    given = body.pop("settings")
    try:
        settings = MethodSettings(**{k: v for k, v in given.items() if k in known})
    except (InvalidSettingsError, TypeError):
        settings = MethodSettings()
    excluded = frozenset(map(int, body.pop("excluded")))
    return WriteRequest(brief, settings=settings, excluded=excluded, **body)
