"""The app with a tape in the place of models: it plays what was recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from edge_app.decoding.events import Event
from edge_app.service.tape import Tape, events_of
from edge_app.tui.app import SpecSteerApp, run_app
from edge_app.tui.recording import RecordedService

_LONGEST_WAIT = 3.0
"""Seconds; a tape of a machine that slept does not sleep again."""


def at_its_own_speed(tape: Tape, speed: float = 1.0) -> Callable[[Event], None]:
    """Waits before each event of `tape` as long as it took to come."""
    waits: dict[int, float] = {}
    for run in tape.runs():
        before = run[0].at
        for one in run:
            waits[id(one.event)] = min(_LONGEST_WAIT, max(0.0, one.at - before)) / speed
            before = one.at
    return lambda event: time.sleep(waits.get(id(event), 0.0))


class ReplayApp(SpecSteerApp):
    """Plays the first text at once and the others as further versions. No draft is
    kept: nothing was written."""

    def __init__(self, tape: Tape, speed: float = 1.0) -> None:
        service = RecordedService(
            [events_of(run) for run in tape.runs()],
            pace=at_its_own_speed(tape, speed),
            server="recorded run",
        )
        asked = replace(tape.request, text=tape.request.text or "(a recorded run)")
        super().__init__(service, save_folder=Path.cwd(), first_request=asked)
        self.writing.samples = tape.samples

    def on_mount(self) -> None:
        """Begin without a key."""
        self.call_after_refresh(self.page.action_draft)

    def play(self) -> int:
        """Run until the person leaves; the exit code."""
        return run_app(self)
