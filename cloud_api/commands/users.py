"""`specsteer-cloud users`: the people of the household."""

from __future__ import annotations

import json

import click

from cloud_api.commands.lists import echo_table, open_people, plain_time
from cloud_api.people.people import shown_time
from models.asking import confirm
from models.lazy_commands import Group


@click.group("users", cls=Group, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List, add, rename and remove the people of the household.

    Each has devices of their own, and the server serves one person after the other.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_users)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_users(as_json: bool) -> None:
    """List the people."""
    with open_people() as people:
        users = people.users()
    if as_json:
        for user in users:
            found = {"name": user.name, "created": plain_time(user.created)}
            click.echo(json.dumps(found | {"devices": user.devices}))
        return
    echo_table(
        ("user", "devices", "since"),
        [(one.name, str(one.devices), shown_time(one.created)) for one in users],
    )


@command.command("add")
@click.argument("name")
def add(name: str) -> None:
    """Add a person; then 'pair' lets devices of theirs in."""
    with open_people() as people:
        people.add_user(name)
    click.echo(f"{name} is added; next: specsteer-cloud pair DEVICE --user '{name}'")


@command.command("rename")
@click.argument("name")
@click.argument("new")
def rename(name: str, new: str) -> None:
    """Give a person another name."""
    with open_people() as people:
        people.rename_user(name, new)
    click.echo(f"{name} is called {new} now")


@command.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Remove a person, and shut all their devices out."""
    with open_people() as people:
        named = [one.name for one in people.devices() if one.user == name]
        if not yes:
            said = ", ".join(named) or "none"
            if not confirm(f"Remove {name} and their devices ({said})?"):
                raise click.Abort
        gone = people.remove_user(name)
    click.echo(f"{name} is removed, with {len(gone)} devices")
