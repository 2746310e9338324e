"""The commands over users, devices, codes for pairing, backup and restore."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from cloud_api import pairing
from cloud_api.announcing import LOOPBACK, from_outside
from cloud_api.auth import Scope
from cloud_api.database import BACKUP_NAME
from cloud_api.errors import PeopleError
from cloud_api.people import (
    OWNER_NAME,
    Device,
    People,
    back_up,
    check_name,
    restore_backup,
    shown_time,
    words_of,
)
from decoding_core.foreign_text import one_line
from decoding_core.pairing import Invitation
from models.command_line import Command, Group, confirm
from models.folders import state_folder


def open_people() -> People:
    """The people of the state folder; raises PeopleError."""
    return People(state_folder())


def plain_time(seconds: int | None) -> str | None:
    """A time for programs, in UTC."""
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%FT%TZ}"


def plain_device(device: Device) -> dict[str, object]:
    """A device as JSON has it."""
    times = ("created", "last_used", "expires", "revoked")
    return {
        "id": device.id,
        "user": device.user,
        "name": device.name,
        "scopes": sorted(device.scopes),
        "origin": device.origin,
        **{name: plain_time(getattr(device, name)) for name in times},
    }


def echo_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows in columns as wide as what they hold."""
    lines = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(n) for cell, n in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


@click.group("users", cls=Group, invoke_without_command=True)
@click.pass_context
def users(ctx: click.Context) -> None:
    """List, add, rename and remove the people of the household.

    Each has devices of their own, and the server serves one person after the other.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_users)


@users.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_users(as_json: bool) -> None:
    """List the people."""
    with open_people() as people:
        found = people.users()
    if as_json:
        for one in found:
            line = {"name": one.name, "created": plain_time(one.created)}
            click.echo(json.dumps(line | {"devices": one.devices}))
        return
    rows = [(one.name, str(one.devices), shown_time(one.created)) for one in found]
    echo_table(("user", "devices", "since"), rows)


@users.command("add")
@click.argument("name")
def add_user(name: str) -> None:
    """Add a person; then 'pair' lets devices of theirs in."""
    with open_people() as people:
        people.add_user(name)
    click.echo(f"{name} is added; next: specsteer-cloud pair DEVICE --user '{name}'")


@users.command("rename")
@click.argument("name")
@click.argument("new")
def rename_user(name: str, new: str) -> None:
    """Give a person another name."""
    with open_people() as people:
        people.rename_user(name, new)
    click.echo(f"{name} is called {new} now")


@users.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove_user(name: str, yes: bool) -> None:
    """Remove a person, and shut all their devices out."""
    with open_people() as people:
        named = [one.name for one in people.devices() if one.user == name]
        if not yes:
            _ask(f"Remove {name} and their devices ({', '.join(named) or 'none'})?")
        gone = people.remove_user(name)
    click.echo(f"{name} is removed, with {len(gone)} devices")


def _ask(question: str) -> None:
    """Ask before something that cannot be undone; raises Abort."""
    if not confirm(question):
        raise click.Abort


_DAY_SECONDS = 86_400
_SHOWN_REFUSALS = 5
_LOST = """
What was on {name}, and who has it now:

  its token      is good no more: the server refuses it and has ended its streams
  past writing   lies in the store on that device, readable to who can unlock the
                 device, unless the store is encrypted ('specsteer store encrypt')
  drafts         were on the screen alone; the server keeps none of them
  mail account   if 'specsteer import imap' was used there, change that password
  this server    knows no password of yours; other devices go on as before
  certificate    stays good: the lost device holds no key of it

'specsteer-cloud devices' tells whether its old token is tried again. When the device
is found, or for its successor: specsteer-cloud pair {quoted}
docs/household-server.md says more."""

user_option = click.option("--user", help="Whose, where several have one of that name.")
scope_option = click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([str(scope) for scope in Scope]),
    default=[str(Scope.VERIFY)],
    callback=lambda _, __, words: frozenset(map(Scope, words)),
    help="What its token is good for, may be given several times; default: verify.",
)
expires_option = click.option(
    "--expires-days",
    "expires",
    type=click.IntRange(1, 36_500),
    callback=lambda _, __, days: days and int(time.time()) + days * _DAY_SECONDS,
    help="Days after which its token is good no more; default: never.",
)


@click.group("devices", cls=Group, invoke_without_command=True)
@click.pass_context
def devices(ctx: click.Context) -> None:
    """List devices, rename them, change their tokens and shut them out.

    NAME is a device's name or its id.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_devices)


@devices.command("list")
@click.option("--revoked", is_flag=True, help="Also those that were shut out.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_devices(revoked: bool, as_json: bool) -> None:
    """List the devices, when they last connected, and tokens that were refused."""
    with open_people() as people:
        found, refusals = people.devices(revoked=revoked), people.refusals()
        now = people.now
    if as_json:
        for device in found:
            click.echo(json.dumps(plain_device(device)))
        for one in refusals:
            line: dict[str, Any] = {"refused_from": one.place, "times": one.times}
            line |= {"first": plain_time(one.first), "last": plain_time(one.last)}
            line["device"] = one.device and one.device.id
            click.echo(json.dumps(line))
        return
    rows = []
    for device in found:
        if device.revoked is not None:
            state = f"revoked {shown_time(device.revoked)}"
        elif device.expires is None:
            state = "good"
        else:
            word = "until" if device.may_connect(now) else "ended"
            state = f"{word} {shown_time(device.expires)}"
        used, words = shown_time(device.last_used), words_of(device.scopes)
        rows.append((device.user, device.name, device.id, words, used, state))
    echo_table(("user", "device", "id", "good for", "last used", "token"), rows)
    if refusals:
        total = sum(one.times for one in refusals)
        click.echo(f"\nTokens that are not good were shown {total} times:")
        for one in refusals[:_SHOWN_REFUSALS]:
            of = f", the old token of {one.device.name}" if one.device else ""
            last = shown_time(one.last)
            click.echo(f"  {one.times} from {one.place or 'unknown'}, last {last}{of}")
        if len(refusals) > _SHOWN_REFUSALS:
            click.echo(f"  and from {len(refusals) - _SHOWN_REFUSALS} more places")
        click.echo("'specsteer-cloud devices forget-refused' begins to count anew")


def _show_token(token: str) -> None:
    click.echo("This is shown once; keep it where others cannot read it.", err=True)
    click.echo(token)


@devices.command("add")
@click.argument("name")
@click.option("--user", default=OWNER_NAME, show_default=True, help="Whose it is.")
@scope_option
@expires_option
def add_device(
    name: str, user: str, scopes: frozenset[Scope], expires: int | None
) -> None:
    """Make a token for a program that cannot be paired, and show it this once.

    The token alone is printed on standard output.
    """
    with open_people() as people:
        token = people.add_device(name, user, scopes, expires)
    _show_token(token)


@devices.command("rename")
@click.argument("name")
@click.argument("new")
@user_option
def rename_device(name: str, new: str, user: str | None) -> None:
    """Give a device another name."""
    with open_people() as people:
        people.rename_device(name, new, user)
    click.echo(f"{name} is called {new} now")


def _shut_out(question: str, name: str, user: str | None, yes: bool) -> Device:
    """Shut a device out once the person has said yes to `question`."""
    with open_people() as people:
        if not yes:
            device = people.device(name, user)
            _ask(question.format(f"{device.name} of {device.user}"))
        device = people.revoke(name, user)
    click.echo(f"{device.name} of {device.user} is shut out")
    return device


@devices.command("revoke")
@click.argument("name")
@user_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def revoke(name: str, user: str | None, yes: bool) -> None:
    """Shut a device out, for good: its token is refused, its streams end at once."""
    _shut_out("Shut out {}?", name, user, yes)


@devices.command("rotate")
@click.argument("name")
@user_option
def rotate(name: str, user: str | None) -> None:
    """Give a device another token, and show it this once; the old one ends.

    The token alone is printed on standard output. For a device that was paired it is
    easier to pair it again, under the same name.
    """
    with open_people() as people:
        device, token = people.rotate(name, user)
    if device.origin == "file":
        click.echo(f"The token file in {people.folder} has it, too.", err=True)
    _show_token(token)


@devices.command("lost")
@click.argument("name")
@user_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def lost(name: str, user: str | None, yes: bool) -> None:
    """Shut a device out that was lost or stolen, and say what else to do."""
    lost = _shut_out("Is {} lost? It is shut out, for good.", name, user, yes).name
    click.echo(_LOST.format(name=lost, quoted=f"'{lost}'"))


@devices.command("forget-refused")
def forget_refused() -> None:
    """Forget the tokens that were refused, and count anew."""
    with open_people() as people:
        people.forget_refusals()
    click.echo("counted anew from now on")


_REACH_SECONDS = 1.0
_LOOK_SECONDS = 0.5


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
def pair(
    name: str,
    user: str,
    address: str | None,
    behind_proxy: bool,
    scopes: frozenset[Scope],
    expires: int | None,
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
            people, name, user, scopes, expires, by_certificate=not behind_proxy
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
    """The address of the server for the device, and the fingerprint of its certificate;
    raises PeopleError if no server is running."""
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
    host = LOOPBACK.get(parts.hostname or "", parts.hostname)
    try:
        socket.create_connection((host, parts.port or 443), _REACH_SECONDS).close()
    except OSError:
        return False
    return True


def _from_outside(url: str) -> str:
    """The same server at an address that other machines reach."""
    parts = urlsplit(url)
    host = from_outside(parts.hostname or "")
    return f"https://{f'[{host}]' if ':' in host else host}:{parts.port}"


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


@click.command("backup", cls=Command)
@click.argument("target", required=False, type=click.Path(path_type=Path))
def backup(target: Path | None) -> None:
    """Copy users, devices and the server's certificate to one file.

    Without TARGET it lies in the state folder. Servers go on meanwhile. The file holds
    no token that could be used, but the key of the certificate: keep it as a key.
    """
    with open_people() as people:
        target = target or people.folder / BACKUP_NAME
        back_up(people, target)
        held = f"{len(people.users())} users and {len(people.devices())} devices"
    click.echo(f"{target} holds {held}")


@click.command("restore", cls=Command)
@click.argument(
    "source", metavar="BACKUP", required=False, type=click.Path(path_type=Path)
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(source: Path | None, yes: bool) -> None:
    """Put users, devices and certificate back as a backup has them.

    Without BACKUP it is the one in the state folder. Tokens that were revoked since
    stay revoked. What is there now is kept in another file.
    """
    folder = state_folder()
    source = source or folder / BACKUP_NAME
    if not yes:
        _ask(f"Replace who may connect by what {source} holds?")
    done = restore_backup(folder, source)
    click.echo(
        f"{done.users} users and {done.devices} devices may connect; what was there "
        f"before is in {done.kept}"
    )
    if done.stayed_revoked:
        click.echo(f"{done.stayed_revoked} tokens were revoked since, and stay so")
    if done.other_certificate:
        click.echo(
            "The certificate is the backup's, too: start running servers again, so "
            "that devices find the one that they were paired with."
        )
