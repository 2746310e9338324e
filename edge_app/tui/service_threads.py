"""The service's blocking calls, each in a thread that knows an inbox and nothing else.

The threads are daemons, and `close` waits for none that loads a model: leaving the app
never does. A thread that cannot be ended is left to the end of the process.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from decoding_core.errors import DecodingError, StoppedError
from edge_app.decoding.events import Emit, Event, HeldBack
from edge_app.service.requests import MayLeave, WriteRequest
from edge_app.tui.outcomes import (
    Asked,
    Counted,
    Emitted,
    Found,
    Heard,
    ImportAdvanced,
    ImportEnded,
    InThread,
    Outcome,
    Prepared,
    PrepareFailed,
    TextsRead,
    WasImporting,
    WriteEnded,
)
from edge_app.tui.variant import Variant
from personal_store.errors import StoreError

if TYPE_CHECKING:
    from edge_app.service.service import WritingService

_T = TypeVar("_T")
_MOMENT = 0.2  # seconds; a load that can be given up is given up within one tensor


def in_thread(work: Callable[[], _T]) -> Future[_T]:
    """What `work` gives, or raises, in a thread that leaving the app does not wait
    for."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - who asks for the result gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="reading").start()
    return future


class ServiceThreads:
    """Calls the service in threads, which put their outcomes into `inbox`."""

    def __init__(self, service: WritingService, ledger: Emit | None = None) -> None:
        self.inbox: deque[Outcome] = deque()
        self._service = service
        self._ledger = ledger
        self._asked: dict[type[Outcome], str | int] = {}
        """By kind of answer, what was asked of the store last."""
        self._threads: list[threading.Thread] = []
        self._loading: threading.Thread | None = None
        self._closing = threading.Event()
        self._pausing = threading.Event()

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended; does not block."""
        return self._service.server_ended()

    def prepare(self) -> None:
        """Load the models."""
        self._loading = self._start(
            lambda: Prepared(self._service.prepare()), PrepareFailed
        )

    def count(self) -> None:
        """Count the person's texts in the store, and those they write to."""

        def count() -> Outcome:
            people = tuple(self._service.correspondents())
            own = self._service.own_address()
            known = tuple(self._service.identities())
            return Counted(self._service.counts(), people, own, known)

        self._start(count, lambda _: Counted({}))

    def search(self, query: str) -> None:
        """Search the person's texts."""
        self._asked[Found] = query

        def find() -> Outcome:
            return Found(query, tuple(self._service.search(query)))

        self._start(find, lambda problem: Found(query, (), problem))

    def is_last(self, answer: Found | Heard | InThread) -> bool:
        """Whether nothing of its kind was asked since: threads may answer in another
        order."""
        of = answer.record_id if isinstance(answer, InThread) else answer.query
        return self._asked.get(type(answer)) == of

    def read_texts(self, record_ids: tuple[int, ...]) -> None:
        """Read the texts of these records from the store."""

        def read() -> Outcome:
            found = self._service.texts(record_ids)
            return TextsRead({one.record_id: one.excerpt for one in found})

        self._start(read, lambda _: TextsRead({}))

    def search_received(self, query: str) -> None:
        """Search what others wrote to the person."""
        self._asked[Heard] = query

        def find() -> Outcome:
            return Heard(query, tuple(self._service.search_received(query)))

        self._start(find, lambda problem: Heard(query, (), problem))

    def read_thread(self, record_id: int) -> None:
        """Read the thread of a received text."""
        self._asked[InThread] = record_id

        def read() -> Outcome:
            letters = tuple(self._service.thread(record_id))
            references = tuple(self._service.references(record_id))
            own = self._service.own_address(record_id)
            return InThread(record_id, letters, references, own)

        self._start(read, lambda _: InThread(record_id, ()))

    def write(self, variant: Variant, stop: threading.Event) -> None:
        """Write `variant` until it is finished or `stop` is set."""

        def emit(event: Event) -> None:
            if self._ledger is not None:
                self._ledger(event)
            self.inbox.append(Emitted(variant, event))

        def ask(held: HeldBack) -> MayLeave:
            asked = Asked(held, stop)
            self.inbox.append(asked)
            return asked.wait(self._closing)

        def write() -> Outcome:
            self._service.write(replace(variant.request, ask=ask), emit, stop)
            return WriteEnded(variant)

        self._start(write, lambda problem: WriteEnded(variant, problem))

    def read_ahead(self, request: WriteRequest, stop: threading.Event) -> None:
        """Read what a text would have read, until `stop` is set. What goes wrong here
        goes wrong again when it is written, and is told then."""

        def read() -> None:
            self._service.read_ahead(request, stop)

        self._start(read, lambda _: None)

    def import_letters(self, kind: str, path: Path, me: list[str]) -> None:
        """Read letters into the store."""
        self._pausing.clear()

        def advance(done: int, total: int) -> None:
            if self._closing.is_set() or self._pausing.is_set():
                raise StoppedError("stopped; the same import goes on from there")
            self.inbox.append(ImportAdvanced(done, total))

        def read() -> Outcome:
            sentence = self._service.import_letters(kind, path, me, advance)
            return ImportEnded(sentence, failed=False)

        def failed(problem: str) -> Outcome:
            paused = self._pausing.is_set() and not self._closing.is_set()
            said = "paused; what was read is kept" if paused else problem
            return ImportEnded(said, failed=not paused, paused=paused)

        self._start(read, failed)

    def pause_import(self) -> None:
        """End an import at its next word of progress; the same one goes on there."""
        self._pausing.set()

    def look_for_import(self) -> None:
        """Find out whether an import was broken off."""
        self._start(
            lambda: WasImporting(self._service.unfinished_import()),
            lambda _: WasImporting(None),
        )

    def leave_import(self, kind: str, path: Path, me: list[str]) -> None:
        """Offer this import no more; a store that refuses that offers it again."""

        def leave() -> Outcome:
            from personal_store.ingest.unfinished import Unfinished

            self._service.leave_import(Unfinished(kind, path, tuple(me)))
            return WasImporting(None)

        self._start(leave, lambda _: WasImporting(None))

    def close(self, patience: float = 3.0) -> bool:
        """Close the service after `patience` seconds at most for the threads that write
        to the store or talk to the server; True if all threads have ended."""
        self._closing.set()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            if thread is not self._loading:
                thread.join(max(0.0, deadline - time.monotonic()))
        self._service.close()
        if self._loading is not None:
            self._loading.join(_MOMENT)
        return not any(thread.is_alive() for thread in self._threads)

    def _start(
        self,
        work: Callable[[], Outcome | None],
        failed: Callable[[str], Outcome | None],
    ) -> threading.Thread:
        """A thread that puts the outcome of `work` into the inbox, if there is one."""

        def run() -> None:
            try:
                outcome = work()
            except (DecodingError, StoreError, OSError) as error:
                outcome = failed(str(error))
            except Exception as error:  # noqa: BLE001 - silence would look like a hang
                outcome = failed(f"Unexpected {type(error).__name__}: {error}")
            if outcome is not None:
                self.inbox.append(outcome)

        thread = threading.Thread(target=run, daemon=True, name="service")
        self._threads = [known for known in self._threads if known.is_alive()]
        self._threads.append(thread)
        thread.start()
        return thread
