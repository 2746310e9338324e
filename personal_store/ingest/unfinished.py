"""Imports that were begun and did not come to their end, kept in the store itself.

Where each source goes on stands in `import_run`. Here stands what was asked for, so
that whoever opens the store next can offer to go on, and ask for the very same. An
import is noted when its first record was read and forgotten with its last; so the store
of one that was broken off and finished is that of one that never was.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

from sqlite_utils import Database

from personal_store.database.transactions import immediate
from personal_store.errors import faults
from personal_store.ingest.guards import is_importing
from personal_store.records import ProgressCallback
from personal_store.store import Store

_NAME = "unfinished imports"
_MOST = 20
"""Imports that are remembered; the oldest go first."""
_EVERY = 1.0
"""Seconds after which it is noted how far an import is."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An import as it was asked for, and how far it came."""

    kind: str
    """An importer, or `auto`."""
    path: Path
    me: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    mine: bool = False
    """Whether files that do not say who wrote them are the person's."""
    done: int = 0
    """Bytes."""
    total: int = 0
    when: str = ""
    """When that was noted, as in ISO 8601."""

    @property
    def in_words(self) -> str:
        """Which import it is and how far it came: the beginning of a sentence."""
        kind = "" if self.kind == "auto" else f" ({self.kind})"
        percent = 100 * self.done // max(1, self.total)
        return f"reading {self.path}{kind} stopped at {percent} %"

    def is_same(self, other: "Unfinished") -> bool:
        """Whether both read the same."""
        return (self.kind, self.path) == (other.kind, other.path)


def unfinished(store: Store) -> list[Unfinished]:
    """All that can be gone on with, the last one first; none while one is running."""
    return [] if is_importing(store.path) else _read(store.db)


def as_begun(store: Store, asked: Unfinished) -> Unfinished:
    """What is asked for, with what was told besides when it was begun."""
    for known in _read(store.db):
        if known.is_same(asked) and asked.me in ((), known.me):
            return known
    return asked


def dismiss(store: Store, asked: Unfinished) -> None:
    """Offer it no more; what was read of it stays."""
    _write(store.db, asked, stays=False)


@contextmanager
def noted(
    store: Store, asked: Unfinished, progress: ProgressCallback
) -> Iterator[ProgressCallback]:
    """A callback that notes how far the import is, and then tells `progress`. What is
    done within, and raises nothing, is finished."""
    asked = replace(asked, path=asked.path.absolute())
    done, total = 0, 0
    since: float | None = None

    def note() -> None:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        known = replace(asked, done=done, total=total, when=now)
        _write(store.db, known, stays=True)

    def advance(at: int, of: int) -> None:
        nonlocal done, total, since
        done, total = at, of
        if since is None or monotonic() - since > _EVERY:
            since = monotonic()
            note()
        progress(at, of)

    try:
        yield advance
    except BaseException:
        if since is not None:
            with suppress(*faults()):  # what was wrong may be wrong with this, too
                note()
        raise
    _write(store.db, asked, stays=False)


def _write(db: Database, asked: Unfinished, *, stays: bool) -> None:
    with immediate(db):
        known = _read(db)
        others = [one for one in known if not one.is_same(asked)]
        if len(others) == len(known) and not stays:
            return
        kept = [asked, *others][:_MOST] if stays else others
        db.execute("DELETE FROM state WHERE name = ?", [_NAME])
        if kept:
            body = [asdict(one) | {"path": str(one.path)} for one in kept]
            db.execute("INSERT INTO state VALUES (?, ?)", [_NAME, json.dumps(body)])


def _read(db: Database) -> list[Unfinished]:
    row = db.execute("SELECT value FROM state WHERE name = ?", [_NAME]).fetchone()
    return [] if row is None else [_made(body) for body in json.loads(row[0])]


def _made(body: Mapping[str, Any]) -> Unfinished:
    known = {one.name for one in fields(Unfinished)} & set(body)  # of any version
    told = {name: body[name] for name in known}
    return Unfinished(**told | {"path": Path(body["path"]), "me": tuple(body["me"])})
