"""`specsteer unpair`."""

from __future__ import annotations

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.paired import read_paired, remove_paired
from models.folders import state_folder
from models.lazy_commands import Command


@click.command("unpair", cls=Command)
def command() -> None:
    """Forget the server that this device was paired with, and its token."""
    folder, name = state_folder(), "NAME"
    try:
        paired = read_paired(folder)
    except InvalidSettingsError:
        paired = None  # it is removed all the same
    if not remove_paired(folder):
        raise InvalidSettingsError("this device is not paired")
    if paired is not None:
        name = one_line(paired.name)
        click.echo(f"{one_line(paired.server)} and its token are forgotten here")
    click.echo(f"on the server: specsteer-cloud devices revoke '{name}'")
