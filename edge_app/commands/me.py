"""`specsteer me`."""

from __future__ import annotations

import sys

import click

from decoding_core.foreign_text import one_line
from edge_app.config.settings import store_path
from models.asking import confirm
from models.lazy_commands import Group
from personal_store import Store
from personal_store.lifecycle.identities import (
    add_identities,
    identities,
    remove_identities,
    suggestions,
)

_ADDRESS = click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS...")


@click.group("me", cls=Group, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Say which addresses are yours; stored texts change sides at once.

    Only what you sent is used as your writing. Mail of others is stored as theirs, so
    that it becomes yours when you add the address it came from, without a second
    import; and theirs again when you remove it.

    \b
        specsteer me
        specsteer me suggest
        specsteer me add sam@work.example
        specsteer me remove team@work.example
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@command.command("list")
def show() -> None:
    """Show your addresses, how many texts each sent, and why they count as yours."""
    with Store.open(store_path()) as store:
        found = identities(store.db)
    for one in found:
        sure = one.why if one.confirmed else f"{one.why}; 'me add' confirms it"
        click.echo(f"{one_line(one.address)}  {one.texts:,} texts  ({sure})")
    if not found:
        click.echo("no address known yet; 'specsteer me suggest' looks", err=True)


@command.command("add")
@_ADDRESS
def add(addresses: tuple[str, ...]) -> None:
    """Say that these addresses are yours (or names, where a chat knows only names)."""
    with Store.open(store_path()) as store:
        turned = add_identities(store.db, addresses)
    click.echo(f"{turned:,} stored texts turn out to be yours")


@command.command("remove")
@_ADDRESS
def remove(addresses: tuple[str, ...]) -> None:
    """Say that these addresses are not yours; they are not suggested again."""
    with Store.open(store_path()) as store:
        turned = remove_identities(store.db, addresses)
    click.echo(f"{turned:,} stored texts are others' again")


@command.command("suggest")
def suggest() -> None:
    """Look for more of your addresses, with the evidence; in a terminal, ask."""
    with Store.open(store_path()) as store:
        found = suggestions(store.db)
        for one in found:
            click.echo(f"{one_line(one.address)}  {one.texts:,} texts  ({one.why})")
            if not sys.stdin.isatty():
                continue
            if confirm(f"Is {one.address} yours?"):
                turned = add_identities(store.db, [one.address])
                click.echo(f"{turned:,} stored texts turn out to be yours", err=True)
            else:
                remove_identities(store.db, [one.address])
    if not found:
        click.echo("no other address looks like yours", err=True)
