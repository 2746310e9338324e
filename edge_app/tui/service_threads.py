"""The desk's blocking calls, each in a thread that knows an inbox and nothing else.

The threads are daemons, and `close` waits for none that loads a model: leaving the app
never does. A thread that cannot be ended is left to the end of the process.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from decoding_core.errors import DecodingError, StoppedError
from edge_app.decoding.events import Emit, Event
from edge_app.service.requests import Service
from edge_app.tui.outcomes import (
    Counted,
    Found,
    ImportAdvanced,
    ImportEnded,
    Outcome,
    Prepared,
    PrepareFailed,
    Told,
    WriteEnded,
)
from edge_app.tui.variant import Variant
from personal_store.errors import StoreError

_MOMENT = 0.2  # seconds; a load that can be given up is given up within one tensor


class ServiceThreads:
    """Calls the desk; what comes of it arrives in `inbox`."""

    def __init__(self, desk: Service, ledger: Emit | None = None) -> None:
        self.inbox: deque[Outcome] = deque()
        self._desk = desk
        self._ledger = ledger
        self._threads: list[threading.Thread] = []
        self._loading: threading.Thread | None = None
        self._closing = threading.Event()

    def prepare(self) -> None:
        """Load the models."""
        self._loading = self._start(
            lambda: Prepared(self._desk.prepare()), PrepareFailed
        )

    def count(self) -> None:
        """Ask how many own texts there are."""
        self._start(lambda: Counted(self._desk.counts()), lambda _: Counted({}))

    def search(self, query: str) -> None:
        """Look for own texts."""

        def find() -> Outcome:
            return Found(query, tuple(self._desk.search(query)))

        self._start(find, lambda problem: Found(query, (), problem))

    def write(self, variant: Variant, stop: threading.Event) -> None:
        """Write a text."""

        def tell(event: Event) -> None:
            if self._ledger is not None:
                self._ledger(event)
            self.inbox.append(Told(variant, event))

        def write() -> Outcome:
            self._desk.write(variant.order, tell, stop)
            return WriteEnded(variant)

        self._start(write, lambda problem: WriteEnded(variant, problem))

    def import_letters(self, kind: str, path: Path, me: list[str]) -> None:
        """Read letters into the store."""

        def advance(done: int, total: int) -> None:
            if self._closing.is_set():
                raise StoppedError("stopped; the same import goes on from there")
            self.inbox.append(ImportAdvanced(done, total))

        def read() -> Outcome:
            sentence = self._desk.import_letters(kind, path, me, advance)
            return ImportEnded(sentence, failed=False)

        self._start(read, lambda problem: ImportEnded(problem, failed=True))

    def close(self, patience: float = 3.0) -> bool:
        """End the desk, after a little time for the threads that write to the store or
        talk to the server; whether all have ended."""
        self._closing.set()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            if thread is not self._loading:
                thread.join(max(0.0, deadline - time.monotonic()))
        self._desk.close()
        if self._loading is not None:
            self._loading.join(_MOMENT)
        return not any(thread.is_alive() for thread in self._threads)

    def _start(
        self, work: Callable[[], Outcome], failed: Callable[[str], Outcome]
    ) -> threading.Thread:
        def run() -> None:
            self.inbox.append(_outcome(work, failed))

        thread = threading.Thread(target=run, daemon=True, name="desk")
        self._threads = [known for known in self._threads if known.is_alive()]
        self._threads.append(thread)
        thread.start()
        return thread


def _outcome(work: Callable[[], Outcome], failed: Callable[[str], Outcome]) -> Outcome:
    try:
        return work()
    except (DecodingError, StoreError, OSError) as error:
        return failed(str(error))
    except Exception as error:  # noqa: BLE001 - a silent thread would look like a hang
        return failed(f"Unexpected {type(error).__name__}: {error}")
