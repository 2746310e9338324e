"""The app where no model can run yet: a recording of a real run answers the sample's
request, and says that it is one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from decoding_core.errors import DecodingError, ModelError, StoppedError
from decoding_core.foreign_text import one_line
from edge_app import sample
from edge_app.decoding.events import Emit, Notice, Opened, Received, Sent
from edge_app.service.late import LateService
from edge_app.service.requests import Service, WriteRequest
from edge_app.tui.recording import RecordedService, by_the_clock, read_recording
from models.local.pulled import PullUnderWay, pulls_under_way
from personal_store.ingest.guards import in_words

LABEL = "a recorded run: no model can run here yet"
_SILENT = 60.0
"""Seconds after which a pull of which nothing comes is one that stopped."""


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


class Arrivals:
    """Models that are pulled meanwhile, by another window of this machine, in words;
    asked now and then."""

    def __init__(
        self,
        look: Callable[[], Sequence[PullUnderWay]] = pulls_under_way,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._clock = look, clock
        self._first: dict[str, tuple[float, int]] = {}

    def in_words(self) -> str:
        """How far the first of them is, or where it stopped; empty for none."""
        for pull in self._look():
            name = one_line(pull.repository)
            far = f"{in_words(pull.done)} of {in_words(pull.total)}"
            if pull.done >= pull.total:
                return f"{name} is here, and is being checked"
            if pull.silent > _SILENT:
                again = f"'specsteer models pull {name}' goes on"
                return f"the pull of {name} stopped at {far}: {again}"
            now = self._clock()
            since, before = self._first.setdefault(name, (now, pull.done))
            left = ""
            if now > since and pull.done > before:
                seconds = (pull.total - pull.done) * (now - since)
                seconds /= pull.done - before
                minutes = f"about {seconds / 60:.0f} min left"
                left = ", less than a minute left" if seconds < 60 else f", {minutes}"
            return f"{name} is on its way: {far}{left}"
        return ""
