"""The service's blocking calls, each in a thread that knows an inbox and nothing else.

The threads are daemons, and `close` waits for none that loads a model: leaving the app
never does. A thread that cannot be ended is left to the end of the process.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal, TypeVar

from decoding_core.errors import DecodingError, StoppedError
from edge_app.decoding.events import Emit, Event, HeldBack, Source
from edge_app.service.requests import MayLeave, WriteRequest
from edge_app.tui.variant import Variant
from personal_store.errors import StoreError

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
    from personal_store.ingest.unfinished import Unfinished

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


PAUSE_SECONDS = 0.4
"""So long must a brief stand unchanged: letters of a word come faster."""


class ReadingAhead:
    """Gives the specialist the brief to read at each pause. Only the screen's thread
    may use it."""

    def __init__(
        self,
        read: Callable[[WriteRequest, threading.Event], None],
        clock: Callable[[], float],
    ) -> None:
        """`read` begins to read a request, until its event is set."""
        self._read = read
        self._clock = clock
        self._stop = threading.Event()
        self._seen: WriteRequest | None = None
        """What the brief asked for when it was last looked at."""
        self._since = 0.0
        """When it was first seen so."""
        self._given: WriteRequest | None = None
        """What the specialist was given last, to read or to write."""

    def look(self, request: WriteRequest) -> None:
        """Have `request` read once it has stood for a while, in the place of any other.
        Called again and again, while nothing is written."""
        now = self._clock()
        if request != self._seen:
            self._seen, self._since = request, now
            if request != self._given:
                self.stop()
        elif (
            request != self._given
            and request.brief.text.strip()
            and now - self._since >= PAUSE_SECONDS
        ):
            self._given, self._stop = request, threading.Event()
            self._read(request, self._stop)

    def written(self, request: WriteRequest) -> None:
        """Leave the specialist to a text that is written now."""
        self.stop()
        self._given = request

    def stop(self) -> None:
        """Read no further."""
        self._stop.set()
        self._given = None


_LOOK = 0.1  # seconds, after which a thread that waits looks whether it is to stop


@dataclass(frozen=True, slots=True)
class News:
    """A message to show to the person."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The models are loaded; `server` names the checker."""

    server: str


@dataclass(frozen=True, slots=True)
class PrepareFailed:
    """The models could not be loaded; `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class Emitted:
    """The service emitted `event` while it wrote `variant`."""

    variant: Variant
    event: Event


@dataclass(frozen=True, slots=True)
class Asked:
    """The guard found something, and the service waits for what the person says."""

    held: HeldBack
    stop: threading.Event
    """Set when the text is not wanted any more."""
    answers: SimpleQueue[MayLeave] = field(default_factory=SimpleQueue)

    def wait(self, closing: threading.Event) -> MayLeave:
        """The answer; no where the text or the app ends without one."""
        while not (self.stop.is_set() or closing.is_set()):
            try:
                return self.answers.get(timeout=_LOOK)
            except Empty:
                continue
        return "no"


@dataclass(frozen=True, slots=True)
class WriteEnded:
    """The service has written `variant`; `problem` is empty if nothing failed."""

    variant: Variant
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ImportAdvanced:
    """The importer has read `done` of `total` pieces of the file."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ImportEnded:
    """The import is over; `sentence` sums it up or says why it failed."""

    sentence: str
    failed: bool
    paused: bool = False
    """Whether the person paused it."""


@dataclass(frozen=True, slots=True)
class WasImporting:
    """An earlier sitting began this import, and did not finish it; None: it did."""

    asked: Unfinished | None


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of the person's texts in the store, by kind."""

    counts: dict[str, int]
    people: tuple[str, ...] = ()
    """Who can be written to, as `Name <address>`, the latest first."""
    own_address: str = ""
    """Of the person, for mails."""
    identities: tuple[str, ...] = ()
    """All that is known to be theirs."""


@dataclass(frozen=True, slots=True)
class Found:
    """The letters that match `query`."""

    query: str
    sources: tuple[Source, ...]
    problem: str = ""
    """Why the search failed; empty if it did not."""


@dataclass(frozen=True, slots=True)
class TextsRead:
    """The letters of a draft that the store still has: their texts by their records."""

    texts: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Heard:
    """What others wrote that matches `query`."""

    query: str
    sources: tuple[Source, ...]
    problem: str = ""
    """Why the search failed; empty if it did not."""


@dataclass(frozen=True, slots=True)
class InThread:
    """All texts of the thread of a received one, the oldest first."""

    record_id: int
    sources: tuple[Source, ...]
    references: tuple[str, ...] = ()
    """Identifiers of it and of those that it answers, the oldest first."""
    own_address: str = ""
    """Of the person: to which it came."""


Outcome = (
    Prepared
    | PrepareFailed
    | Emitted
    | Asked
    | WriteEnded
    | ImportAdvanced
    | ImportEnded
    | WasImporting
    | Counted
    | Found
    | TextsRead
    | Heard
    | InThread
)
