"""Letters read by other processes, so that a large import uses more than one core.

Those processes only turn bytes into documents; the store is written by ours alone. They
are started as programs of their own, not forked: the app imports in a thread while its
store is open. They end when their input does, and so with us, however we end.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from base import python_child
from personal_store.errors import StoreError
from personal_store.reading.letters import Letter, read_now
from personal_store.records import Item

MOST = 2  # processes at most. More would wait for the one that writes the store.
WORTHWHILE = 6_000_000  # bytes of mail from which on the start of the processes pays

_LETTERS = 64
_BYTES = 500_000  # what is handed over at once, unless one letter alone is larger
_UNDERWAY = 16_000_000
"""Bytes that are read ahead of what is written: enough to keep the processes busy while
a batch is stored."""
_CHUNKS = 24  # chunks for each process that are read ahead, however small
_PATIENCE = 5.0  # seconds that a process which has closed its output may take to end
_ENTRY = "personal_store.reading.parallel:serve"
_FRUGAL = {"MALLOC_MMAP_THRESHOLD_": "2000000", "MALLOC_TRIM_THRESHOLD_": "2000000"}
"""Memory that one large letter took is given back (glibc); that of a usual portion is
not, as it is wanted again at once."""

Unread = Letter | Item
Chunk = list[Unread]


def processes_for(size: int) -> int:
    """How many processes should read N bytes of mail; 0: only ours."""
    alone = not sys.executable or getattr(sys, "frozen", False)
    cores = _cores()
    return 0 if alone or size < WORTHWHILE or cores < 2 else min(MOST, cores)


def serve() -> None:
    """Answer chunks on stdin with their items on stdout, until there are no more.

    Ctrl-C goes to everybody in the terminal; what it means here, our parent decides.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
        while True:
            chunk: Chunk = pickle.load(sys.stdin.buffer)  # noqa: S301  (our parent's)
            answer: list[Item] | Exception
            try:
                answer = [read_now(one) for one in chunk]
            except Exception as error:  # noqa: BLE001  (it is raised in our parent)
                answer = error
            pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
            sys.stdout.buffer.flush()
    os._exit(0)  # flushing to a parent that is gone would complain


@dataclass(slots=True)
class Readers:
    """Processes that read letters, started when the first letter comes.

    Used with `with`: they end at its end, whatever happens inside.
    """

    number: int  # 0: letters are read in this process
    _all: list["_Reader"] = field(default_factory=list)
    _idle: "SimpleQueue[_Reader]" = field(default_factory=SimpleQueue)
    _threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *error: object) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for reader in self._all:
            reader.process.kill()
        if self._threads is not None:
            self._threads.shutdown()
        for reader in self._all:
            reader.close()

    def read(self, letters: Iterable[Unread]) -> Iterator[Item]:
        """What the letters hold, in their order.

        Raises StoreError if a process ends that should not. If the letters end in an
        error, it is raised after all that came before it.
        """
        return self._read(letters) if self.number else map(read_now, letters)

    def _read(self, letters: Iterable[Unread]) -> Iterator[Item]:
        underway: deque[tuple[Future[list[Item]], int]] = deque()
        errors: list[Exception] = []
        for chunk, size in _chunks(letters, errors):
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.number, "reading")
                while len(self._all) < self.number:
                    self._all.append(_Reader())
                    self._idle.put(self._all[-1])
            underway.append((self._threads.submit(self._have_read, chunk), size))
            while (
                len(underway) > _CHUNKS * self.number
                or sum(size for _, size in underway) > _UNDERWAY
            ):
                yield from underway.popleft()[0].result()
        while underway:
            yield from underway.popleft()[0].result()
        if errors:
            raise errors[0]

    def _have_read(self, chunk: Chunk) -> list[Item]:
        reader = self._idle.get()
        try:
            return reader.read(chunk)
        finally:
            self._idle.put(reader)


class _Reader:
    """One process that reads letters."""

    def __init__(self) -> None:
        self.complaints = tempfile.TemporaryFile()  # noqa: SIM115  (close ends it)
        self.process = python_child.start(
            _ENTRY,
            more=_FRUGAL,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def read(self, chunk: Chunk) -> list[Item]:
        """Blocks until the process has read them."""
        try:
            pickle.dump(chunk, self.stdin, pickle.HIGHEST_PROTOCOL)
            self.stdin.flush()
            answer: list[Item] | Exception = pickle.load(self.stdout)  # noqa: S301
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            try:
                code = self.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
            self.complaints.seek(0)
            lines = self.complaints.read().decode("utf-8", "replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "")
            how = f"signal {-code}" if code < 0 else f"exit {code}"
            why = f"{how}: {last.strip()}" if last else how
            raise StoreError(
                f"A process that read mail for this import has ended too early "
                f"({why}). What was imported so far is safe; the same import goes on "
                "from there."
            ) from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Wait for its end, once it was asked to end."""
        self.process.wait()
        self.stdout.close()
        self.complaints.close()
        with suppress(OSError):  # what it did not take any more
            self.stdin.close()


def _chunks(
    letters: Iterable[Unread], errors: list[Exception]
) -> Iterator[tuple[Chunk, int]]:
    """The letters in portions, with their bytes. An error that ends them is put into
    `errors`, so that none before it is lost."""
    chunk: Chunk = []
    size = 0
    try:
        for one in letters:
            chunk.append(one)
            size += one.size if isinstance(one, Letter) else 0
            if len(chunk) == _LETTERS or size >= _BYTES:
                yield chunk, size
                chunk, size = [], 0
    except Exception as error:  # noqa: BLE001  (it is raised later)
        errors.append(error)
    if chunk:
        yield chunk, size


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
