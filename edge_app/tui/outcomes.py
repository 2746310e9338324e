"""Outcomes that the service's threads put into the inbox and the screen takes out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal

from edge_app.decoding.events import Event, HeldBack, Source
from edge_app.service.requests import MayLeave
from edge_app.tui.variant import Variant

if TYPE_CHECKING:
    from personal_store.ingest.unfinished import Unfinished

_MOMENT = 0.1  # seconds, after which a thread that waits looks whether it is to stop


@dataclass(frozen=True, slots=True)
class News:
    """A message to show to the person."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The models are loaded; `server` names the checker."""

    server: str


@dataclass(frozen=True, slots=True)
class PrepareFailed:
    """The models could not be loaded; `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class Emitted:
    """The service emitted `event` while it wrote `variant`."""

    variant: Variant
    event: Event


@dataclass(frozen=True, slots=True)
class Asked:
    """The guard found something, and the service waits for what the person says."""

    held: HeldBack
    stop: threading.Event
    """Set when the text is not wanted any more."""
    answers: SimpleQueue[MayLeave] = field(default_factory=SimpleQueue)

    def wait(self, closing: threading.Event) -> MayLeave:
        """The answer; no where the text or the app ends without one."""
        while not (self.stop.is_set() or closing.is_set()):
            try:
                return self.answers.get(timeout=_MOMENT)
            except Empty:
                continue
        return "no"


@dataclass(frozen=True, slots=True)
class WriteEnded:
    """The service has written `variant`; `problem` is empty if nothing failed."""

    variant: Variant
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ImportAdvanced:
    """The importer has read `done` of `total` pieces of the file."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ImportEnded:
    """The import is over; `sentence` sums it up or says why it failed."""

    sentence: str
    failed: bool
    paused: bool = False
    """Whether the person paused it."""


@dataclass(frozen=True, slots=True)
class WasImporting:
    """An earlier sitting began this import, and did not finish it; None: it did."""

    asked: Unfinished | None


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of the person's texts in the store, by kind."""

    counts: dict[str, int]
    people: tuple[str, ...] = ()
    """Who can be written to, as `Name <address>`, the latest first."""
    own_address: str = ""
    """Of the person, for mails."""
    identities: tuple[str, ...] = ()
    """All that is known to be theirs."""


@dataclass(frozen=True, slots=True)
class Found:
    """The letters that match `query`."""

    query: str
    sources: tuple[Source, ...]
    problem: str = ""
    """Why the search failed; empty if it did not."""


@dataclass(frozen=True, slots=True)
class TextsRead:
    """The letters of a draft that the store still has: their texts by their records."""

    texts: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Heard:
    """What others wrote that matches `query`."""

    query: str
    sources: tuple[Source, ...]
    problem: str = ""
    """Why the search failed; empty if it did not."""


@dataclass(frozen=True, slots=True)
class InThread:
    """All texts of the thread of a received one, the oldest first."""

    record_id: int
    sources: tuple[Source, ...]
    references: tuple[str, ...] = ()
    """Identifiers of it and of those that it answers, the oldest first."""
    own_address: str = ""
    """Of the person: to which it came."""


Outcome = (
    Prepared
    | PrepareFailed
    | Emitted
    | Asked
    | WriteEnded
    | ImportAdvanced
    | ImportEnded
    | WasImporting
    | Counted
    | Found
    | TextsRead
    | Heard
    | InThread
)
