"""Blocking calls in daemon threads, and their results, for the thread of the screen."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Literal, TypeVar

from decoding_core.errors import DecodingError
from edge_app.decoding.events import HeldBack
from edge_app.service.requests import MayLeave
from personal_store.errors import StoreError

Severity = Literal["information", "warning", "error"]
News = tuple[str, Severity]
_T = TypeVar("_T")
_LOAD_SECONDS = 0.2  # A load that can be given up is given up within one tensor
_LOOK_SECONDS = 0.1
"""After them a thread that waits for an answer looks if it is to stop."""


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class MayItLeave:
    """The guard's question, for whose answer the writing thread waits."""

    held: HeldBack
    stop: threading.Event
    answers: SimpleQueue[MayLeave] = field(default_factory=SimpleQueue)

    def wait(self, closing: threading.Event) -> MayLeave:
        """The answer; no if the text or the app ends without one."""
        while not (self.stop.is_set() or closing.is_set()):
            try:
                return self.answers.get(timeout=_LOOK_SECONDS)
            except Empty:
                continue
        return "no"


class Background:
    """Runs calls in threads and keeps what came of them until the screen applies it."""

    def __init__(self) -> None:
        self.wake: Callable[[], object] = _nothing
        """Called from any thread when something has come; not again before `apply`."""
        self.closing = threading.Event()
        self._came: deque[Callable[[], object]] = deque()
        self._woken = False
        self._threads: dict[threading.Thread, bool] = {}
        """Each with whether `close` waits for it."""

    @property
    def idle(self) -> bool:
        """Whether all that came has been applied."""
        return not self._came

    def post(self, apply: Callable[[], object]) -> None:
        """Have `apply` called in the thread of the screen; from any thread."""
        self._came.append(apply)
        if not self._woken:
            self._woken = True
            self.wake()

    def apply(self) -> bool:
        """Apply all that came, in its order; False if nothing did."""
        # Not asked beforehand whether anything came: what a thread adds meanwhile, and
        # wakes nobody for, would be applied and never drawn.
        self._woken = came = False
        while self._came:
            came = True
            self._came.popleft()()
        return came

    def run(
        self,
        work: Callable[[], _T],
        then: Callable[[_T], object] = _nothing,
        failed: Callable[[str], object] = _nothing,
        *,
        waits: bool = True,
    ) -> None:
        """Run `work` in a thread, then `then` with its result or `failed` with a
        sentence in the screen's thread. `close` waits for it if it `waits`."""

        def run() -> None:
            try:
                result = work()
            except (DecodingError, StoreError, OSError) as error:
                sentence = str(error)
            except Exception as error:  # noqa: BLE001 - silence would look like a hang
                sentence = f"Unexpected {type(error).__name__}: {error}"
            else:
                self.post(partial(then, result))
                return
            self.post(partial(failed, sentence))

        thread = threading.Thread(target=run, daemon=True, name="service")
        alive = {one: known for one, known in self._threads.items() if one.is_alive()}
        self._threads = {**alive, thread: waits}
        thread.start()

    def close(self, close_service: Callable[[], None], patience: float = 3.0) -> bool:
        """Close the service, after at most `patience` seconds for threads that it waits
        for; True if all threads have ended."""
        self.closing.set()
        deadline = time.monotonic() + patience
        for thread, waits in self._threads.items():
            if waits:
                thread.join(max(0.0, deadline - time.monotonic()))
        close_service()
        for thread in self._threads:
            thread.join(_LOAD_SECONDS)
        return not any(thread.is_alive() for thread in self._threads)
