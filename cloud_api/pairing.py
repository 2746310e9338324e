"""Codes that let a device in, and the two routes over which it is paired. They are open
to all, for five tries a code."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from cloud_api.auth import Scope, make_token
from cloud_api.errors import PairingRefusedError, PeopleError, log_fault
from cloud_api.people import (
    OWNER_NAME,
    Device,
    People,
    check_name,
    holder,
    insert_device,
    known_user,
    revoke_device,
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
_REMEMBERED_SECONDS = 86_400  # how long an ended code is kept, to say what became of it
_ANOTHER = "have 'specsteer-cloud pair' show another"


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
    words, expires = words_of(scopes), people.now + LIFETIME_SECONDS
    with people.writing() as connection:
        connection.execute(
            "DELETE FROM pairing WHERE expires < ?", (people.now - _REMEMBERED_SECONDS,)
        )
        user_id = known_user(connection, user)
        done = connection.execute(
            """INSERT INTO pairing(user_id, name, scopes, token_expires, secret,
               own_certificate, expires) VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (user_id, name, words, token_expires, secret, by_certificate, expires),
        )
        before = holder(connection, user_id, name)
        return Code(int(done.lastrowid or 0), secret), before


def begin(
    people: People, number: int, message: bytes, fingerprint: str
) -> dict[str, Any]:
    """Answer a device that begins SPAKE2 over the code of this number; `fingerprint` is
    that of the certificate that this server shows, empty if the request came in the
    clear. The answer names the exchange, for the second message, and says whether both
    proofs are bound to that certificate; else an authority vouches for it. Raises
    PairingRefusedError if the code is not good or the message invalid, and PeopleError
    if the file cannot be used."""
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
            raise _refusal(connection, number, people.now)
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
    return {
        "exchange": exchange,
        "message": reply.hex(),
        "proof": server_proof(key, binding).hex(),
        "by_certificate": bool(by_certificate),
        "tries_left": TRIES - tries,
    }


def finish(people: People, exchange: str, proof: bytes) -> dict[str, Any]:
    """Let the device in that has proved itself; its code is good no more, and neither
    is the token of a device that had its name. Raises PairingRefusedError if the proof
    is wrong or the code not good any more, and PeopleError if the file cannot be used.
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
            raise _refusal(connection, number, people.now)
        user_id, name, scopes, expires = used
        connection.execute("DELETE FROM exchange WHERE pairing_id = ?", (number,))
        before = holder(connection, user_id, name)
        if before is not None:
            revoke_device(connection, before.id, people.now)
        known = scopes_of(scopes)
        device = insert_device(
            connection, token, user_id, name, known, "paired", people.now, expires
        )
    return {"token": token, "user": device.user, "name": name, "scopes": sorted(known)}


_STATE = """SELECT CASE WHEN used IS NOT NULL THEN 'used' WHEN expires <= ?
            THEN 'expired' WHEN tries >= ? THEN 'tried too often' ELSE 'open' END
            FROM pairing WHERE id = ?"""
_REFUSALS = {
    "": "there is no code number {number}: look at it again, or {another}",
    "used": "this code was used already; if it was not you who used it, "
    "'specsteer-cloud devices' shows the device, and 'devices revoke' shuts it out; "
    "{another}",
    "expired": "this code has expired, as codes do after ten minutes: {another}",
    "tried too often": "this code was tried {tries} times in vain and is good no more: "
    "{another}",
}


def state_of(people: People, number: int) -> str:
    """What became of a code: "open", "used", "expired" or "tried too often"; raises
    PeopleError."""
    with people.reading() as connection:
        return _state_of(connection, number, people.now) or "expired"


def _state_of(connection: sqlite3.Connection, number: int, now: int) -> str:
    """The state of a code; empty if there is none of this number."""
    row = connection.execute(_STATE, (now, TRIES, number)).fetchone()
    return str(row[0]) if row else ""


def _refusal(
    connection: sqlite3.Connection, number: int, now: int
) -> PairingRefusedError:
    """The error that says why a code is not good."""
    words = _REFUSALS[_state_of(connection, number, now)]
    return PairingRefusedError(
        words.format(number=number, tries=TRIES, another=_ANOTHER)
    )


MOST_WAITING = 8
"""How many requests wait for their turn; none of them has shown a token."""

router = APIRouter()

Result = TypeVar("Result")
Hexadecimal = Annotated[str, Field(pattern="^([0-9a-f]{2})*$", max_length=128)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class PairBody(_Body):
    """The device's first message."""

    number: int = Field(ge=1, lt=1 << 31)
    message: Hexadecimal


class ProofBody(_Body):
    """The device's second message."""

    exchange: str = Field(max_length=64)
    proof: Hexadecimal


FIELD_NAMES = frozenset(PairBody.model_fields) | frozenset(ProofBody.model_fields)


class PairingQueue:
    """Pairs one device after another: each computes, and waits for the disk."""

    def __init__(self, people: People, fingerprint: str) -> None:
        self.people = people
        self.fingerprint = fingerprint
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """The result of a function that may wait for the disk; raises what it raises,
        and CloudBusyError if too many wait already."""
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


@router.post("/v1/pair")
async def pair(body: PairBody, request: Request) -> dict[str, Any]:
    """Begin to pair a device."""
    queue: PairingQueue = request.app.state.pairing
    message, people = bytes.fromhex(body.message), queue.people
    # In the clear there is no certificate that a proof could be bound to.
    shown = queue.fingerprint if request.url.scheme == "https" else ""
    return await queue.in_turn(lambda: begin(people, body.number, message, shown))


@router.post("/v1/pair/proof")
async def prove(body: ProofBody, request: Request) -> dict[str, Any]:
    """Give a device that has proved itself its token."""
    queue: PairingQueue = request.app.state.pairing
    people, proof = queue.people, bytes.fromhex(body.proof)
    return await queue.in_turn(lambda: finish(people, body.exchange, proof))
