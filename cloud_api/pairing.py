"""The two routes over which a device is paired: open to all, for five tries a code."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from cloud_api.auth import Scope, make_token
from cloud_api.errors import PairingRefusedError, PeopleError, log_fault
from cloud_api.household import Household
from cloud_api.people import (
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
from decoding_core.errors import CloudBusyError
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


MOST_WAITING = 8
"""Requests that wait for another one's turn; each computes for some milliseconds and
waits for the disk, and nobody has shown a token yet."""

router = APIRouter()

Result = TypeVar("Result")
Hexadecimal = Annotated[str, Field(pattern="^[0-9a-f]*$", max_length=128)]


class PairBody(BaseModel):
    """The device's first message."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    number: int = Field(ge=1, lt=1 << 31)
    message: Hexadecimal


class ProofBody(BaseModel):
    """The device's second message."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    exchange: str = Field(max_length=64)
    proof: Hexadecimal


FIELD_NAMES = frozenset(PairBody.model_fields) | frozenset(ProofBody.model_fields)


class PairingQueue:
    """Pairs one device after the other: each computes, and waits for the disk."""

    def __init__(self, household: Household, fingerprint: str) -> None:
        self.household = household
        self.fingerprint = fingerprint
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """What a function gives that may wait for the disk.

        Raises:
            CloudBusyError: too many wait already.
            PairingRefusedError: as the function does.
            PeopleError: the file cannot be used, for which the answer has no words.
        """
        if self._waiting >= MOST_WAITING:
            raise CloudBusyError("other devices are being paired", 1.0)
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        except PeopleError:
            # Its words name files of the server, which strangers need not know.
            log_fault("pairing a device")
            raise
        finally:
            self._waiting -= 1


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise PairingRefusedError("this is no message of SPAKE2") from error


@router.post("/v1/pair")
async def pair(body: PairBody, request: Request) -> dict[str, Any]:
    """Begin to pair a device."""
    queue: PairingQueue = request.app.state.pairing
    message = _bytes(body.message)
    # In the clear there is no certificate that a proof could be bound to.
    fingerprint = queue.fingerprint if request.url.scheme == "https" else ""
    people = queue.household.people
    reply = await queue.in_turn(
        partial(begin, people, body.number, message, fingerprint)
    )
    return {
        "exchange": reply.exchange,
        "message": reply.message.hex(),
        "proof": reply.proof.hex(),
        "by_certificate": reply.by_certificate,
        "tries_left": reply.tries_left,
    }


@router.post("/v1/pair/proof")
async def prove(body: ProofBody, request: Request) -> dict[str, Any]:
    """Give a device that has proved itself its token."""
    queue: PairingQueue = request.app.state.pairing
    people, proof = queue.household.people, _bytes(body.proof)
    paired = await queue.in_turn(partial(finish, people, body.exchange, proof))
    return {
        "token": paired.token,
        "user": paired.user,
        "name": paired.name,
        "scopes": sorted(paired.scopes),
    }
