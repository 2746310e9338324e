"""Prompts as a model has read them, kept beside the store: which texts they hold.

A state is what a model's cache holds after a private prompt (edge_app/service has how
it is written and used). It is made of letters, so it goes when one of them goes out of
use. The first line of its file names the records that it holds, in the clear: whoever
deletes a text needs no model and no key to find it.

Whoever has written a state sweeps: a text that went meanwhile takes it along.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from sqlite_utils import Database

from base.owner_only import shred
from personal_store.errors import StoreError
from personal_store.search.tables import PRESENT

_LONGEST_LINE = 1 << 16  # bytes of the line of records


def states_folder(store: Path) -> Path:
    """Where the states of a store lie."""
    store = store.resolve()
    return store.with_name(f"{store.stem}-states")


def states(store: Path) -> Iterator[Path]:
    """All files of states, unfinished ones as well."""
    try:
        yield from states_folder(store).iterdir()
    except (FileNotFoundError, NotADirectoryError):
        return


def first_line(records: Collection[int]) -> bytes:
    """The line that names the records whose words a state holds, without its end."""
    return json.dumps({"records": sorted(records)}).encode()


def records_of(path: Path) -> set[int] | None:
    """The records whose words a state holds; None if the file does not say it."""
    try:
        with path.open("rb") as file:
            return set(map(int, json.loads(file.readline(_LONGEST_LINE))["records"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def sweep(db: Database) -> None:
    """Overwrite and delete the states that hold a text which is gone or put away, and
    those that do not say which texts they hold. Raises StoreError if one stays."""
    for path in states(path_of(db)):
        records = records_of(path)
        if records is None or not _all_in_use(db, records):
            _drop(path)


def drop_states(store: Path) -> None:
    """Overwrite and delete all states of a store; raises StoreError if one stays."""
    for path in states(store):
        _drop(path)


def _drop(path: Path) -> None:
    try:
        shred(path)
    except OSError as error:
        raise StoreError(
            f"{path} holds words of your letters as a model read them, and cannot be "
            f"deleted ({error.strerror}): delete it."
        ) from error


def _all_in_use(db: Database, records: Collection[int]) -> bool:
    sql = f"""SELECT count(*) FROM record
              WHERE {PRESENT} AND id IN (SELECT value FROM json_each(?))"""  # noqa: S608
    (found,) = db.execute(sql, [json.dumps(sorted(records))]).fetchone()
    return bool(found == len(records))


def path_of(db: Database) -> Path:
    """The file that a connection has open."""
    rows = db.execute("PRAGMA database_list").fetchall()
    return Path(next(file for _, name, file in rows if name == "main"))
