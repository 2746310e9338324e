"""Pieces of texts that are about to go, to be looked for in files beside the store.

What the store and its backup hold is accounted for (proof.py). Of any other file that
lies there, a copy, a damaged store, a profile, nobody knows what it should hold: there
the words themselves are looked for.

Pieces are windows of 16 bytes all along each field of a text and its packed body. Those
that texts which stay hold as well are left out, as they prove nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from personal_store.database.copies import backup_path
from personal_store.files.private_files import beside

WINDOW = 16
"""Bytes of a piece."""
_HALF = 8
_PER_TEXT = 64
_IN_ALL = 200_000
_FEWEST_LETTERS = 6
_CHUNK = 1 << 22
_BITS = 22
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NOTHING = np.empty(0, np.uint64)

Numbers = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Traces:
    """Pieces of some texts, as numbers (N,), sorted."""

    windows: Numbers = field(default_factory=lambda: _NOTHING)

    @classmethod
    def of(cls, db: Database, ids: Sequence[int]) -> "Traces":
        """Pieces of these records; of very many records fewer pieces each."""
        each = max(4, min(_PER_TEXT, _IN_ALL // max(1, len(ids))))
        windows: set[bytes] = set()
        for record_id in ids:
            for text in _fields(db, record_id):
                data = (
                    text.encode("utf-8", "replace") if isinstance(text, str) else text
                )
                windows.update(_spread(data, each))
        return cls(np.unique(_numbers(b"".join(windows), 0, 2)))

    def without_those_in(self, db: Database) -> "Traces":
        """Only the pieces that no row which stays holds as well."""
        windows = self.windows
        for data in _chunks(_cells(db)):
            windows = windows[~np.isin(windows, _present(data, windows))]
        return Traces(windows)

    def found_in(self, files: Iterable[Path]) -> list[Path]:
        """The files among these that hold a piece."""
        return [file for file in files if self._is_in(file)]

    def _is_in(self, file: Path) -> bool:
        tail = b""
        with file.open("rb") as stream:
            while data := stream.read(_CHUNK):
                data = tail + data
                if len(_present(data, self.windows)):
                    return True
                tail = data[-WINDOW:]
        return False


def strangers(path: Path) -> list[Path]:
    """Files beside a store that bear its name, or are parts of a file that was not
    finished, and of which SQLite and this program do not say what they hold."""
    known = {path, backup_path(path), *beside(path), *beside(backup_path(path))}
    found = {*path.parent.glob(f"{path.stem}*"), *path.parent.glob("*.part*")}
    return sorted(file for file in found - known if file.is_file())


def _fields(db: Database, record_id: int) -> Iterator[str | bytes]:
    """Every text that is stored for a record, and its packed body."""
    queries = (
        """SELECT key, title, body, recipient, recipient_address, sender, sender_name,
                  thread, reply_to FROM record WHERE id = ?""",
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
        return  # the key of each record is longer
    for at in np.unique(np.linspace(0, last, most).astype(int)):
        window = data[at : at + WINDOW]
        if len(set(window)) >= _FEWEST_LETTERS:
            yield window


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


def _present(data: bytes, wanted: Numbers) -> Numbers:
    """The wanted numbers whose piece stands in the data, at any offset."""
    found: list[Numbers] = [_NOTHING]
    if not len(wanted):
        return _NOTHING
    likely = np.zeros(1 << _BITS, bool)  # most of a file is told apart by this alone
    likely[_slot(wanted)] = True
    for offset in range(_HALF):
        here = _numbers(data, offset)
        here = here[likely[_slot(here)]]
        at = np.searchsorted(wanted, here)
        at[at == len(wanted)] = 0
        found.append(here[wanted[at] == here])
    return np.unique(np.concatenate(found))


def _slot(numbers: Numbers) -> Numbers:
    """The first bits of numbers, once these are mixed well."""
    slots: Numbers = (numbers * _MIX) >> np.uint64(64 - _BITS)
    return slots


def _numbers(data: bytes, offset: int, step: int = 1) -> Numbers:
    """A number for the piece at every step-th eight bytes: those of its halves are
    mixed, which 64 bits hardly ever do to two pieces alike."""
    count = max(0, len(data) - offset) // _HALF
    if count < WINDOW // _HALF:
        return _NOTHING
    eights = np.frombuffer(data, "<u8", count, offset).astype(np.uint64)
    mixed: Numbers = eights[:-1] * _MIX ^ (eights[1:] + (eights[:-1] >> np.uint64(29)))
    return mixed[::step]
