"""Who asks: a device of a person, by the token that it shows, and what it may ask."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Scope(StrEnum):
    """What a token may be used for."""

    VERIFY = "verify"
    """To open sessions and have drafts verified."""
    OPENAI = "openai"
    """To have the generalist alone write, as other programs ask for it."""
    STATUS = "status"
    """To see how the server is, with nothing of what is written."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A device of a user."""

    user: str
    device: str
    """Its id, not the name that a person gave it."""
    scopes: frozenset[Scope]


OWNER = Caller("owner", "owner", frozenset(Scope))
"""Whoever shows the one token of a server that was started with it."""


class Authority(Protocol):
    """Knows the tokens of the household."""

    def caller(self, token: str) -> Caller | None:
        """Who shows this token; None: nobody that is known, or not any more."""
        ...

    def refuse(self, token: str, place: str) -> float:
        """Count a token that was shown in vain, from an address or network; for how
        many seconds to leave it without an answer."""
        ...


class OneToken:
    """The authority of a server that has one token for all."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def caller(self, token: str) -> Caller | None:
        """The owner, where the token is right; compared in constant time."""
        right = hmac.compare_digest(token.encode("utf-8"), self._token)
        return OWNER if right else None

    def refuse(self, token: str, place: str) -> float:  # noqa: ARG002
        """Nobody is told of it, and nobody waits."""
        return 0.0
