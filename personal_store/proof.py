"""The proof of forgetting: pieces of the forgotten texts, looked for in the bytes.

Before a text goes, pieces of it are noted: windows of 16 bytes all along its fields and
its packed body, and the first and last 8 bytes of its longer words, as a full-text
index would hold them. Pieces that texts which stay hold as well are left out, found by
reading every row of every table that is not an index; they prove nothing, and would be
false alarms. What remains must be nowhere in the files.

Not seen are texts under 8 bytes, and pieces that are split between two pages of the
file; a text has many pieces, so one split does not hide it. An encrypted file shows no
piece anyway: there the check speaks for plain copies that lie beside it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from personal_store.tokens import tokens

WINDOW, WORD = 16, 8
"""Bytes of a piece of text, and of a piece of a word."""
_PER_TEXT = 64
_IN_ALL = 200_000
_FEWEST_LETTERS = 6
_CHUNK = 1 << 22
_BITS = 22
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NOTHING = np.empty(0, np.uint64)

Numbers = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Proof:
    """What looking at the bytes came to."""

    pieces: int
    """How many pieces of the forgotten texts were looked for."""
    shared: int
    """How many were not, as texts that stay say the same."""
    files: tuple[Path, ...]
    left_in: tuple[Path, ...]
    """Files that still hold a piece; none if all is forgotten."""


@dataclass(slots=True)
class Traces:
    """Pieces of texts that are about to go."""

    windows: Numbers = field(default_factory=lambda: _NOTHING)
    words: Numbers = field(default_factory=lambda: _NOTHING)
    shared: int = 0

    @classmethod
    def of(cls, db: Database, ids: Sequence[int]) -> "Traces":
        """Those of these records; of very many texts fewer each."""
        each = max(4, min(_PER_TEXT, _IN_ALL // max(1, len(ids))))
        windows: set[bytes] = set()
        words: set[bytes] = set()
        for record_id in ids:
            for text in _fields(db, record_id):
                data = (
                    text.encode("utf-8", "replace") if isinstance(text, str) else text
                )
                windows.update(_spread(data, each))
                if isinstance(text, str):
                    words.update(_ends(text, each))
        return cls(_hashes(windows, WINDOW), _hashes(words, WORD))

    def without_those_in(self, db: Database) -> "Traces":
        """Only the pieces that no record which stays holds as well."""
        windows, words = self.windows, self.words
        for data in _chunks(_cells(db)):
            windows = windows[~np.isin(windows, _present(data, WINDOW, windows))]
            words = words[~np.isin(words, _present(data, WORD, words))]
        dropped = len(self.windows) + len(self.words) - len(windows) - len(words)
        return Traces(windows, words, self.shared + dropped)

    def look_in(self, files: Iterable[Path]) -> Proof:
        """Look for the pieces in the bytes of these files.

        Call it when no connection of this process has one of them open: closing a file
        gives up the locks that the process holds on it.
        """
        there = tuple(file for file in files if file.is_file())
        left = tuple(file for file in there if self._is_in(file))
        return Proof(len(self.windows) + len(self.words), self.shared, there, left)

    def _is_in(self, file: Path) -> bool:
        with file.open("rb") as stream:
            page, tail = _page_size(stream.read(18)), b""
            stream.seek(0)
            while data := stream.read(_CHUNK):
                data = tail + _without_pointers(data, page)
                if len(_present(data, WINDOW, self.windows)):
                    return True
                if len(_present(data, WORD, self.words)):
                    return True
                tail = data[-WINDOW:]
        return False


def _page_size(head: bytes) -> int:
    """Bytes of a page of a SQLite file that starts like this; 0 for other files."""
    if not head.startswith(b"SQLite format 3\0"):
        return 0
    size = int.from_bytes(head[16:18], "big")
    return 65_536 if size == 1 else size


def _without_pointers(data: bytes, page: int) -> bytes:
    """Whole pages without their first four bytes, which are never text: a page number
    there may look like a letter before the text that follows."""
    if not page:
        return data
    plain = np.frombuffer(data, np.uint8).copy()
    for place in range(4):
        plain[place::page] = 0
    return plain.tobytes()


def files_of(path: Path) -> list[Path]:
    """A store and all that lies beside it under its name: log, backup, leftovers."""
    return sorted(file for file in path.parent.glob(f"{path.stem}*") if file.is_file())


def _fields(db: Database, record_id: int) -> Iterator[str | bytes]:
    """Every text that is stored for a record, and its packed body."""
    queries = (
        """SELECT key, title, body, recipient, recipient_address, sender, thread,
                  reply_to FROM record WHERE id = ?""",
        "SELECT data FROM raw WHERE record_id = ?",
        "SELECT tok FROM doc WHERE id = ?",
        "SELECT label FROM record_label WHERE record_id = ?",
    )
    for query in queries:
        for row in db.execute(query, [record_id]):
            yield from row


def _spread(data: bytes, most: int) -> Iterator[bytes]:
    """Windows from the first to the last byte, evenly spread; not of one letter."""
    last = len(data) - WINDOW
    if last < 0:
        return  # its words stand for a short text
    for at in np.unique(np.linspace(0, last, most).astype(int)):
        window = data[at : at + WINDOW]
        if len(set(window)) >= _FEWEST_LETTERS:
            yield window


def _ends(text: str, most: int) -> Iterator[bytes]:
    """First and last bytes of the longest words, in lower case and as written."""
    long = sorted({*tokens(text), *text.split()}, key=len, reverse=True)[:most]
    for word in long:
        data = word.encode("utf-8", "replace")
        for piece in (data[:WORD], data[-WORD:]):
            if len(piece) == WORD and len(set(piece)) >= _FEWEST_LETTERS:
                yield piece


def _cells(db: Database) -> Iterator[bytes]:
    """Everything in tables that hold texts themselves, not an index over them."""
    tables = db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    for (table,) in tables:
        for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608
            for cell in row:
                if isinstance(cell, str):
                    yield cell.encode("utf-8", "replace")
                elif isinstance(cell, bytes):
                    yield cell


def _chunks(cells: Iterable[bytes]) -> Iterator[bytes]:
    """Cells side by side, a zero byte between them, some megabytes at a time."""
    waiting: list[bytes] = []
    size = 0
    for cell in cells:
        waiting.append(cell)
        size += len(cell) + 1
        if size >= _CHUNK:
            yield b"\0".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"\0".join(waiting)


def _hashes(pieces: Iterable[bytes], length: int) -> Numbers:
    """Each piece (N,) as a number, sorted."""
    joined = b"".join(pieces)
    return np.unique(_numbers(joined, 0, length, length))


def _present(data: bytes, length: int, wanted: Numbers) -> Numbers:
    """Those of the wanted numbers whose piece stands in the data, at any offset."""
    found: list[Numbers] = [_NOTHING]
    if not len(wanted):
        return _NOTHING
    likely = np.zeros(1 << _BITS, bool)  # most of a file is told apart by this alone
    likely[_slot(wanted)] = True
    for offset in range(WORD):
        here = _numbers(data, offset, length, WORD)
        here = here[likely[_slot(here)]]
        at = np.searchsorted(wanted, here)
        at[at == len(wanted)] = 0
        found.append(here[wanted[at] == here])
    return np.unique(np.concatenate(found))


def _slot(numbers: Numbers) -> Numbers:
    """The first bits of numbers, once these are mixed well."""
    slots: Numbers = (numbers * _MIX) >> np.uint64(64 - _BITS)
    return slots


def _numbers(data: bytes, offset: int, length: int, step: int) -> Numbers:
    """A number for the piece at every step-th byte: for 8 bytes they are their number,
    for 16 two numbers are mixed, which 64 bits hardly ever do to two pieces alike."""
    count = max(0, len(data) - offset) // WORD
    if count < length // WORD:
        return _NOTHING
    eights = np.frombuffer(data, "<u8", count, offset).astype(np.uint64)
    if length == WORD:
        return eights
    mixed: Numbers = eights[:-1] * _MIX ^ (eights[1:] + (eights[:-1] >> np.uint64(29)))
    return mixed[:: step // WORD]
