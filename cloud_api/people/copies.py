"""Copies of the file of the people: made on request, and put back."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cloud_api.auth.tokens import FILE_NAME as TOKEN_FILE
from cloud_api.errors import PeopleError
from cloud_api.people import database
from cloud_api.people.people import People

BEFORE_NAME = "people-before-restore.db"
DAMAGED_NAME = "people-damaged.db"
_TABLES = "user", "device", "retired_token", "certificate"
"""In the order in which rows refer to each other. Codes are not restored."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did."""

    users: int
    devices: int
    """That may connect now."""
    stayed_revoked: int
    """Whose tokens are good in the copy, and were revoked after it was made."""
    other_certificate: bool
    """Whether running servers show another certificate than that of the copy."""
    kept: Path
    """Where the file went that was there before."""


def back_up(people: People, target: Path) -> None:
    """Put a copy in place of `target`, whole or not at all; raises PeopleError."""
    with people.reading() as connection:
        try:
            database.write_copy(connection, target)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PeopleError(f"{target} cannot be written: {reason}") from error


def restore(folder: Path, backup: Path) -> Restored:
    """Make the file of the people in `folder` what a copy of it is, but for tokens that
    were revoked since: those stay so, and those that were changed since stay changed.
    What is there is kept beside it. Servers go on meanwhile, and let in whom the copy
    lets in. A file that cannot be opened any more is put away whole.

    Raises:
        PeopleError: the copy is none, or of a newer version, or nothing can be written.
    """
    with _checked(folder, backup) as checked:
        kept = folder / BEFORE_NAME
        try:
            people = People(folder)
            back_up(people, kept)
        except PeopleError:
            kept = folder / DAMAGED_NAME
            _put_away(folder, kept)
            people = People(folder)
        with people:
            stayed, other = _take_over(people, checked)
            token_file = folder / TOKEN_FILE
            if token_file.exists():
                people.take_token(token_file.read_text("utf-8", "replace").strip())
            may = [one for one in people.devices() if one.may_connect(people.now)]
            return Restored(len(people.users()), len(may), stayed, other, kept)


@contextmanager
def _checked(folder: Path, backup: Path) -> Iterator[Path]:
    """A copy of the copy that is whole and at the newest schema, for the block; the
    file that was given is only read. Raises PeopleError."""
    with tempfile.TemporaryDirectory(prefix="restoring-", dir=folder) as scratch:
        part = Path(scratch) / database.FILE_NAME
        try:
            shutil.copyfile(backup, part)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PeopleError(f"{backup} cannot be read: {reason}") from error
        try:
            with closing(database.connect(part)) as connection:
                (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
                there = {row[0] for row in connection.execute(_NAMES)}
            if sound != "ok" or not there.issuperset(_TABLES):
                raise sqlite3.DatabaseError("not whole")
            database.open_database(Path(scratch)).close()
        except sqlite3.Error as error:
            raise PeopleError(
                f"{backup} is no whole backup of a household's people; "
                "'specsteer-cloud backup' makes one"
            ) from error
        yield part


_CERTIFICATE = "SELECT fingerprint FROM main.certificate"
_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def _put_away(folder: Path, kept: Path) -> None:
    """Give a file that cannot be opened another name; raises PeopleError where that
    cannot be done."""
    path = folder / database.FILE_NAME
    try:
        path.replace(kept)
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PeopleError(f"{path} cannot be put away: {reason}") from error


def _take_over(people: People, checked: Path) -> tuple[int, bool]:
    """Put the rows of a copy in the place of all rows, at once; how many tokens stayed
    revoked, and whether the certificate is another one. Raises PeopleError."""
    with people.reading() as connection:
        connection.execute("ATTACH ? AS copy", (str(checked),))
        try:
            with database.transaction(connection):
                connection.execute(
                    """CREATE TEMP TABLE revoked AS
                       SELECT token FROM main.device WHERE revoked IS NOT NULL"""
                )
                connection.execute(
                    """CREATE TEMP TABLE changed AS
                       SELECT old.token, device.token AS now FROM main.retired_token old
                       JOIN main.device ON device.id = old.device_id
                       WHERE revoked IS NULL"""
                )
                shown = connection.execute(_CERTIFICATE).fetchall()
                for table in reversed(_TABLES):
                    connection.execute(f"DELETE FROM main.{table}")  # noqa: S608
                for table in _TABLES:
                    connection.execute(
                        f"INSERT INTO main.{table} SELECT * FROM copy.{table}"  # noqa: S608
                    )
                stayed = connection.execute(
                    """UPDATE main.device SET revoked = ? WHERE revoked IS NULL
                       AND token IN (SELECT token FROM temp.revoked)""",
                    (people.now,),
                ).rowcount
                for old, now in connection.execute(
                    "SELECT token, now FROM temp.changed"
                ).fetchall():
                    done = connection.execute(
                        "UPDATE main.device SET token = ? WHERE token = ?", (now, old)
                    )
                    if done.rowcount:
                        connection.execute(
                            "INSERT OR IGNORE INTO main.retired_token"
                            " SELECT ?, id FROM main.device WHERE token = ?",
                            (old, now),
                        )
                connection.execute("DROP TABLE temp.revoked")
                connection.execute("DROP TABLE temp.changed")
                restored = connection.execute(_CERTIFICATE).fetchall()
                return stayed, bool(shown) and shown != restored
        finally:
            connection.execute("DETACH copy")
