"""Tokens: who shows one, and what it is good for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from base.owner_only import close_to_others, create
from decoding_core.errors import InvalidSettingsError


class Scope(StrEnum):
    """What a token is good for."""

    VERIFY = "verify"  # to open sessions and have drafts verified
    OPENAI = "openai"
    """To have the generalist alone write, as other programs ask for it."""
    STATUS = "status"  # to see how the server is, with nothing of what is written


@dataclass(frozen=True, slots=True)
class Caller:
    """A device of a user."""

    user: str
    device: str  # the id of the device, not its name
    scopes: frozenset[Scope]


OWNER = Caller("owner", "owner", frozenset(Scope))
"""Whoever shows the one token of a server that was started with it."""


class Authority(Protocol):
    """Decides which tokens are good."""

    def caller(self, token: str) -> Caller | None:
        """The device whose token this is; None if it is unknown or has ended."""
        ...

    def refuse(self, token: str, place: str) -> float:
        """Count a wrong token from an address or network; by how many seconds to delay
        the answer."""
        ...


class OneToken:
    """The authority of a server that has one token for all."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def caller(self, token: str) -> Caller | None:
        """The owner, if the token is right; compared in constant time."""
        right = hmac.compare_digest(token.encode("utf-8"), self._token)
        return OWNER if right else None

    def refuse(self, token: str, place: str) -> float:  # noqa: ARG002
        """Count nothing, and delay nothing."""
        return 0.0


FILE_NAME = "cloud-token"
PREFIX = "specsteer_"
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_DIGITS = 43  # 62 ** 43 is a little more than 256 bits
_CHECK_DIGITS = 6


def make_token() -> str:
    """A new token: a prefix and a checksum, by which secret scanners know it, around
    256 random bits, all in base 62, so that a double click selects the whole."""
    random = "".join(secrets.choice(_DIGITS) for _ in range(_RANDOM_DIGITS))
    return PREFIX + random + _checksum(random)


def digest_of(token: str) -> bytes:
    """The SHA-256 of a token, which is kept in its place. A token is too long to be
    guessed, so a slow hash would only let anybody keep the server busy."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _checksum(random: str) -> str:
    """The CRC-32 of `random` as 6 digits of base 62."""
    rest, digits = zlib.crc32(random.encode()), ""
    for _ in range(_CHECK_DIGITS):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def check_token(token: str) -> str:
    """`token`, if a header can carry it; raises InvalidSettingsError if it is empty or
    holds other than printable ASCII."""
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise InvalidSettingsError(
            "the token must be printable ASCII without spaces, and not empty"
        )
    return token


def stored_token(folder: Path) -> str:
    """The token kept in `folder`, made there on the first call, readable by its owner
    alone."""
    path = folder / FILE_NAME
    if not path.exists():
        # Linked whole, unless another process was faster: nobody reads half a token.
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            with create(draft) as file:
                file.write(f"{make_token()}\n".encode())
            try:
                path.hardlink_to(draft)
            except FileExistsError:
                pass
            except (NotImplementedError, OSError):  # Android has no hard links
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    close_to_others(path)
    return check_token(path.read_text("utf-8").strip())


def shown_token(authorization: str) -> str:
    """The token in the value of an Authorization header; empty if it holds none."""
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
