"""A service whose timing the tests hold in their hands, and ways to wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual._context import active_app
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widgets import Static
from tui_tapes import REQUEST, letter_recording, plain_recording

from decoding_core.errors import DecodingError
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Event
from edge_app.service.tape import RecordedService
from edge_app.tui.app import SpecSteerApp
from edge_app.tui.writing import Writing
from tests.waiting import PATIENCE, moments, others_go_on, until_true, wait_until

_MOMENT = 0.02
"""Seconds in which a clock of the app has ticked; what must have is waited for."""
SECOND = "Dear Ana, thank you for the photographs. I will come."


@dataclass
class GatedService(RecordedService):
    """Plays recordings; an event number in `gates` is held until its gate is opened."""

    gates: dict[int, threading.Event] = field(default_factory=dict)
    ready: threading.Event = field(default_factory=threading.Event)
    problem: str = ""
    unprepared: str = ""
    imported: list[tuple[str, Path, list[str]]] = field(default_factory=list)
    reading: threading.Event = field(default_factory=threading.Event)
    played: int = 0

    def prepare(self):
        assert self.ready.wait(PATIENCE)
        if self.unprepared:
            raise DecodingError(self.unprepared)
        return self.server

    def write(self, request, emit, stop):
        self.played = 0

        def pace(_event: Event) -> None:
            gate = self.gates.get(self.played)
            self.played += 1
            if gate is not None:
                wait_until(lambda: gate.is_set() or stop.is_set(), "for its gate")

        self.pace = pace
        super().write(request, emit, stop)
        if self.problem:
            raise DecodingError(self.problem)

    def counts(self):
        return {"email": 41, "review": 12}

    def import_letters(self, kind, path, me, progress):
        self.imported.append((kind, path, list(me)))
        progress(3, 10)
        assert self.reading.wait(PATIENCE)
        progress(10, 10)
        return f"10 letters of {path.name} read."


def gated_service(*, ready: bool = True, hold: int | None = None) -> GatedService:
    """A service with two versions; event number `hold` waits for its gate."""
    made = GatedService([letter_recording(), plain_recording(SECOND)])
    if ready:
        made.ready.set()
    if hold is not None:
        made.gates[hold] = threading.Event()
    return made


def still() -> float:
    """A clock that stands, so that pictures are always the same."""
    return 100.0


def make_app(service: RecordedService, folder: Path, **options) -> SpecSteerApp:
    options.setdefault("first_request", REQUEST)
    return SpecSteerApp(service, save_folder=folder, **options)


Steps = Callable[[Pilot], Awaitable[None]]


def play(app: SpecSteerApp, steps: Steps, size: tuple[int, int] = (80, 24)) -> None:
    """Run `steps` with the app, and close it whatever happens."""
    # What it said is still known when a test looks, however late that is.
    app.NOTIFICATION_TIMEOUT = PATIENCE

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await steps(pilot)

    try:
        asyncio.run(run())
    finally:
        app.writing.close()


async def settled(*_seconds: float) -> None:
    """Wait until the app has done all that it was asked: twice in a row every widget
    waits for a message, and no key waits for its turn. They are looked at, not asked:
    answers of all would cost more than what most keys do."""
    app, quiet = active_app.get(), 0
    await others_go_on(_MOMENT)
    for _ in moments("the app does not settle", pause=0):
        if quiet == 2 or app._exit or not app.is_running:
            return  # an app that ends leaves messages behind
        await others_go_on(0.001)
        nodes = [one for each in app.screen_stack for one in each.walk_children()]
        pumps = [app, *app.screen_stack, *nodes]
        keys = getattr(app, "_keys", None)
        idle = keys is None or not (keys._following or keys._waiting)
        busy = not all(_waits(pump) for pump in pumps if pump.is_running)
        quiet = quiet + 1 if idle and not busy and not _is_behind(app) else 0


def _waits(pump: MessagePump) -> bool:
    """Whether it has nothing to do before another message comes."""
    held = pump._pending_message is not None or pump.message_queue_size
    waiters = pump._message_queue.ready_event._waiters
    waiting = any(not one.done() for one in waiters)
    return waiting and not held and not pump._next_callbacks


def _is_behind(app: App) -> bool:
    """Whether the screen has something to lay out, to draw or to do after that."""
    top = app.screen
    return bool(top._layout_required or top._dirty_widgets or top._callbacks)


async def until(pilot: Pilot, true: Callable[[], bool]) -> None:
    """Wait for what threads do."""
    await until_true(true, "of the app")
    await pilot.pause()


def said(app: SpecSteerApp, selector: str) -> str:
    """What a widget of the top screen shows."""
    return str(app.screen.query_one(selector, Static).render())


async def drafted(pilot: Pilot) -> None:
    """Draft, and wait for the end."""
    app = pilot.app
    await until(pilot, lambda: app.writing.ready)
    await pilot.press("ctrl+j")
    await until(pilot, lambda: not app.writing.service_busy and app.page.editor.editing)


def settle(writing: Writing, true: Callable[[], bool]) -> list:
    """Take in what the service's threads emit until it is `true`; all the news."""

    def applied() -> bool:
        writing.background.apply()
        return true()

    wait_until(applied, "of the service's threads")
    news, writing.news = writing.news, []
    return news


FIRST_BLOCK = "Dear Ana,\n\nThank you for the photographs."


HOLD = 16  # before the second word of the second block


@contextmanager
def writing_at(fake, settings=None, **options):
    """A sitting with `fake`, closed at the end."""
    writing = Writing(fake, settings or MethodSettings(), **options)
    writing.prepare()
    try:
        yield writing
    finally:
        writing.close()
    assert fake.closed


def written(act, *arguments):
    """Do something that is written, and wait for its end; what it returned."""
    made, writing = act(*arguments), act.__self__
    settle(writing, lambda: not writing.service_busy)
    return made


@contextmanager
def drafted_at(fake, *rest, **options):
    """A sitting with `fake` in which the first draft is written."""
    with writing_at(fake, *rest, **options) as writing:
        written(writing.draft, REQUEST)
        yield writing
