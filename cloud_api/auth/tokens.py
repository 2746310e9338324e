"""The bearer token: given, or made once and kept in a file."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from decoding_core.errors import InvalidSettingsError
from models.owner_only import close_to_others, create

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
    """The token kept in `folder`, made there on the first call, readable by its owner
    alone."""
    path = folder / FILE_NAME
    if not path.exists():
        # Linked whole, unless another process was faster: nobody reads half a token.
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            with suppress(FileExistsError):
                with create(draft) as file:
                    file.write(f"{make_token()}\n".encode())
                path.hardlink_to(draft)
        finally:
            draft.unlink(missing_ok=True)
    close_to_others(path)
    return check_token(path.read_text("utf-8").strip())


def shown_token(authorization: str) -> str:
    """The token in the value of an Authorization header; empty where it holds none."""
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
