"""`specsteer-cloud devices`: what may connect, and what may not any more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from cloud_api.callers import Scope
from cloud_api.commands.lists import (
    echo_table,
    open_people,
    plain_device,
    plain_time,
)
from cloud_api.people.people import OWNER_NAME, People, shown_time
from models.asking import confirm
from models.lazy_commands import Group

_DAY_SECONDS = 86_400
_SHOWN_REFUSALS = 5
_LOST = """\
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
docs/lost-device.md says more."""

user_option = click.option("--user", help="Whose, where several have one of that name.")
scope_option = click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([str(scope) for scope in Scope]),
    help="What its token is good for, may be given several times; default: verify.",
)
expires_option = click.option(
    "--expires-days",
    type=click.IntRange(1, 36_500),
    help="Days after which its token is good no more; default: never.",
)


def chosen_scopes(words: tuple[str, ...]) -> frozenset[Scope]:
    """The scopes that were given, or the usual one."""
    return frozenset(map(Scope, words)) or frozenset({Scope.VERIFY})


def expiry(people: People, days: int | None) -> int | None:
    """When a token ends that is good for so many days."""
    return None if days is None else people.now + days * _DAY_SECONDS


@click.group("devices", cls=Group, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List devices, rename them, change their tokens and shut them out.

    NAME is a device's name or its id.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_devices)


@command.command("list")
@click.option("--revoked", is_flag=True, help="Also those that were shut out.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_devices(revoked: bool, as_json: bool) -> None:
    """List the devices, when they last connected, and tokens that were refused."""
    with open_people() as people:
        devices, refusals = people.devices(revoked=revoked), people.refusals()
        now = people.now
    if as_json:
        for device in devices:
            click.echo(json.dumps(plain_device(device)))
        for one in refusals:
            found: dict[str, Any] = {"refused_from": one.place, "times": one.times}
            found |= {"first": plain_time(one.first), "last": plain_time(one.last)}
            found["device"] = None if one.device is None else one.device.id
            click.echo(json.dumps(found))
        return
    rows = []
    for device in devices:
        state = "revoked " + shown_time(device.revoked)
        if device.revoked is None:
            ended = not device.may_connect(now)
            state = f"{'ended' if ended else 'until'} {shown_time(device.expires)}"
            if device.expires is None:
                state = "good"
        used = shown_time(device.last_used)
        words = " ".join(sorted(device.scopes))
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


@command.command("add")
@click.argument("name")
@click.option("--user", default=OWNER_NAME, show_default=True, help="Whose it is.")
@scope_option
@expires_option
def add(
    name: str, user: str, scopes: tuple[str, ...], expires_days: int | None
) -> None:
    """Make a token for a program that cannot be paired, and show it this once.

    The token alone is printed on standard output.
    """
    with open_people() as people:
        expires = expiry(people, expires_days)
        token = people.add_device(name, user, chosen_scopes(scopes), expires)
    click.echo("This is shown once; keep it where others cannot read it.", err=True)
    click.echo(token)


@command.command("rename")
@click.argument("name")
@click.argument("new")
@user_option
def rename(name: str, new: str, user: str | None) -> None:
    """Give a device another name."""
    with open_people() as people:
        people.rename_device(name, new, user)
    click.echo(f"{name} is called {new} now")


def _asked(question: Callable[[str], str], name: str, user: str | None) -> None:
    """Ask before something that cannot be undone."""
    with open_people() as people:
        device = people.device(name, user)
    if not confirm(question(f"{device.name} of {device.user}")):
        raise click.Abort


@command.command("revoke")
@click.argument("name")
@user_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def revoke(name: str, user: str | None, yes: bool) -> None:
    """Shut a device out, for good: its token is refused, its streams end at once."""
    if not yes:
        _asked(lambda whose: f"Shut out {whose}?", name, user)
    with open_people() as people:
        device = people.revoke(name, user)
    click.echo(f"{device.name} of {device.user} is shut out")


@command.command("rotate")
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
    click.echo("This is shown once; keep it where others cannot read it.", err=True)
    click.echo(token)


@command.command("lost")
@click.argument("name")
@user_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def lost(name: str, user: str | None, yes: bool) -> None:
    """Shut a device out that was lost or stolen, and say what else to do."""
    if not yes:
        _asked(lambda whose: f"Is {whose} lost? It is shut out, for good.", name, user)
    with open_people() as people:
        device = people.revoke(name, user)
    click.echo(f"{device.name} of {device.user} is shut out.\n")
    click.echo(_LOST.format(name=device.name, quoted=f"'{device.name}'"))


@command.command("forget-refused")
def forget_refused() -> None:
    """Forget the tokens that were refused, and count anew."""
    with open_people() as people:
        people.forget_refusals()
    click.echo("counted anew from now on")
