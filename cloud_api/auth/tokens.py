"""The bearer token: given, or made once and kept in a file."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from decoding_core.errors import InvalidSettingsError

FILE_NAME = "cloud-token"
_PREFIX = "specsteer_"


def make_token() -> str:
    """A new token of 256 random bits; its prefix lets secret scanners find it."""
    return _PREFIX + secrets.token_urlsafe(32)


def check_token(token: str) -> str:
    """`token`, if a header can carry it.

    Raises:
        InvalidSettingsError: it is empty or holds other than printable ASCII.
    """
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise InvalidSettingsError(
            "the token must be printable ASCII without spaces, and not empty"
        )
    return token


def stored_token(folder: Path) -> str:
    """The token kept in `folder`, made there on the first call."""
    path = folder / FILE_NAME
    if not path.exists():
        _store(path, make_token())
    return check_token(path.read_text("utf-8").strip())


def _store(path: Path, token: str) -> None:
    """Write `token` unless another process was faster; never a half-written file."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(0o600)
    draft.write_text(token + "\n", "utf-8")
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def carries(authorization: str, token: str) -> bool:
    """Whether the value of an Authorization header holds `token`; in constant time."""
    scheme, _, given = authorization.partition(" ")
    right = hmac.compare_digest(given.strip().encode("utf-8"), token.encode("utf-8"))
    return right and scheme.lower() == "bearer"
