"""The app, writing a text whose tokens tell when they came; runs in a terminal.

Argument: where to write what was measured, tokens that are there before, tokens that
come, and how many come in a second. A token is drafted, and settled in blocks of eight
a tenth of a second later, as with a checker.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from edge_app.decoding.events import (
    Drafted,
    Emit,
    Finished,
    Opened,
    Settled,
    SourcesFound,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.app import SpecSteerApp
from edge_app.tui.recording import RecordedService
from models.prompts import Request

BLOCK = 8
VERDICT_SECONDS = 0.1


def word(number: int) -> str:
    """The text of a token that is found again in what the terminal is sent."""
    return f" w{number:06d}"


class Streaming(RecordedService):
    """A service that writes `before` tokens at once and `count` more at a rate."""

    def __init__(self, before: int, count: int, rate: float) -> None:
        super().__init__([])
        self.before, self.count, self.rate = before, count, rate
        self.emitted: dict[int, float] = {}
        """When each token came, on the monotonic clock."""
        self.streaming = threading.Event()
        self.ended = threading.Event()

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Drafted one by one, settled in blocks."""
        del request
        emit(SourcesFound(()))
        emit(Opened("own server", local=False))
        if self.before:
            # Eight letters, too, and none of those that are looked for.
            settled = tuple(
                Token(1, " earlier", "accepted") for _ in range(self.before)
            )
            emit(Settled(settled))
        time.sleep(1)  # the page is as it will be
        self.streaming.set()
        waiting: list[tuple[float, list[Token]]] = []
        block: list[Token] = []
        begun = time.monotonic()
        for number in range(self.count):
            pause = begun + number / self.rate - time.monotonic()
            if stop.wait(max(0.0, pause)):
                break
            emit(Drafted(1, word(number)))
            self.emitted[number] = time.monotonic()
            origin = "recovered" if number % 50 == 49 else "accepted"
            block.append(Token(1, word(number), origin))  # type: ignore[arg-type]
            if len(block) == BLOCK:
                waiting.append((time.monotonic() + VERDICT_SECONDS, block))
                block = []
            while waiting and waiting[0][0] <= time.monotonic():
                _, due = waiting.pop(0)
                emit(Verified(len(due), len(due), (), VERDICT_SECONDS))
                emit(Settled(tuple(due)))
        self.ended.set()
        for _, due in [*waiting, (0.0, block)]:
            emit(Settled(tuple(due)))
        emit(Finished("end", Statistics()))


class Measured(SpecSteerApp):
    """Counts what is painted from the first streamed token to the last."""

    def __init__(self, service: Streaming, out: Path) -> None:
        super().__init__(service, save_folder=Path(), first_request=Request("x"))
        self._streaming, self._out = service, out
        self._cpu = self._bytes = self._paints = 0
        self._counting = False

    def on_mount(self) -> None:
        """Begin without a key, and count what goes to the driver."""
        self.call_after_refresh(self.page.action_draft)
        assert self._driver is not None
        write = self._driver.write

        def counted(data: str) -> None:
            write(data)
            self._count(len(data.encode()))

        self._driver.write = counted  # type: ignore[method-assign]

    def _count(self, size: int) -> None:
        if not self._counting and self._streaming.streaming.is_set():
            self._counting = True
            self._cpu = time.thread_time_ns()
            self._bytes = self._paints = 0
        elif self._counting:
            self._bytes += size
            self._paints += size > 20  # less is a mode that is set
        if self._counting and self._streaming.ended.is_set():
            self._counting = False
            self._streaming.streaming.clear()
            measured = {
                "cpu_ms": (time.thread_time_ns() - self._cpu) / 1e6,
                "bytes": self._bytes,
                "paints": self._paints,
                "emitted": self._streaming.emitted,
            }
            part = self._out.with_suffix(".part")
            part.write_text(json.dumps(measured))
            part.replace(self._out)


def main() -> int:
    """Stream; what was measured is written where the first argument says."""
    out, before, count, rate = sys.argv[1:5]
    service = Streaming(int(before), int(count), float(rate))
    app = Measured(service, Path(out))
    app.run()
    app.writing.close()
    return 0


def compute() -> int:
    """Only compute, as a model on all cores does."""
    while True:
        sum(range(100_000))
