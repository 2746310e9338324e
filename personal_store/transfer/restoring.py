"""A store put back to what a backup holds, but for what was forgotten since."""

from pathlib import Path

from sqlite_utils import Database

from personal_store.database import keys
from personal_store.database.attaching import NAME, attached
from personal_store.database.connecting import connect_as_it_is
from personal_store.database.copies import backup_path
from personal_store.database.transactions import immediate
from personal_store.errors import StoreError
from personal_store.files.private_files import beside, part_of, put_in_place
from personal_store.lifecycle.forgetting import forgotten_among, take_out, tidy
from personal_store.search import derived

_ORDER = (
    *("identity", "stranger", "source", "import_run", "import_error"),
    *("record", "record_label", "raw"),
)


def restore(db: Database, path: Path, backup: Path) -> int:
    """Make the store what the backup is; how many of its texts stayed forgotten.

    All or nothing, and safe while other programs read: it is one transaction.
    """
    with attached(db, path, backup), immediate(db):
        derived.empty(db)
        for table in reversed(_ORDER):
            db.execute(f'DELETE FROM main."{table}"')  # noqa: S608
        for table in _ORDER:
            rows = db.execute(f'PRAGMA {NAME}.table_info("{table}")').fetchall()
            names = ", ".join(row[1] for row in rows)
            db.execute(
                f'INSERT INTO main."{table}"({names}) '  # noqa: S608
                f'SELECT {names} FROM {NAME}."{table}"'
            )
        join_tombstones(db)
        gone = forgotten_among(db)
        take_out(db, gone)
        derived.rebuild(db)
        derived.count_change(db)
    tidy(db, path)
    return len(gone)


def put_back(path: Path) -> Path:
    """Where the store itself cannot be opened any more: put its backup in its place.

    Returns where the damaged file went. Raises StoreError if there is no backup, or if
    that cannot be opened either, as where only the key is wrong.
    """
    backup = backup_path(path)
    if not backup.exists():
        raise StoreError(f"There is no backup of {path} to restore.")
    connect_as_it_is(backup, keys.in_keyring(path) or None).close()
    part = part_of(path)
    part.write_bytes(backup.read_bytes())
    damaged = path.with_name(f"{path.stem}-damaged{path.suffix}")
    path.replace(damaged)
    for file in beside(path):
        file.unlink(missing_ok=True)
    put_in_place(part, path)
    return damaged


def join_tombstones(db: Database) -> None:
    """The other store's marks beside ours, under its own secrets."""
    db.execute(
        f"""INSERT OR IGNORE INTO main.tombstone_key(secret)
            SELECT secret FROM {NAME}.tombstone_key ORDER BY id"""  # noqa: S608
    )
    db.execute(
        f"""INSERT OR IGNORE INTO main.tombstone(key_id, mark, of)
            SELECT mine.id, theirs.mark, theirs.of
            FROM {NAME}.tombstone AS theirs
            JOIN {NAME}.tombstone_key AS key ON key.id = theirs.key_id
            JOIN main.tombstone_key AS mine ON mine.secret = key.secret"""  # noqa: S608
    )
