"""The app where no model can run yet: a recording of a real run answers the sample's
request, and says that it is one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from decoding_core.errors import DecodingError, ModelError, StoppedError
from edge_app import sample
from edge_app.decoding.events import Emit, Notice, Opened, Received, Sent
from edge_app.service.late import LateService
from edge_app.service.requests import Service, WriteRequest
from edge_app.tui.recording import RecordedService, by_the_clock, read_recording

LABEL = "a recorded run: no model can run here yet"


class FirstRun(LateService):
    """The service as soon as its models can be loaded; until then the sample's request
    is answered by the recording, and others by what is missing."""

    def __init__(
        self,
        make: Callable[[], Service],
        pace: Callable[[object], None] = by_the_clock,  # type: ignore[assignment]
    ) -> None:
        """`make` makes the service, and raises ModelError where a model is missing;
        `pace` waits before each recorded event."""
        super().__init__(make)
        self._pace = pace
        self._problem: DecodingError = ModelError("no model was loaded")
        self._ready = False

    def prepare(self) -> str:
        """Load the models; where that cannot be, say that a recorded run is there."""
        try:
            name = super().prepare()
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
            super().write(request, emit, stop)
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
