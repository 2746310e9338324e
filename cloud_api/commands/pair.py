"""`specsteer-cloud pair`: let a device in."""

from __future__ import annotations

import ipaddress
import json
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import click

from cloud_api.commands.devices import (
    chosen_scopes,
    expires_option,
    expiry,
    scope_option,
)
from cloud_api.commands.lists import open_people
from cloud_api.errors import PeopleError
from cloud_api.people import pairing
from cloud_api.people.people import OWNER_NAME, People, check_name, shown_time
from decoding_core.foreign_text import one_line
from decoding_core.pairing import Invitation
from models.lazy_commands import Command

_REACH_SECONDS = 1.0
_LOOK_SECONDS = 0.5
_NOWHERE = {4: "192.0.2.1", 6: "2001:db8::1"}
"""Addresses of nobody (RFC 5737, RFC 3849), to ask the system which way it would go."""


@click.command("pair", cls=Command)
@click.argument("name")
@click.option("--user", default=OWNER_NAME, show_default=True, help="Whose device.")
@click.option(
    "--server",
    "address",
    metavar="URL",
    help="Where the device reaches the server, if that is not where it listens: the "
    "https address of a proxy, or a name of this machine.",
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="TLS ends at a proxy, whose certificate an authority vouches for.",
)
@scope_option
@expires_option
@click.option("--wait", is_flag=True, help="Stay until the device is paired.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no picture.")
def command(
    name: str,
    user: str,
    address: str | None,
    behind_proxy: bool,
    scopes: tuple[str, ...],
    expires_days: int | None,
    wait: bool,
    as_json: bool,
) -> None:
    """Show a code that lets the device NAME in: as a picture, a link, and to type.

    It is good once, for ten minutes and five tries. A device of that name that is there
    already is given another token in place of its own.
    """
    check_name(name)
    if behind_proxy and not address:
        raise click.UsageError("--behind-proxy goes with --server")
    if address and not _is_sound(address):
        raise PeopleError(
            f"'{one_line(address)}' is no address for pairing; one looks like "
            "https://192.168.1.20:8765"
        )
    with open_people() as people:
        url, fingerprint = _server(people, address, behind_proxy=behind_proxy)
        code, before = pairing.offer(
            people,
            name,
            user,
            chosen_scopes(scopes),
            expiry(people, expires_days),
            by_certificate=not behind_proxy,
        )
        invitation = Invitation(code, url, fingerprint)
        if as_json:
            found = {"link": invitation.link, "code": str(code), "server": url}
            seconds = pairing.LIFETIME_SECONDS
            click.echo(json.dumps({**found, "key": fingerprint, "seconds": seconds}))
        else:
            _show(invitation, name)
        if before is not None:
            click.echo(
                f"'{before.name}' is there already (last used "
                f"{shown_time(before.last_used)}): when this code is used, the token "
                "that it has now ends.",
                err=True,
            )
        if wait:
            _wait(people, code.number, name)


def _server(
    people: People, address: str | None, *, behind_proxy: bool
) -> tuple[str, str]:
    """The address that the device is given, and the fingerprint of the certificate that
    it will see there. Raises PeopleError where no server is running."""
    if behind_proxy and address:
        return address.rstrip("/"), ""
    for url, fingerprint in people.listening():
        if _is_reached(url):
            return (address or _from_outside(url)).rstrip("/"), fingerprint
        people.listens_no_more(url)  # it was killed
    raise PeopleError(
        "no server of this household is running here: start 'specsteer-cloud serve' "
        "first, in another terminal and without a --token of its own"
    )


def _is_sound(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_reached(url: str) -> bool:
    """Whether somebody listens at an address that a server noted."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("0.0.0.0", "::"):  # noqa: S104 (told apart, not listened on)
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    try:
        socket.create_connection((host, parts.port or 443), _REACH_SECONDS).close()
    except OSError:
        return False
    return True


def _from_outside(url: str) -> str:
    """The address at which other machines reach a server that listens on all of them,
    as far as this one can tell."""
    parts = urlsplit(url)
    listened = ipaddress.ip_address(parts.hostname or "127.0.0.1")
    if not listened.is_unspecified:
        return url
    family = socket.AF_INET if listened.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.connect((_NOWHERE[listened.version], 9))  # sends nothing
            host = asked.getsockname()[0]
    except OSError:  # this machine is on no network
        host = "127.0.0.1" if listened.version == 4 else "::1"
    return (
        f"https://[{host}]:{parts.port}"
        if ":" in host
        else f"https://{host}:{parts.port}"
    )


def _show(invitation: Invitation, name: str) -> None:
    """The code in all its forms."""
    library: Any = import_module("segno")  # its types are not whole
    picture = library.make(invitation.link, error="l", micro=False)
    # Two modules a character; light on dark, as most terminals are.
    with suppress(UnicodeEncodeError):  # a terminal without blocks has link and code
        picture.terminal(sys.stdout, border=2, compact=True)
    click.echo(f"\nOn the device '{name}', within ten minutes:\n")
    click.echo(f"  specsteer pair '{invitation.link}'\n")
    click.echo("or, where that cannot be copied, by typing:\n")
    click.echo(f"  specsteer pair {invitation.code} --server {invitation.url}\n")


def _wait(people: People, number: int, name: str) -> None:
    """Stay until the code is good no more, and say what became of it."""
    while (state := pairing.state_of(people, number)) == "open":
        time.sleep(_LOOK_SECONDS)
    if state != "used":
        raise PeopleError(f"nobody was paired: the code is {state}")
    click.echo(f"{name} is paired", err=True)
