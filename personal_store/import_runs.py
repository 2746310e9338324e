"""Imports as such: one runs at a time, what earlier ones have read, which did not end.

The system releases the lock of an import when its process ends, however that happens.

A file counts as unchanged if its size, its time of change and its two ends are those of
its last import. A mailbox that has grown is read from where it ended, if a hash over
all that it held shows that none of it has changed. Both only if it would be read alike:
by the same program, with the same addresses, columns and wish for raw bodies.

What was asked of an import that did not end is kept in the store, so that whoever opens
it next can offer to go on. It is noted when the first record was read and deleted with
the last.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from time import monotonic
from typing import IO

from sqlite_utils import Database

from base.locks import lock
from base.owner_only import open_private
from personal_store.connection import immediate
from personal_store.errors import StoreBusyError, StoreError, faults
from personal_store.files import HEAD, Source, parts
from personal_store.lifecycle.writing import keeps_bodies, stored
from personal_store.records import ImportFailure, ProgressCallback
from personal_store.store import Store

TIMES = 3
"""Room that a text takes: itself, its search terms, and the log before they settle."""
MAIL_TEXT = 0.1
"""Share of a mailbox that is text worth storing; the rest is markup and attachments."""
LEAST = 32 * 1024 * 1024  # bytes that must be free for any import
_SETTLED = 2_000_000_000
"""Nanoseconds that a file has to be older than its import: a second change within one
tick of the file system's clock would not show."""
_BLOCK = 1 << 20
_NAME = "unfinished imports"
_MOST = 20  # imports that are remembered; the oldest go first
_EVERY = 1.0  # seconds after which it is noted how far an import is


@contextmanager
def importing_alone(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raises StoreBusyError, saying since when, if taken."""
    handle = open_private(store.with_name(store.name + ".lock"), os.O_RDWR | os.O_CREAT)
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            lock(file)
        except OSError as error:
            raise StoreBusyError(
                f"Another import into this store is running{_since(file)}: wait until "
                "it has ended, or stop it; nothing it has read is lost."
            ) from error
        now = datetime.now().astimezone()
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"process": os.getpid(), "since": now.isoformat()}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def is_importing(store: Path) -> bool:
    """Whether an import into this store is running."""
    path = store.with_name(store.name + ".lock")
    try:
        if not path.stat().st_size:
            return False
        with importing_alone(store):  # who was killed has left what it wrote
            return False
    except FileNotFoundError:
        return False
    except StoreBusyError:
        return True


def _since(file: IO[str]) -> str:
    """When its holder began; empty if it has not written that yet."""
    try:
        holder = json.loads(file.read())
        began = datetime.fromisoformat(holder["since"]).astimezone()
        process = int(holder["process"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    today = began.date() == datetime.now().astimezone().date()
    when = f"{began:%H:%M:%S}" if today else f"{began:%Y-%m-%d %H:%M}"
    return f" since {when} (process {process})"


def check_room(store: Path, sources: Sequence[Source], *, is_mail: bool) -> None:
    """Raises StoreError, with what is missing, if the disk is nearly full."""
    size = sum(source.size for source in sources)
    needed = LEAST + int(TIMES * size * (MAIL_TEXT if is_mail else 1))
    free = shutil.disk_usage(store.parent).free
    if free < needed:
        raise StoreError(
            f"The disk of {store.parent} is nearly full: this import may need "
            f"{in_words(needed)}, and {in_words(free)} are free. Make room first, or "
            "import a part."
        )


def in_words(count: int) -> str:
    """A number of bytes as a person reads it: 320 kB, 1.4 GB."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            digits = 1 if unit != "bytes" and size < 10 else 0
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def read_before(db: Database, source: Source, me: frozenset[str], options: str) -> int:
    """The furthest place that any run over a source that only ever grows has
    committed with the same options.

    0 for an ordinary source: there a run after one that ended begins anew, for the
    source may have changed anywhere.
    """
    if not source.appends:
        return 0
    row = db.execute(
        """SELECT coalesce(max(position), 0) FROM import_run
           WHERE place = ? AND fingerprint = ? AND options = ?""",
        [source.place, source.fingerprint(), stored(options, me)],
    )
    return int(row.fetchone()[0])


def ended_before(db: Database, source: Source) -> bool:
    """Whether an import has read a source of this content to its end, wherever the
    file lay then."""
    row = db.execute(
        "SELECT 1 FROM import_run WHERE ended IS NOT NULL AND size = ?"
        " AND fingerprint = ? LIMIT 1",
        [source.size, source.fingerprint()],
    )
    return row.fetchone() is not None


@dataclass(frozen=True, slots=True)
class Before:
    """The last import that read a source to its end."""

    run_id: int
    size: int  # bytes of the source when it was imported
    mark: str
    digest: str  # A hash over all bytes of the source; empty where it is not known
    things: int  # texts and what else was counted in it, but failures

    @classmethod
    def of(
        cls, db: Database, kind: str, source: Source, options: str
    ) -> "Before | None":
        """The last import of this source by this importer, with the same options and
        code; None if there is none, or if another import has begun since."""
        row = db.execute(
            """SELECT run.id, size, mark, digest, added + updated + skipped,
                      options = ? AND reader = ? AND ended IS NOT NULL
               FROM import_run AS run JOIN source ON source.id = source_id
               WHERE place = ? AND kind = ? ORDER BY run.id DESC LIMIT 1""",
            [options, reader(db), source.place, kind],
        ).fetchone()
        return cls(*row[:-1]) if row and row[-1] else None

    def failures(self, db: Database) -> list[ImportFailure]:
        """What could not be read in it."""
        sql = "SELECT place, reason FROM import_error WHERE run_id = ?"
        rows = db.execute(sql, [self.run_id])
        return [ImportFailure(self.size, place, reason) for place, reason in rows]


def mark_of(source: Source, begun: int) -> str:
    """Says that a source is as it was; empty where that cannot be said. `begun` is when
    its import begins, in nanoseconds since 1970."""
    if source.appends:
        return ""  # a mailbox on a server
    said = hashlib.sha256()
    places: set[Path] = set()
    for file in parts(source):
        said.update(f"{file.place}\0{file.size}\0".encode())
        places.add(file.path)
    for path in sorted(places):
        status = path.stat()
        if status.st_mtime_ns > begun - _SETTLED:
            return ""
        said.update(f"{status.st_size} {status.st_mtime_ns}\0".encode())
        if len(places) == 1:
            with path.open("rb") as stream:
                said.update(stream.read(HEAD))
                stream.seek(max(0, status.st_size - HEAD))
                said.update(stream.read(HEAD))
    return said.hexdigest()


def digest_of(path: Path, size: int) -> str:
    """A hash over the first `size` bytes of a file; empty if it has fewer."""
    said = hashlib.sha256()
    with path.open("rb") as stream:
        while size > 0 and (block := stream.read(min(size, _BLOCK))):
            said.update(block)
            size -= len(block)
    return "" if size else said.hexdigest()


def reader(db: Database) -> str:
    """Says how a source is read: by which program, and whether bodies are kept."""
    return f"{_program()} {int(keeps_bodies(db))}"


@cache
def _program() -> str:
    """A hash over the code of this package: whatever changes in it may read better."""
    folder = Path(__file__).parent
    said = hashlib.sha256()
    for file in sorted([*folder.rglob("*.py"), *folder.rglob("*.toml")]):
        said.update(file.read_bytes())
    return said.hexdigest()[:16]


def carry_over(db: Database, before: Before, run_id: int) -> None:
    """Note what an earlier run has counted and failed at with one that reads on."""
    db.execute(
        "UPDATE import_run SET skipped = ? WHERE id = ? AND position = 0",
        [before.things, run_id],
    )
    db.execute(
        """INSERT INTO import_error SELECT ?, place, reason FROM import_error
           WHERE run_id = ? AND NOT EXISTS
               (SELECT 1 FROM import_error WHERE run_id = ?)""",
        [run_id, before.run_id, run_id],
    )


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An import as it was asked for, and how far it came."""

    kind: str  # an importer, or `auto`
    path: Path
    me: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    mine: bool = False  # whether files that do not say who wrote them are the person's
    done: int = 0  # bytes
    total: int = 0
    when: str = ""  # when that was noted, as in ISO 8601

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
    """What is asked for, with the addresses and columns given when it was begun."""
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
    """A callback that notes how far the import is, and then calls `progress`. What is
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
        kept = [one for one in _read(db) if not one.is_same(asked)]
        kept = [asked, *kept][:_MOST] if stays else kept
        db.execute("DELETE FROM state WHERE name = ?", [_NAME])
        if kept:
            body = [asdict(one) | {"path": str(one.path)} for one in kept]
            db.execute("INSERT INTO state VALUES (?, ?)", [_NAME, json.dumps(body)])


def _read(db: Database) -> list[Unfinished]:
    row = db.execute("SELECT value FROM state WHERE name = ?", [_NAME]).fetchone()
    bodies = json.loads(row[0]) if row else []
    paths = ({"path": Path(one["path"]), "me": tuple(one["me"])} for one in bodies)
    return [Unfinished(**one | path) for one, path in zip(bodies, paths, strict=True)]
