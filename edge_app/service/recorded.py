"""A service that plays recorded runs, for demonstrations, pictures and tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge_app.decoding.events import (
    Drafted,
    Emit,
    Event,
    Finished,
    Source,
    SourcesFound,
    Statistics,
)
from edge_app.service.requests import WriteRequest

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
else:
    WritingService = object  # no model takes part

_NOTHING: dict[str, Any] = {
    "server_ended": False,
    "counts": {},
    "own_address": "",
    **dict.fromkeys(("correspondents", "identities", "references"), ()),
    **dict.fromkeys(("search_received", "thread"), ()),
}
"""What each method answers about a store that is not there; None for all others."""


def by_the_clock(event: Event) -> None:
    """Wait before `event` about as long as a model would need."""
    time.sleep(0.02 if isinstance(event, Drafted) else 0.001)


@dataclass
class RecordedService(WritingService):
    """A service that answers each request with the next recorded run."""

    recordings: Sequence[Sequence[Event]]
    pace: Callable[[Event], None] = by_the_clock
    """Called before each event; may wait."""
    server: str = "own server"
    requests: list[WriteRequest] = field(default_factory=list)
    hold: bool = False
    """After the recording's last event, wait for `stop` in place of returning."""
    played_all: bool = False
    closed: bool = False

    def prepare(self, **_: Any) -> str:
        """The server's name; no model is loaded."""
        return self.server

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Play the next recording."""
        recording = self.recordings[len(self.requests) % len(self.recordings)]
        self.requests.append(request)
        for event in recording:
            self.pace(event)
            if stop.is_set():
                emit(Finished("stopped", Statistics()))
                return
            emit(event)
        self.played_all = True
        if self.hold:
            stop.wait()

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Sources in the recordings that hold `query`."""
        found = [
            source
            for source in self._sources()
            if query.casefold() in f"{source.title} {source.excerpt}".casefold()
        ]
        return found[:limit]

    def texts(self, record_ids: Sequence[int]) -> list[Source]:
        """Sources in the recordings of these records."""
        found = {one.record_id: one for one in self._sources()}
        return [found[one] for one in record_ids if one in found]

    def _sources(self) -> list[Source]:
        return [
            source
            for recording in self.recordings
            for event in recording
            if isinstance(event, SourcesFound)
            for source in event.sources
        ]

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read nothing: a recorded run has no store."""
        progress(1, 1)
        whose = f" of {', '.join(me)}" if me else ""
        return f"{path.name} ({kind}{whose}) was not read: this is a recorded run"

    def __getattr__(self, name: str) -> Any:
        """Any other method of a service: there is no store and no model, so it finds
        nothing and does nothing."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: _NOTHING.get(name)

    def close(self) -> None:
        """Note that the app closed the service."""
        self.closed = True
