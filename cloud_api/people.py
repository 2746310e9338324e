"""The people of the household, their devices and tokens; backup and restore."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from base.owner_only import write_whole
from cloud_api import database
from cloud_api.auth import FILE_NAME as TOKEN_FILE
from cloud_api.auth import OWNER, Scope, check_token, digest_of, make_token
from cloud_api.errors import PeopleError
from decoding_core.foreign_text import one_line

OWNER_NAME = OWNER.user  # the user whom the server makes at its first start
FILE_DEVICE = "this machine"
"""The name of the device whose token lies in a file beside the database."""
LONGEST_NAME = 64
_KEPT_REFUSALS = 200
"""Places from which refused tokens came that are remembered; the latest."""

Origin = Literal["file", "paired", "made"]
"""How a device got its token: from the token file, by a code, or shown to a person."""


@dataclass(frozen=True, slots=True)
class User:
    """A person of the household."""

    name: str
    created: int  # times are in whole seconds since 1970
    devices: int  # how many may connect


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a user, or another program that has a token of theirs."""

    id: str
    user: str
    name: str
    scopes: frozenset[Scope]
    origin: Origin
    created: int
    last_used: int | None
    expires: int | None
    revoked: int | None
    digest: bytes = field(repr=False)  # of its token

    def may_connect(self, now: float) -> bool:
        """Whether its token is good."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Tokens that were refused and came from one place."""

    place: str  # an address, or an IPv6 network
    device: Device | None  # whose old token it was; None if it was nobody's
    times: int
    first: int
    last: int


class People(AbstractContextManager["People"]):
    """The file of the household's people. Safe for several threads and processes.

    Every method raises PeopleError if the file cannot be used, or if a name is invalid,
    taken, unknown or ambiguous.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Open the file in `folder`, which is made if it is absent."""
        self.folder = folder
        self.clock = clock
        self._lock = threading.RLock()
        self._open()

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self.folder / database.FILE_NAME

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def follow(self) -> bool:
        """Open the file anew if another one has been put in its place; whether that
        was so."""
        with self._lock:
            try:
                found = self.path.stat()
            except OSError:
                return False  # what is open goes on
            if (found.st_dev, found.st_ino) == self._file:
                return False
            self._connection.close()
            self._open()
            return True

    def _open(self) -> None:
        self._connection = database.open_database(self.folder)
        found = self.path.stat()
        self._file = found.st_dev, found.st_ino

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def now(self) -> int:
        """The time, in whole seconds."""
        return int(self.clock())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self._lock, database.explained(self.path):
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction, all or nothing."""
        with self.reading() as connection, database.transaction(connection):
            yield connection

    def users(self) -> list[User]:
        """All users, by their names."""
        with self.reading() as connection:
            rows = connection.execute(
                """SELECT user.name, user.created, count(device.id)
                   FROM user LEFT JOIN device
                   ON user_id = user.id AND revoked IS NULL
                   GROUP BY user.id ORDER BY user.name"""
            )
            return [User(*row) for row in rows]

    def add_user(self, name: str) -> None:
        """Add a user."""
        check_name(name)
        with self.writing() as connection:
            if _user_id(connection, name) is not None:
                raise PeopleError(f"there is a user '{name}' already")
            _insert_user(connection, name, self.now)

    def rename_user(self, name: str, new: str) -> None:
        """Give a user another name."""
        check_name(new)
        with self.writing() as connection:
            user_id = known_user(connection, name)
            if new != name and _user_id(connection, new) is not None:
                raise PeopleError(f"there is a user '{new}' already")
            connection.execute("UPDATE user SET name = ? WHERE id = ?", (new, user_id))

    def remove_user(self, name: str) -> list[Device]:
        """Remove a user and all that is kept of their devices, whose tokens end; the
        devices that could connect."""
        with self.writing() as connection:
            user_id = known_user(connection, name)
            devices = select_devices(connection, "user_id = ?", (user_id,))
            theirs = "(SELECT id FROM device WHERE user_id = ?)"
            for statement in (
                f"DELETE FROM retired_token WHERE device_id IN {theirs}",  # noqa: S608
                f"DELETE FROM refusal WHERE device_id IN {theirs}",  # noqa: S608
                "DELETE FROM device WHERE user_id = ?",
                "DELETE FROM user WHERE id = ?",
            ):
                connection.execute(statement, (user_id,))
            if any(device.origin == "file" for device in devices):
                # First the file: nothing remembers its token, so it would be let in.
                (self.folder / TOKEN_FILE).unlink(missing_ok=True)
        return [device for device in devices if device.revoked is None]

    def devices(self, *, revoked: bool = False) -> list[Device]:
        """All devices by user and name, with those that were revoked if asked for."""
        with self.reading() as connection:
            return select_devices(connection, "1" if revoked else "revoked IS NULL")

    def device(self, name: str, user: str | None = None) -> Device:
        """The device of this name or id that is not revoked."""
        with self.reading() as connection:
            return _known_device(connection, name, user)

    def add_device(
        self,
        name: str,
        user: str = OWNER_NAME,
        scopes: Iterable[Scope] = (Scope.VERIFY,),
        expires: int | None = None,
    ) -> str:
        """Add a device with a token of its own, for a person to copy; the token."""
        check_name(name)
        token = make_token()
        with self.writing() as connection:
            user_id = known_user(connection, user)
            if holder(connection, user_id, name):
                raise PeopleError(
                    f"{user} has a device '{name}' already: choose another name, or "
                    "give it another token with 'specsteer-cloud devices rotate'"
                )
            insert_device(
                connection, token, user_id, name, scopes, "made", self.now, expires
            )
        return token

    def rename_device(self, name: str, new: str, user: str | None = None) -> None:
        """Give a device another name."""
        check_name(new)
        with self.writing() as connection:
            device = _known_device(connection, name, user)
            other = holder(connection, known_user(connection, device.user), new)
            if other is not None and other.id != device.id:
                raise PeopleError(f"{device.user} has a device '{new}' already")
            connection.execute(
                "UPDATE device SET name = ? WHERE id = ?", (new, device.id)
            )

    def revoke(self, name: str, user: str | None = None) -> Device:
        """Take a device's token back, for good; the device. Servers notice within a
        second and end its streams."""
        with self.writing() as connection:
            device = _known_device(connection, name, user)
            revoke_device(connection, device.id, self.now)
        if device.origin == "file":
            # Its next token is made at the next start that needs it.
            (self.folder / TOKEN_FILE).unlink(missing_ok=True)
        return device

    def rotate(self, name: str, user: str | None = None) -> tuple[Device, str]:
        """Give a device another token in place of its old one, which ends; the device
        and its token."""
        token = make_token()
        with self.writing() as connection:
            device = _known_device(connection, name, user)
            old = device.digest, device.id
            connection.execute("INSERT INTO retired_token VALUES (?, ?)", old)
            connection.execute(
                "UPDATE device SET token = ?, last_used = NULL WHERE id = ?",
                (digest_of(token), device.id),
            )
        if device.origin == "file":
            write_whole(self.folder / TOKEN_FILE, f"{token}\n".encode())
        return device, token

    def take_token(self, token: str) -> Device | None:
        """Let the token of the token file in, as that of the owner's own device on this
        machine; the device, or None if this token was revoked. The token that stood in
        the file before ends."""
        check_token(token)
        digest = digest_of(token)
        with self.writing() as connection:
            found = select_devices(connection, "token = ?", (digest,))
            if found:
                return found[0] if found[0].revoked is None else None
            retired = "SELECT 1 FROM retired_token WHERE token = ?"
            if connection.execute(retired, (digest,)).fetchone():
                return None
            connection.execute(
                """UPDATE device SET revoked = ?
                   WHERE origin = 'file' AND revoked IS NULL""",
                (self.now,),
            )
            user_id = _user_id(connection, OWNER_NAME)
            user_id = user_id or _insert_user(connection, OWNER_NAME, self.now)
            name, number = FILE_DEVICE, 1
            while holder(connection, user_id, name):
                number += 1
                name = f"{FILE_DEVICE} {number}"
            return insert_device(
                connection, token, user_id, name, Scope, "file", self.now, None
            )

    def certificate(self, make: Callable[[], tuple[str, str]]) -> tuple[str, str]:
        """The server's own certificate and key as PEM, and its fingerprint; `make` is
        called once, by whichever process asks first."""
        with self.writing() as connection:
            select = "SELECT pem, fingerprint FROM certificate"
            found: tuple[str, str] | None = connection.execute(select).fetchone()
            if found is None:
                found = make()
                connection.execute(
                    "INSERT INTO certificate VALUES (1, ?, ?, ?)", (*found, self.now)
                )
        return found

    def listens(self, url: str, fingerprint: str) -> None:
        """Note where a server listens, and its certificate, for codes."""
        noted = "INSERT OR REPLACE INTO listening VALUES (?, ?, ?)"
        with self.writing() as connection:
            connection.execute(noted, (url, fingerprint, self.now))

    def listens_no_more(self, url: str) -> None:
        """Note that a server has ended."""
        with self.writing() as connection:
            connection.execute("DELETE FROM listening WHERE url = ?", (url,))

    def listening(self) -> list[tuple[str, str]]:
        """Address and fingerprint of each server, the last that began first. One that
        was killed may be among them."""
        with self.reading() as connection:
            return connection.execute(
                "SELECT url, fingerprint FROM listening ORDER BY since DESC, url"
            ).fetchall()

    def note(
        self,
        last_used: Mapping[str, int] | None = None,
        refused: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        """Note when devices, by their ids, last showed their tokens; add to the refused
        tokens, by place and id of the device (empty if it was nobody's)."""
        now, used, counts = self.now, last_used or {}, refused or {}
        with self.writing() as connection:
            connection.executemany(
                """UPDATE device SET last_used = max(coalesce(last_used, 0), ?)
                   WHERE id = ?""",
                [(when, device_id) for device_id, when in used.items()],
            )
            connection.executemany(
                """INSERT INTO refusal VALUES (?, ?, ?, ?, ?)
                   ON CONFLICT DO UPDATE SET times = times + excluded.times,
                   last = excluded.last""",
                [(*key, times, now, now) for key, times in counts.items()],
            )
            connection.execute(
                """DELETE FROM refusal WHERE (place, device_id) IN (
                   SELECT place, device_id FROM refusal
                   ORDER BY last DESC, place LIMIT -1 OFFSET ?)""",
                (_KEPT_REFUSALS,),
            )

    def refusals(self) -> list[Refusal]:
        """Where refused tokens came from, the latest first."""
        with self.reading() as connection:
            devices = {one.id: one for one in select_devices(connection, "1")}
            rows = connection.execute(
                "SELECT place, device_id, times, first, last FROM refusal"
                " ORDER BY last DESC, place"
            )
            return [
                Refusal(place, devices.get(device_id), *rest)
                for place, device_id, *rest in rows
            ]

    def forget_refusals(self) -> None:
        """Begin to count refused tokens anew."""
        with self.writing() as connection:
            connection.execute("DELETE FROM refusal")


def shown_time(seconds: int | None) -> str:
    """A time, to the minute, in the zone of this machine; None: "never"."""
    if seconds is None:
        return "never"
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"


def check_name(name: str) -> str:
    """`name`, if it is one for a user or device; raises PeopleError."""
    shown = one_line(name).strip()
    if not name or name != shown or len(name) > LONGEST_NAME or name.startswith("-"):
        raise PeopleError(
            f"'{shown[:80]}' is no name: one has 1 to {LONGEST_NAME} characters on one "
            "line, no space at its ends, and begins with no hyphen"
        )
    return name


def insert_device(
    connection: sqlite3.Connection,
    token: str,
    user_id: int,
    name: str,
    scopes: Iterable[Scope],
    origin: Origin,
    now: int,
    expires: int | None,
) -> Device:
    """Add a device."""
    device_id, digest = secrets.token_hex(4), digest_of(token)
    connection.execute(
        "INSERT INTO device VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, NULL)",
        (device_id, user_id, name, digest, words_of(scopes), origin, now, expires),
    )
    return select_devices(connection, "device.id = ?", (device_id,))[0]


def revoke_device(connection: sqlite3.Connection, device_id: str, now: int) -> None:
    """Take a device's token back."""
    connection.execute("UPDATE device SET revoked = ? WHERE id = ?", (now, device_id))


def words_of(scopes: Iterable[Scope]) -> str:
    """Scopes as they are kept and shown."""
    return " ".join(sorted(scopes))


def scopes_of(words: str) -> frozenset[Scope]:
    """The scopes that were kept."""
    return frozenset(map(Scope, words.split()))


def select_devices(
    connection: sqlite3.Connection, where: str, values: tuple[object, ...] = ()
) -> list[Device]:
    """The devices for which `where` holds."""
    rows = connection.execute(
        f"""SELECT device.id, user.name, device.name, scopes, origin,
            device.created, last_used, expires, revoked, token
            FROM device JOIN user ON user.id = user_id
            WHERE {where} ORDER BY user.name, device.name, device.created""",  # noqa: S608
        values,
    )
    return [
        Device(device_id, user, name, scopes_of(scopes), *rest)
        for device_id, user, name, scopes, *rest in rows
    ]


def _user_id(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute("SELECT id FROM user WHERE name = ?", (name,)).fetchone()
    return None if row is None else int(row[0])


def _insert_user(connection: sqlite3.Connection, name: str, now: int) -> int:
    done = connection.execute(
        "INSERT INTO user(name, created) VALUES (?, ?)", (name, now)
    )
    return int(done.lastrowid or 0)


def holder(connection: sqlite3.Connection, user_id: int, name: str) -> Device | None:
    """The device of a user that has this name and is not revoked."""
    where = "user_id = ? AND device.name = ? AND revoked IS NULL"
    found = select_devices(connection, where, (user_id, name))
    return found[0] if found else None


def known_user(connection: sqlite3.Connection, name: str) -> int:
    """The id of a user; raises PeopleError if there is none of that name."""
    user_id = _user_id(connection, name)
    if user_id is None:
        raise PeopleError(
            f"there is no user '{one_line(name)}'; 'specsteer-cloud users' lists them"
        )
    return user_id


def _known_device(
    connection: sqlite3.Connection, name: str, user: str | None
) -> Device:
    where, values = "(device.name = ?1 OR device.id = ?1) AND revoked IS NULL", (name,)
    found = select_devices(connection, where, values)
    if user is not None:
        known_user(connection, user)
        found = [device for device in found if device.user == user]
    if not found:
        raise PeopleError(
            f"there is no device '{one_line(name)}'; 'specsteer-cloud devices' lists "
            "them"
        )
    if len(found) > 1:
        users = ", ".join(device.user for device in found)
        raise PeopleError(
            f"several users have a device '{name}' ({users}): say whose with --user"
        )
    return found[0]


BEFORE_NAME = "people-before-restore.db"
DAMAGED_NAME = "people-damaged.db"
_TABLES = "user", "device", "retired_token", "certificate"
"""In the order in which rows refer to each other. Codes are not restored."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did."""

    users: int
    devices: int  # that may connect now
    stayed_revoked: int
    """Whose tokens are good in the copy, and were revoked after it was made."""
    other_certificate: bool
    """Whether running servers show another certificate than that of the copy."""
    kept: Path  # where the file went that was there before


def back_up(people: People, target: Path) -> None:
    """Put a copy in place of `target`, whole or not at all; raises PeopleError."""
    try:
        with people.reading() as connection:
            database.write_copy(connection, target)
    except OSError as error:
        raise PeopleError(f"{target} cannot be written: {error.strerror}") from error


def restore_backup(folder: Path, backup: Path) -> Restored:
    """Make the file of the people in `folder` what a copy of it is, but for tokens that
    were revoked since: those stay so, and those that were changed since stay changed.
    What is there is kept beside it. Servers go on meanwhile, and let in whom the copy
    lets in. A damaged file is put away whole. Raises PeopleError for a copy that is
    invalid or of a newer version, and OSError for a file that cannot be written."""
    with _checked(folder, backup) as checked:
        kept = folder / BEFORE_NAME
        try:
            people = People(folder)
            back_up(people, kept)
        except PeopleError:
            path, kept = folder / database.FILE_NAME, folder / DAMAGED_NAME
            path.replace(kept)
            for end in ("-wal", "-shm"):
                path.with_name(path.name + end).unlink(missing_ok=True)
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
    """A sound copy of the backup, which is only read, for the block; raises
    PeopleError."""
    with tempfile.TemporaryDirectory(prefix="restoring-", dir=folder) as scratch:
        part = Path(scratch) / database.FILE_NAME
        try:
            shutil.copyfile(backup, part)
        except OSError as error:
            raise PeopleError(f"{backup} cannot be read: {error.strerror}") from error
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
        try:
            with closing(database.connect(part)) as connection:
                (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
                there = {row[0] for row in connection.execute(tables)}
            if sound != "ok" or not there.issuperset(_TABLES):
                raise sqlite3.DatabaseError("not whole")
            database.open_database(Path(scratch)).close()
        except sqlite3.Error as error:
            raise PeopleError(
                f"{backup} is no whole backup of a household's people; "
                "'specsteer-cloud backup' makes one"
            ) from error
        yield part


def _take_over(people: People, checked: Path) -> tuple[int, bool]:
    """Replace all rows by those of a copy, at once; how many tokens stayed revoked, and
    whether the certificate is another one. Raises PeopleError."""
    certificate = "SELECT fingerprint FROM main.certificate"
    with people.reading() as connection:
        connection.execute("ATTACH ? AS copy", (str(checked),))
        try:
            with database.transaction(connection):
                revoked = connection.execute(
                    "SELECT token FROM main.device WHERE revoked IS NOT NULL"
                ).fetchall()
                changed = connection.execute(
                    """SELECT device.token, old.token FROM main.retired_token old
                       JOIN main.device ON device.id = old.device_id
                       WHERE revoked IS NULL"""
                ).fetchall()
                shown = connection.execute(certificate).fetchall()
                for table in reversed(_TABLES):
                    connection.execute(f"DELETE FROM main.{table}")  # noqa: S608
                for table in _TABLES:
                    connection.execute(
                        f"INSERT INTO main.{table} SELECT * FROM copy.{table}"  # noqa: S608
                    )
                stayed = connection.executemany(
                    """UPDATE main.device SET revoked = ?
                       WHERE revoked IS NULL AND token = ?""",
                    [(people.now, token) for (token,) in revoked],
                ).rowcount
                connection.executemany(
                    "UPDATE main.device SET token = ? WHERE token = ?", changed
                )
                connection.executemany(
                    """INSERT OR IGNORE INTO main.retired_token
                       SELECT ?2, id FROM main.device WHERE token = ?1""",
                    changed,
                )
                restored = connection.execute(certificate).fetchall()
                return stayed, bool(shown) and shown != restored
        finally:
            connection.execute("DETACH copy")
