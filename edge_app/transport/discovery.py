"""Household servers that announce themselves on the local network (multicast DNS).

Anybody there may announce any name and address, so what is found is a guess at an
address: pairing finds out whether the one that listens there knows the code.
"""

from __future__ import annotations

import logging
import threading
from typing import NamedTuple

from base.extras import how_to_add
from decoding_core.errors import CloudUnreachableError, StoppedError
from decoding_core.foreign_text import one_line
from decoding_core.pairing import SERVICE

_NAMES, _ADDRESSES = 16, 4  # that are listed, and of each; a network may be flooded
_REQUEST_MILLISECONDS = 300  # for the port and address, where a name came without
_LONGEST = 63  # characters of a name
_GIVE = "add --server with the address that stands beside the code"


class FoundServer(NamedTuple):
    """A server as the network told of it."""

    name: str  # fit to be shown
    url: str


def find_servers(
    stop: threading.Event, seconds: float = 3.0, interfaces: list[str] | None = None
) -> list[FoundServer]:
    """The servers that answer within `seconds` on these interfaces or on all, at least
    one, by name.

    Raises CloudUnreachableError with what to do if the library is missing, the network
    cannot be asked or nobody answers, and StoppedError.
    """
    try:
        from zeroconf import Error, InterfaceChoice, ServiceBrowser, Zeroconf
    except ImportError as error:
        raise CloudUnreachableError(
            "a code does not say where the server is, and to look for it on the "
            f"network needs a library more: {how_to_add('network')}. Or {_GIVE}"
        ) from error
    logging.getLogger("zeroconf").setLevel(logging.CRITICAL)  # it logs what others send
    names: set[str] = set()

    def note(name: str, **_: object) -> None:
        if len(names) < _NAMES:
            names.add(name)

    try:
        with Zeroconf(interfaces or InterfaceChoice.All, use_asyncio=False) as network:
            browser = ServiceBrowser(network, SERVICE, [note])
            if stop.wait(seconds):
                raise StoppedError("stopped while looking for the server")
            browser.cancel()
            found = sorted(one for name in names for one in _known(network, name))
    except (OSError, RuntimeError, Error) as error:  # no interface is a RuntimeError
        why = one_line(getattr(error, "strerror", None) or str(error) or "no network")
        raise CloudUnreachableError(
            f"this machine's network cannot be asked for the server ({why}): {_GIVE}"
        ) from error
    if not found:
        raise CloudUnreachableError(
            f"no household server answered on this network within {seconds:g} seconds. "
            "It answers if it was started with --announce, and some networks keep such "
            f"questions from others, as those for guests do: {_GIVE}"
        )
    return found


def _known(network: object, name: str) -> list[FoundServer]:
    """A server of this name for each address that was told of it."""
    from zeroconf import IPVersion, ServiceInfo

    info = ServiceInfo(SERVICE, name)
    _ = info.load_from_cache(network) or info.request(network, _REQUEST_MILLISECONDS)
    shown = one_line(name.removesuffix(f".{SERVICE}"))[:_LONGEST] or "without a name"
    hosts = info.ip_addresses_by_version(IPVersion.V4Only) if info.port else []
    sound = [one for one in hosts if not (one.is_unspecified or one.is_multicast)]
    return [
        FoundServer(shown, f"https://{at}:{info.port}") for at in sound[:_ADDRESSES]
    ]
