"""The two routes over which a device is paired: open to all, for five tries a code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from cloud_api import logs
from cloud_api.errors import PairingRefusedError, PeopleError
from cloud_api.people import pairing
from cloud_api.people.household import Household
from decoding_core.errors import CloudBusyError

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
            logs.fault("pairing a device")
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
        partial(pairing.begin, people, body.number, message, fingerprint)
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
    paired = await queue.in_turn(partial(pairing.finish, people, body.exchange, proof))
    return {
        "token": paired.token,
        "user": paired.user,
        "name": paired.name,
        "scopes": sorted(paired.scopes),
    }
