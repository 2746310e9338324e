"""`specsteer-cloud restore`: who may connect, as a copy has it."""

from __future__ import annotations

from pathlib import Path

import click

from cloud_api.people.copies import restore
from cloud_api.people.database import BACKUP_NAME
from models.asking import confirm
from models.folders import state_folder
from models.lazy_commands import Command


@click.command("restore", cls=Command)
@click.argument("backup", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(backup: Path | None, yes: bool) -> None:
    """Put users, devices and certificate back as a backup has them.

    Without BACKUP it is the one in the state folder. Tokens that were revoked since
    stay revoked. What is there now is kept in another file.
    """
    folder = state_folder()
    backup = backup or folder / BACKUP_NAME
    if not yes:
        asked = f"Replace who may connect by what {backup} holds?"
        if not confirm(asked):
            raise click.Abort
    done = restore(folder, backup)
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
