"""`specsteer-cloud backup`: a copy of who may connect."""

from __future__ import annotations

from pathlib import Path

import click

from cloud_api.commands.lists import open_people
from cloud_api.people.copies import back_up
from cloud_api.people.database import BACKUP_NAME
from models.lazy_commands import Command


@click.command("backup", cls=Command)
@click.argument("target", required=False, type=click.Path(path_type=Path))
def command(target: Path | None) -> None:
    """Copy users, devices and the server's certificate to one file.

    Without TARGET it lies in the state folder. Servers go on meanwhile. The file holds
    no token that could be used, but the key of the certificate: keep it as a key.
    """
    with open_people() as people:
        target = target or people.folder / BACKUP_NAME
        back_up(people, target)
        devices = len(people.devices())
        users = len(people.users())
    click.echo(f"{target} holds {users} users and {devices} devices")
