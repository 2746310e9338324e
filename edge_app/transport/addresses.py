"""Whose address it is, and whether a token may go there."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from decoding_core.errors import InvalidSettingsError


def is_this_machine(address: str) -> bool:
    """Whether an address leads to this machine's loopback. What listens there may be a
    tunnel to another machine, which cannot be seen from here."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check_token_goes_safely(address: str, token: str, *, in_clear: bool) -> None:
    """Raise InvalidSettingsError where a token would be read by whoever listens at the
    address or on the way to it, unless the person allows that."""
    encrypted = address.strip().lower().startswith("https://")
    if token and address and not encrypted and not in_clear:
        raise InvalidSettingsError(
            f"{address} is not encrypted, so whoever listens there or on the way could "
            "read the token, and nothing was sent. Give an https address (docs/"
            "household-server.md says how), or say --token-in-clear (token_in_clear = "
            "true in settings.toml) if you know who listens"
        )
