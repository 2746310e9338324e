"""The ledger: what was handed to the socket, kept on this device alone.

One line of JSON per event, appended as it happens. It is a fold over what was really
sent, never a sentence that somebody wrote. Beside an encrypted store each line is
sealed under the store's key. Lines that are older than a retention time go when the
next text begins, and what quotes a forgotten letter is taken out of its line.
"""

from __future__ import annotations

import base64
import json
import math
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import IO, Any

from base.locks import is_at, lock
from base.owner_only import open_to_append
from decoding_core.errors import CloudUnreachableError, InvalidSettingsError
from edge_app.config.sealed import (
    STORE_NAME,
    DamagedSealError,
    Seal,
    is_sealed,
    key_of,
    read_file,
    replace_file,
    salt_of,
    write_file,
)
from edge_app.decoding.events import (
    Emit,
    Event,
    HeldBack,
    PrivacySpent,
    Received,
    Sent,
    Verified,
    to_json,
)
from personal_store import keys
from personal_store.errors import StoreBusyError

_WHAT = "ledger"
_OF = "of"  # the name of a text that is one of several at once
_DAY = 86_400.0
_ROOM = 1 << 20  # bytes of free disk without which nothing is sent
KEPT = (Sent, Received, Verified, HeldBack, PrivacySpent)
"""The events that the ledger keeps: those of bytes, what became of a draft, what stands
in the place of words that were held back, and what a message cost of the budget."""
_LEFT_OUT: dict[type[Event], tuple[str, ...]] = {
    Verified: ("refused",),
    HeldBack: ("text",),
}
"""Of these, the words that did not leave in this form: they are not kept twice."""

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One sending, as the ledger keeps it."""

    time: float
    url: str
    what: str
    size: int
    token_ids: tuple[int, ...]
    payload: bytes
    redacted: bool = False  # whether what it said was taken out
    line: int = field(default=-1, compare=False)  # in the ledger; -1: unknown


class Ledger:
    """Appends to the ledger; a reader of the event stream."""

    def __init__(
        self, path: Path, store: Path | None = None, keep_days: float = 0.0
    ) -> None:
        """Open the ledger of a store, by default the one beside it, without lines older
        than `keep_days`; 0 keeps all.

        Raises OSError if it is no file of the owner's, StoreLockedError without a key.
        """
        key = key_of(store or _store_beside(path))
        if keep_days > 0.0:
            with suppress(StoreBusyError):  # another program writes: the next text does
                _prune(path, time.time() - keep_days * _DAY, key)
        self._file = _open_shared(path)
        self._seal = None if key is None else Seal(key, salt_of(_last_line(path)))
        self._left = False  # whether anything left since it was opened
        self._lock = threading.Lock()

    def of_texts(self, count: int) -> list[Emit]:
        """A reader for each of several texts that are written at once, whose lines
        `read_lines` puts together again."""
        if count == 1:
            return [self.add]
        return [partial(self.add, text=secrets.token_hex(4)) for _ in range(count)]

    def add(self, event: Event, text: str = "") -> None:
        """Keep an event of what was sent, of a text with this name if it is one of
        several; raises OSError if something left."""
        if not isinstance(event, KEPT):
            return
        body = json.loads(to_json(event))
        if text:
            body[_OF] = text
        for one in _LEFT_OUT.get(type(event), ()):
            del body[one]
        line = json.dumps(body)
        if self._seal is not None:
            line = self._seal.closed(line.encode(), _WHAT)
        self._left = self._left or isinstance(event, Sent)
        with self._lock, self._needed():
            self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file."""
        with self._needed():
            self._file.close()

    @contextmanager
    def _needed(self) -> Iterator[None]:
        """A full disk ends no text of which nothing left."""
        try:
            yield
        except OSError:
            if self._left:
                raise


def check_room(path: Path) -> None:
    """Raises CloudUnreachableError if the disk has no room to note what is sent."""
    with suppress(FileNotFoundError):
        if shutil.disk_usage(path.parent).free < _ROOM:
            raise CloudUnreachableError("the disk is full: what leaves cannot be noted")


def read_ledger(path: Path, store: Path | None = None) -> Iterator[Entry]:
    """All sendings, oldest first, broken lines skipped; raises StoreLockedError if they
    are sealed and the key is missing."""
    for number, body in read_lines(path, store):
        if (entry := entry_of(body, number)) is not None:
            yield entry


def read_lines(path: Path, store: Path | None = None) -> Iterator[tuple[int, Body]]:
    """Each line that holds an event, with its number; those of a text follow each other
    if several were written at once. Raises as `read_ledger` does."""
    store = store or _store_beside(path)
    lines = _lines(path, lambda: key_of(store) or keys.find(store))
    found = [(number, body) for number, _, body in lines if body is not None]
    first: dict[str, int] = {}

    def place(line: tuple[int, Body]) -> int:
        number, body = line
        return first.setdefault(str(body[_OF]), number) if _OF in body else number

    yield from sorted(found, key=place)


def entry_of(body: Body, line: int = -1) -> Entry | None:
    """The sending in a line; None if it holds another event."""
    try:
        if body["event"] != "Sent":
            return None
        return Entry(
            float(body["time"]),
            str(body["url"]),
            str(body["what"]),
            int(body["size"]),
            tuple(map(int, body["token_ids"])),
            base64.b64decode(body["payload"]),
            bool(body.get("redacted", False)),
            line,
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def redact(path: Path, lines: set[int], store: Path | None = None) -> int:
    """Take out what the sendings in these lines said, but time, address and size; their
    number. Raises StoreBusyError while a text is written."""

    def change(number: int, body: Body) -> Body:
        if number not in lines:
            return body
        return body | {"token_ids": [], "payload": "", "redacted": True}

    _rewrite(path, change, key_of(store or _store_beside(path)))
    return len(lines)


def reseal(path: Path, old: str | None, new: str | None) -> None:
    """Have every line under another key, or under none; raises StoreBusyError."""
    if path.exists():
        _rewrite(path, lambda _, body: body, new, old)


def _prune(path: Path, before: float, key: str | None) -> None:
    """Drop lines before a time; one without a time goes with the last that had one."""
    _, _, first = next(_lines(path, lambda: key or ""), (0, "", None))
    if first is None or _time_of(first, before) >= before:
        return
    now = 0.0

    def change(_: int, body: Body) -> Body | None:
        nonlocal now
        now = _time_of(body, now)
        return body if now >= before else None

    _rewrite(path, change, key)


def _time_of(body: Body, without: float) -> float:
    at = body.get("time")
    return float(at) if isinstance(at, int | float) else without


def _rewrite(
    path: Path,
    change: Callable[[int, Body], Body | None],
    key: str | None,
    old: str | None = None,
) -> None:
    """Put a ledger in the place of the old, each line changed, or dropped if `change`
    gives None; what was there is overwritten. A line that was sealed with another key
    stays as it is; one that a crash broke is dropped."""
    seal = None if key is None else Seal(key)
    with _alone(path):
        written = []
        for number, line, body in _lines(path, lambda: old or key or ""):
            if body is None:
                written += [line.rstrip("\n")] if is_sealed(line) else []
                continue
            changed = change(number, body)
            if changed is not None:
                words = json.dumps(changed)
                if seal is not None:
                    words = seal.closed(words.encode(), _WHAT)
                written.append(words)
        replace_file(path, "".join(f"{line}\n" for line in written).encode())


def _lines(
    path: Path, key: Callable[[], str]
) -> Iterator[tuple[int, str, Body | None]]:
    """Each line with its number and content, None if unreadable; the key is asked for
    once a line is sealed."""
    if not path.exists():
        return
    seal: Seal | None = None
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file):
            body = None
            with suppress(DamagedSealError, ValueError, RecursionError):
                words = line
                if is_sealed(line):
                    seal = seal or Seal(key())
                    words = seal.opened(line, _WHAT).decode("utf-8", "replace")
                body = json.loads(words)
            yield number, line, body if isinstance(body, dict) else None


def _store_beside(path: Path) -> Path:
    return path.with_name(STORE_NAME)


def _last_line(path: Path) -> str:
    """The last line of a file, for its salt."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (1 << 16)))
        lines = file.read().splitlines()
    return lines[-1].decode("ascii", "replace") if lines else ""


def _open_shared(path: Path) -> IO[str]:
    """The ledger, to be appended to; while it is open, nobody replaces it."""
    while True:
        file = open_to_append(path)
        lock(file, shared=True, wait=True)
        # Another may have been put in its place between the two.
        if is_at(file, path):
            return file
        file.close()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the ledger alone; raises StoreBusyError while a text is written."""
    with open_to_append(path) as file:
        try:
            lock(file)
        except OSError as error:
            raise StoreBusyError(
                f"A text is being written, and {path} with it: try again when it is "
                "done."
            ) from error
        yield


SPENT = "sum of what was told each day"  # what the file is, if it is sealed
_DAYS_KEPT = timedelta(days=92)

Days = dict[str, dict[str, float]]  # nats by day, as in ISO 8601, and by server


def spent_path(ledger: Path) -> Path:
    """Where the file lies."""
    return ledger.with_name("privacy-spent.json")


def read_spent(path: Path, store: Path | None = None) -> Days:
    """All that is kept, by default of the store beside the file.

    Raises InvalidSettingsError if it cannot be read, StoreLockedError without its key.
    """
    try:
        sealed = read_file(path, SPENT, store or path.with_name(STORE_NAME))
        days = json.loads(sealed.decode("utf-8"))
        found = {
            date.fromisoformat(day).isoformat(): {
                str(server): float(nats) for server, nats in servers.items()
            }
            for day, servers in days.items()
        }
        if not all(math.isfinite(n) for told in found.values() for n in told.values()):
            raise ValueError("no number")
        return found
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidSettingsError(
            f"{path} cannot be read, which holds what was told of your history each "
            "day: delete it to begin anew"
        ) from error


class SpentToday:
    """What one server was told on one day."""

    def __init__(
        self, path: Path, server: str, day: date, store: Path | None = None
    ) -> None:
        """The file lies under the key of a store, by default the one beside it."""
        self._path, self._server, self._day = path, server, day
        self._store = store or path.with_name(STORE_NAME)

    def read(self) -> float:
        """Nats so far; raises as `read_spent` does."""
        days = read_spent(self._path, self._store)
        return days.get(self._day.isoformat(), {}).get(self._server, 0)

    def add(self, nats: float) -> float:
        """Add to them; the sum, with other processes' part. Raises OSError, too."""
        with _locked(self._path):
            oldest = (self._day - _DAYS_KEPT).isoformat()
            days = read_spent(self._path, self._store)
            days = {day: told for day, told in days.items() if day > oldest}
            today = days.setdefault(self._day.isoformat(), {})
            today[self._server] = today.get(self._server, 0.0) + nats
            data = json.dumps(days, indent=1).encode()
            write_file(self._path, data, SPENT, self._store)
        return today[self._server]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process writes the file."""
    with open_to_append(path.with_suffix(".lock")) as file:
        lock(file, wait=True)
        yield
