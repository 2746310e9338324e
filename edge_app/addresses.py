"""Whose address it is."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_this_machine(address: str) -> bool:
    """Whether an address leads to this machine's loopback. What listens there may be a
    tunnel to another machine, which cannot be seen from here."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
