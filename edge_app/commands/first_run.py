"""The app where no model can run yet: a recording of a real run answers the sample's
request, and says that it is one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from decoding_core.errors import DecodingError, ModelError, StoppedError
from edge_app import sample
from edge_app.decoding.events import Emit, Notice, Opened, Received, Sent, Source
from edge_app.service.requests import Service, WriteRequest
from edge_app.tui.recording import RecordedService, by_the_clock, read_recording

LABEL = "a recorded run: no model can run here yet"


class FirstRun:
    """Satisfies `requests.Service` by the real one, as soon as that can be made ready;
    until then the sample's request is answered by the recording, others by why not."""

    def __init__(
        self,
        make: Callable[[], Service],
        pace: Callable[[object], None] = by_the_clock,  # type: ignore[assignment]
    ) -> None:
        """`make` makes the service, and raises ModelError where a model is missing;
        `pace` waits before each recorded event."""
        self._make = make
        self._pace = pace
        self._service: Service | None = None
        self._making = threading.Lock()
        self._closed = threading.Event()
        self._problem: DecodingError = ModelError("no model was loaded")
        self._ready = False

    def _made(self) -> Service:
        with self._making:
            if self._service is None:
                self._service = self._make()
                if self._closed.is_set():
                    self._service.close()
            return self._service

    def prepare(self) -> str:
        """Load the models; where that cannot be, say that a recorded run is there."""
        try:
            name = self._made().prepare()
        except StoppedError:
            raise
        except DecodingError as error:
            self._problem = error
            return LABEL
        self._ready = True
        return name

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text, or play the recorded one where that is what was asked for.

        Raises:
            DecodingError: no model can run, and nothing is recorded for this request.
        """
        if not self._ready:
            self.prepare()  # what was missing may be there now
        if self._ready:
            self._made().write(request, emit, stop)
            return
        if request.brief.text.strip() != sample.REQUEST:
            raise self._problem
        why = f"This is {LABEL} ({self._problem})"
        emit(Notice(f"{why}; 'specsteer doctor' says more"))
        events = [
            replace(event, verifier="a recorded run")
            if isinstance(event, Opened)
            else event
            for event in read_recording(sample.RECORDED)
            if not isinstance(event, Sent | Received)  # nothing is sent now
        ]
        RecordedService([events], self._pace).write(request, emit, stop)

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended."""
        return self._service is not None and self._service.server_ended()

    def counts(self) -> dict[str, int]:
        """How many own texts of each kind the store holds."""
        return self._made().counts()

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match, best first."""
        return self._made().search(query, limit)

    def texts(self, record_ids: Sequence[int]) -> list[Source]:
        """The own texts of these records."""
        return self._made().texts(record_ids)

    def search_received(self, query: str, limit: int = 20) -> list[Source]:
        """Texts by others that match, best first."""
        return self._made().search_received(query, limit)

    def thread(self, record_id: int) -> list[Source]:
        """A received text with its thread."""
        return self._made().thread(record_id)

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read an export into the store."""
        return self._made().import_letters(kind, path, me, progress)

    def close(self) -> None:
        """Close the service, or have it closed as soon as it is made."""
        self._closed.set()
        if self._service is not None:
            self._service.close()
