"""Codes for pairing: shown once, good for ten minutes, once, and for five tries.

Device and server exchange two messages each. In the first the device says which code it
means and begins SPAKE2; the server counts a try, whatever comes of it, and answers with
its own part and its proof. In the second the device proves itself and is given its
token. What the server must remember between the two lies in the file, so that they may
come to different processes of one household. See `decoding_core.pairing`.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cloud_api.auth.tokens import make_token
from cloud_api.callers import Scope
from cloud_api.errors import PairingRefusedError
from cloud_api.people.people import (
    OWNER_NAME,
    Device,
    People,
    check_name,
    insert_device,
    known_user,
    revoke_device,
    rows_of_devices,
    scopes_of,
    words_of,
)
from decoding_core.pairing import (
    DEVICE,
    SERVER,
    Code,
    binding_of,
    device_proof,
    make_secret,
    server_proof,
)

LIFETIME_SECONDS = 600
TRIES = 5
_REMEMBERED_SECONDS = 86_400
"""How long a code that is good no more is known, to say what became of it."""
_ANOTHER = "have 'specsteer-cloud pair' show another"


@dataclass(frozen=True, slots=True)
class Reply:
    """The server's part of SPAKE2."""

    exchange: str
    """What the device names it by in its second message."""
    message: bytes
    proof: bytes
    by_certificate: bool
    """Whether both proofs are bound to the certificate that this server shows; else an
    authority vouches for the one that the device sees."""
    tries_left: int


@dataclass(frozen=True, slots=True)
class Paired:
    """What a device is given when it is paired."""

    token: str
    user: str
    name: str
    scopes: frozenset[Scope]


def offer(
    people: People,
    name: str,
    user: str = OWNER_NAME,
    scopes: Iterable[Scope] = (Scope.VERIFY,),
    token_expires: int | None = None,
    *,
    by_certificate: bool = True,
) -> tuple[Code, Device | None]:
    """A code that lets a device of this name in, and the device that has the name now,
    whose token ends when the code is used. Raises PeopleError."""
    check_name(name)
    secret = make_secret()
    with people.writing() as connection:
        connection.execute(
            "DELETE FROM pairing WHERE expires < ?", (people.now - _REMEMBERED_SECONDS,)
        )
        user_id = known_user(connection, user)
        done = connection.execute(
            """INSERT INTO pairing(user_id, name, scopes, token_expires, secret,
               own_certificate, expires) VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (
                user_id,
                name,
                words_of(scopes),
                token_expires,
                secret,
                by_certificate,
                people.now + LIFETIME_SECONDS,
            ),
        )
        return Code(int(done.lastrowid or 0), secret), _holder(
            connection, user_id, name
        )


def begin(people: People, number: int, message: bytes, fingerprint: str) -> Reply:
    """Answer a device that begins SPAKE2 over the code of this number; `fingerprint` is
    that of the certificate that this server shows, empty where the request came in the
    clear.

    Raises:
        PairingRefusedError: the code is not good, or the message is none.
        PeopleError: the file cannot be used.
    """
    # Pure Python, with tables that take a moment to load: for those who pair alone.
    import spake2

    with people.writing() as connection:
        row = connection.execute(
            """UPDATE pairing SET tries = tries + 1 WHERE id = ? AND used IS NULL
               AND expires > ? AND tries < ?
               RETURNING secret, own_certificate, tries""",
            (number, people.now, TRIES),
        ).fetchone()
        if row is None:
            raise PairingRefusedError(_why_not(connection, number, people.now))
    secret, by_certificate, tries = row
    if by_certificate and not fingerprint:
        raise PairingRefusedError(
            "pairing goes over TLS: give the address that begins with https"
        )
    library: Any = spake2  # without types
    side = library.SPAKE2_B(Code(number, secret).password, idA=DEVICE, idB=SERVER)
    reply = side.start()
    try:
        key = side.finish(message)
    except Exception as error:  # whatever the library makes of such bytes
        raise PairingRefusedError("this is no message of SPAKE2") from error
    binding = binding_of(fingerprint if by_certificate else "")
    exchange = secrets.token_urlsafe(16)
    with people.writing() as connection:
        connection.execute(
            "INSERT INTO exchange VALUES (?, ?, ?)",
            (exchange, number, device_proof(key, binding)),
        )
    return Reply(
        exchange,
        reply,
        server_proof(key, binding),
        bool(by_certificate),
        TRIES - tries,
    )


def finish(people: People, exchange: str, proof: bytes) -> Paired:
    """Let the device in that has proved itself; its code is good no more, and neither
    is the token of a device that had its name.

    Raises:
        PairingRefusedError: the proof is wrong, or the code not good any more.
        PeopleError: the file cannot be used.
    """
    token = make_token()
    with people.writing() as connection:
        row = connection.execute(
            """SELECT pairing.id, proof FROM exchange
               JOIN pairing ON pairing.id = pairing_id WHERE exchange.id = ?""",
            (exchange,),
        ).fetchone()
        if row is None:
            raise PairingRefusedError(f"nothing is known of this pairing: {_ANOTHER}")
        number, expected = row
        right = hmac.compare_digest(proof, expected)
        if not right:
            # Else this message could be tried for ever.
            connection.execute("DELETE FROM exchange WHERE id = ?", (exchange,))
    if not right:
        raise PairingRefusedError("the code is wrong, or the certificate another")
    with people.writing() as connection:
        used = connection.execute(
            """UPDATE pairing SET used = ?1, secret = '' WHERE id = ?2
               AND used IS NULL AND expires > ?1
               RETURNING user_id, name, scopes, token_expires""",
            (people.now, number),
        ).fetchone()
        if used is None:
            raise PairingRefusedError(_why_not(connection, number, people.now))
        user_id, name, scopes, expires = used
        connection.execute("DELETE FROM exchange WHERE pairing_id = ?", (number,))
        before = _holder(connection, user_id, name)
        if before is not None:
            revoke_device(connection, before.id, people.now)
        known = scopes_of(scopes)
        insert_device(
            connection, token, user_id, name, known, "paired", people.now, expires
        )
        device = _holder(connection, user_id, name)
        assert device is not None
        return Paired(token, device.user, name, known)


def state_of(people: People, number: int) -> str:
    """What became of a code: "open", "used", "expired" or "tried too often"; raises
    PeopleError."""
    with people.reading() as connection:
        row = connection.execute(
            "SELECT used, expires, tries FROM pairing WHERE id = ?", (number,)
        ).fetchone()
    if row is None or row[1] <= people.now:
        return "used" if row and row[0] is not None else "expired"
    if row[0] is not None:
        return "used"
    return "tried too often" if row[2] >= TRIES else "open"


def _why_not(connection: sqlite3.Connection, number: int, now: int) -> str:
    """Why a code is not good."""
    row = connection.execute(
        "SELECT used, expires FROM pairing WHERE id = ?", (number,)
    ).fetchone()
    if row is None:
        return f"there is no code number {number}: look at it again, or {_ANOTHER}"
    if row[0] is not None:
        return (
            "this code was used already; if it was not you who used it, "
            "'specsteer-cloud devices' shows the device, and 'devices revoke' shuts it "
            f"out; {_ANOTHER}"
        )
    if row[1] <= now:
        return f"this code has expired, as codes do after ten minutes: {_ANOTHER}"
    return f"this code was tried {TRIES} times in vain and is good no more: {_ANOTHER}"


def _holder(connection: sqlite3.Connection, user_id: int, name: str) -> Device | None:
    """The device of a user that has this name and is not revoked."""
    where = "user_id = ? AND device.name = ? AND revoked IS NULL"
    found = rows_of_devices(connection, where, (user_id, name))
    return found[0][1] if found else None
