"""The proof of forgetting: a store holds what its rows say, and nothing else.

Bytes alone do not show whether "balloons" in a file is a word that was
forgotten, or the word "balloon" of a text that stays, beside a number that looks like
an "s". So no words are looked for in the store. Instead everything in it is accounted
for, without knowing what was forgotten:

1. Its rows. Every table is one that this program made, every row belongs to a record
   that is there, no record has a key that was forgotten, and the indexes say what the
   records say, to the last count.
2. Its bytes. From these rows SQLite writes a second file (VACUUM INTO). A store that
   was just built anew (VACUUM) equals it byte for byte, but for five numbers in the
   header. So there is no free page, no gap inside a page, no end of an overflow chain
   that holds anything else.
3. What lies beside it. The backup equals the second file too; log and journal are
   empty.

Nobody knows what other files beside the store should hold, so they are named, and not
looked into. ADR 18 has the reasons, and what is proven of encrypted stores.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import IO

from sqlite_utils import Database

from personal_store import keys
from personal_store.connection import (
    beside,
    connect_as_it_is,
    create_tables,
    immediate,
    scratch,
)
from personal_store.copies import backup_path, ciphered, digest, is_encrypted
from personal_store.errors import StoreBusyError, faults
from personal_store.lifecycle.tombstones import Tombstones
from personal_store.records import ProgressCallback
from personal_store.search.tables import unexplained

_HEAD = (slice(18, 20), slice(24, 28), slice(40, 44), slice(92, 100))
"""Of a SQLite file: whether it has a log, the counts of changes to the file and to the
schema, and the version of SQLite that wrote it. A copy differs there."""
_NAMED = 5  # how many pages are named if many differ
_ROWS = 0.6  # the share of the work that looking at the rows is


@dataclass(frozen=True, slots=True)
class Proof:
    """What looking came to."""

    pages: int  # pages of the store; in a plain store each was compared
    files: tuple[Path, ...]  # the files that were looked at
    left: tuple[str, ...] = ()
    """What is not accounted for, as sentences; none if all is forgotten."""

    def sentence(self) -> str:
        """What is proven, to be shown to the owner of a store."""
        names = " and ".join(file.name for file in self.files)
        hold = "holds" if len(self.files) == 1 else "hold"
        return (
            f"{names} {hold} the texts that stay and nothing else "
            f"({self.pages:,} pages checked)"
        )


def prove(db: Database, path: Path, progress: ProgressCallback | None = None) -> Proof:
    """Account for all that the store and its backup hold, right after `overwrite`.

    No other program can write meanwhile. `progress` gets what is done and all.
    """
    files = tuple(file for file in (path, backup_path(path)) if file.exists())
    left = _not_empty(path)
    if left:  # nothing is opened then: SQLite would play back a journal, or wait
        return Proof(0, files, tuple(left))
    left = unaccounted(db, progress)
    guard = connect_as_it_is(path)  # a connection of its own reads what is on the disk
    try:
        with scratch(path) as reference, immediate(guard):
            left += _not_empty(path)  # somebody has written meanwhile
            db.execute("VACUUM INTO ?", [str(reference)])
            (pages,) = guard.execute("PRAGMA page_count").fetchone()
            if is_encrypted(path):
                left += _unlike_sealed(guard, path, reference)
            else:
                left += _unlike(BytesIO(guard.conn.serialize()), reference, path)
                if path.stat().st_size != reference.stat().st_size:
                    left.append(f"{path.name} goes on behind its last page")
            if backup_path(path).exists():
                left += _backup_unlike(path, reference)
    except faults() as error:
        raise StoreBusyError(
            f"What {path} holds cannot be checked now ({error}): close other programs "
            "that use it, then run 'specsteer store tidy'."
        ) from error
    finally:
        guard.close()
    if progress is not None:
        progress(1, 1)
    return Proof(pages, files, tuple(left))


def unknown_files(path: Path) -> list[Path]:
    """Files beside a store that bear its name, or are parts of an unfinished file, and
    whose contents neither SQLite nor this program knows."""
    known = {path, backup_path(path), *beside(path), *beside(backup_path(path))}
    found = {*path.parent.glob(f"{path.stem}*"), *path.parent.glob("*.part*")}
    known |= {path.with_name(path.name + ".lock")}
    return sorted(file for file in found - known if file.is_file())


def _not_empty(path: Path) -> list[str]:
    """Logs and journals of a store and its backup that hold something."""
    return [
        f"{file.name} is not empty: another program may have the store open"
        for file in [*beside(path), *beside(backup_path(path))]
        if not file.name.endswith("-shm") and file.exists() and file.stat().st_size
    ]


def unaccounted(db: Database, progress: ProgressCallback | None = None) -> list[str]:
    """Rows of a store that none of its records explain, as sentences."""
    sql = "SELECT (SELECT count(*) FROM doc) + (SELECT count(*) FROM heard)"
    (texts,) = db.execute(sql).fetchone()
    seen = 0

    def advance(more: int) -> None:
        nonlocal seen
        seen += more
        if progress is not None:
            progress(seen, max(seen, int(texts / _ROWS)))

    with closing(Database(memory=True, execute_plugins=False)) as fresh:
        create_tables(fresh)
        strange = sorted(_columns(db) - _columns(fresh))
    left = [
        f"{name} was not made by SpecSteer, so it is unknown what it holds"
        for name in strange
    ]
    forgotten = Tombstones.of(db)
    left += [
        f"record {record_id} was forgotten and is there"
        for record_id, key in db.execute("SELECT id, key FROM main.record")
        if forgotten.cover(key)
    ]
    return left + unexplained(db, advance)


def _columns(db: Database) -> set[str]:
    """Everything the schema names, as in 'column record.title'."""
    rows = db.execute(
        """SELECT type || ' ' || name FROM main.sqlite_schema
           WHERE name NOT LIKE 'sqlite_autoindex%' UNION
           SELECT 'column ' || one.name || '.' || field.name
           FROM main.sqlite_schema AS one
           JOIN pragma_table_xinfo(one.name) AS field WHERE one.type = 'table'"""
    )
    return {row[0] for row in rows}


def _unlike(stream: IO[bytes], reference: Path, path: Path) -> list[str]:
    """Where a file's bytes are not those of the reference."""
    with reference.open("rb") as other:
        size = int.from_bytes(other.read(18)[16:18], "big")
        size = 65_536 if size == 1 else size  # which does not fit into two bytes
        other.seek(0)
        pages = zip_longest(_pages(stream, size), _pages(other, size))
        differing = [n for n, (mine, theirs) in enumerate(pages, 1) if mine != theirs]
    if not differing:
        return []
    shown = ", ".join(map(str, differing[:_NAMED]))
    more = ", ..." if len(differing) > _NAMED else ""
    noun = "page" if len(differing) == 1 else "pages"
    return [f"{path.name} holds bytes that no row explains, in {noun} {shown}{more}"]


def _pages(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """The pages of a database, the first with zeros where copies differ."""
    first = bytearray(stream.read(size))
    for part in _HEAD:
        first[part] = bytes(len(first[part]))
    yield bytes(first)
    yield from iter(partial(stream.read, size), b"")


def _unlike_sealed(db: Database, path: Path, reference: Path) -> list[str]:
    """What is wrong with the pages of an encrypted store, whose bytes mean nothing:
    each must have its seal and belong to a table, and there must be as many as the
    rows take."""
    seals = [row[0] for row in db.execute("PRAGMA cipher_integrity_check")]
    pages = [row[0] for row in db.execute("PRAGMA integrity_check")]
    left = [f"{path.name}: {line}" for line in [*seals, *pages] if line != "ok"]
    if path.stat().st_size != reference.stat().st_size:
        left.append(f"{path.name} holds pages that no row explains")
    return left


def _backup_unlike(path: Path, reference: Path) -> list[str]:
    """What is wrong if the backup is not the one that the store would give now."""
    backup = backup_path(path)
    key = keys.known(path)
    if key is None:
        with backup.open("rb") as stream:
            return _unlike(stream, reference, backup)
    digests = set()
    for file in (backup, reference):
        keys.remember(file, key)
        with ciphered(file) as copy:
            digests.add(digest(copy))
        keys.remember(file, None)
    if len(digests) == 1 and backup.stat().st_size == reference.stat().st_size:
        return []
    return [f"{backup.name} holds other rows than {path.name}"]
