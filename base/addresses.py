"""Which addresses are this machine's own."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at a host's name or address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
