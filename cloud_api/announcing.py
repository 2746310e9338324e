"""The server's name and port, told to whoever asks the local network for a household
server (multicast DNS, RFC 6762 and RFC 6763).

Nothing else is told, and no secret: anybody on the network may ask, and may announce
what they like. The code and the certificate of pairing tell the household's server from
others.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from typing import TYPE_CHECKING

import click

from base.extras import how_to_add
from cloud_api.errors import ServerError
from decoding_core.foreign_text import one_line
from decoding_core.pairing import SERVICE

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (not listened on)
"""How this machine reaches a server that listens on all its addresses."""
PORT = 8765  # unless another one is chosen
_NOWHERE = "192.0.2.1", "2001:db8::1"
"""Addresses of nobody (RFC 5737, RFC 3849), to ask the system which way it would go."""
_SECONDS = 10.0  # for finding out whether a name is free, and telling it
_LONGEST = 40  # characters of the name; 63 bytes are allowed


def from_outside(host: str) -> str:
    """The address at which other machines reach a server that listens at `host`, as far
    as this one can tell."""
    if host not in LOOPBACK:
        return host
    v6 = ":" in host
    family, nowhere = (socket.AF_INET6 if v6 else socket.AF_INET), _NOWHERE[v6]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.connect((nowhere, 9))  # sends nothing
            return str(asked.getsockname()[0])
    except OSError:  # this machine is on no network
        return LOOPBACK[host]


def check_can_announce(host: str, *, pairs: bool) -> None:
    """Raise ServerError if a server at `host` cannot be announced, or pairs nobody."""
    if not pairs:
        raise ServerError(
            "a server with one token for all pairs nobody, so nobody need find it: "
            "leave out --announce or the token"
        )
    if ":" in host:
        raise ServerError(
            f"a server is announced at addresses of IPv4, not at {host}: leave out "
            "--announce, or listen with --host 0.0.0.0"
        )
    try:
        import zeroconf  # noqa: F401 (an extra)
    except ImportError as error:
        raise ServerError(
            f"--announce needs a library more: {how_to_add('network')}. Without it, "
            "devices are given the address that 'specsteer-cloud pair' shows"
        ) from error


async def announce(host: str, port: int) -> None:
    """Answer whoever asks the network for household servers, until cancelled; a
    sentence on standard error says under which name, or why not."""
    from zeroconf import Error
    from zeroconf.asyncio import AsyncZeroconf

    # It logs what others send.
    logging.getLogger("zeroconf").setLevel(logging.CRITICAL)
    network, why = None, "no network takes it"
    address = await asyncio.to_thread(from_outside, host)
    try:
        network = AsyncZeroconf(interfaces=[address])
        async with asyncio.timeout(_SECONDS):
            name = await _register(network, address, port)
        click.echo(f"announced on the network of {address} as '{name}'", err=True)
        await asyncio.Event().wait()
    except TimeoutError:
        why = "others there keep every name for theirs"
    except (OSError, Error) as error:
        why = one_line(getattr(error, "strerror", None) or type(error).__name__)
    finally:
        if network is not None:
            await network.async_close()  # which also takes the name back
    click.echo(
        f"not announced at {address} ({why}): give devices the address that "
        "'specsteer-cloud pair' shows",
        err=True,
    )


async def _register(network: AsyncZeroconf, address: str, port: int) -> str:
    """Announce this machine, and return the name that was free. Raises what the library
    does, also if the sockets have gone meanwhile."""
    from zeroconf import ServiceInfo

    own = one_line(socket.gethostname()).partition(".")[0][:_LONGEST] or "household"
    # Others on this machine may not hear that the name is taken.
    own += "" if port == PORT else f"-{port}"
    info = ServiceInfo(
        *(SERVICE, f"{own}.{SERVICE}", port),
        properties={},
        # The address has a name of its own, as machines may have the same one.
        server=f"specsteer-{secrets.token_hex(4)}.local.",
        parsed_addresses=[address],
    )
    await (await network.async_register_service(info, allow_name_change=True))
    return one_line(info.name.removesuffix(f".{SERVICE}"))
