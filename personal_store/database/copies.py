"""The backup of a store: one file beside it, made with VACUUM INTO.

Such a copy holds the rows there are, and nothing of those that were deleted. One is
kept at most. It is made on request, and again after texts were forgotten, as the old
one still held them.
"""

from datetime import UTC, datetime
from pathlib import Path

from sqlite_utils import Database

from personal_store.files.private_files import need_room, part_of, put_in_place, shred


def backup_path(path: Path) -> Path:
    """Where the backup of a store lies."""
    return path.with_name(f"{path.stem}-backup{path.suffix}")


def back_up(db: Database, path: Path) -> Path:
    """Copy the store as it is now, in place of the backup there was. Encrypted stores
    have encrypted backups."""
    need_room(path, 1, "for a backup")
    part = part_of(backup_path(path))
    try:
        db.execute("VACUUM INTO ?", [str(part)])
        put_in_place(part, backup_path(path))
    finally:
        shred(part)
    return backup_path(path)


def renew_backup(db: Database, path: Path) -> None:
    """After something was forgotten: a backup, if there is one, must not hold it."""
    if backup_path(path).exists():
        back_up(db, path)


def drop_backup(path: Path) -> bool:
    """Overwrite and remove the backup; whether there was one."""
    there = backup_path(path).exists()
    shred(backup_path(path))
    return there


def made_at(path: Path) -> datetime | None:
    """When the backup of a store was made; None if there is none."""
    try:
        seconds = backup_path(path).stat().st_mtime
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(seconds, UTC)
