"""How far earlier imports have read a source, and whether it is as it was then.

A file counts as unchanged if its size, its time of change and its two ends are those of
then. A mailbox that has grown is read from where it ended, if a hash over all that it
held says that none of it has changed. Both only if it would be read alike: the same
program, addresses, columns and wish for raw bodies. Forgetting takes what is known of a
source along when its last text goes.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlite_utils import Database

from personal_store.files.files import HEAD, Source, parts
from personal_store.lifecycle import raw_bodies
from personal_store.lifecycle.writing import told_as
from personal_store.records import ImportFailure

_SETTLED = 2_000_000_000
"""Nanoseconds that a file has to be older than its import: a second change within one
tick of the file system's clock would not show."""
_BLOCK = 1 << 20


def read_before(db: Database, source: Source, me: frozenset[str], options: str) -> int:
    """The furthest place that any run over a source that only ever grows has
    committed, told alike.

    0 for an ordinary source: there a run after one that ended begins anew, for the
    source may have changed anywhere.
    """
    if not source.appends:
        return 0
    row = db.execute(
        """SELECT coalesce(max(position), 0) FROM import_run
           WHERE place = ? AND fingerprint = ? AND options = ?""",
        [source.place, source.fingerprint(), told_as(options, me)],
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
    size: int
    """Bytes of the source when it was imported."""
    mark: str
    digest: str
    """A hash over all bytes of the source; empty where it is not known."""
    things: int
    """Texts and what else was counted in it, but failures."""

    @classmethod
    def of(cls, db: Database, kind: str, source: Source, told: str) -> "Before | None":
        """The last import of this source by this importer, with the same options and
        code; None if there is none, or if another import has begun since."""
        row = db.execute(
            """SELECT run.id, size, mark, digest, added + updated + skipped,
                      options = ? AND reader = ? AND ended IS NOT NULL
               FROM import_run AS run JOIN source ON source.id = source_id
               WHERE place = ? AND kind = ? ORDER BY run.id DESC LIMIT 1""",
            [told, reader(db), source.place, kind],
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
    return f"{_program()} {int(raw_bodies.is_wanted(db))}"


@cache
def _program() -> str:
    """A hash over the code of this package: whatever changes in it may read better."""
    folder = Path(__file__).parents[1]
    said = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
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
