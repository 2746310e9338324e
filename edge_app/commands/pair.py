"""`specsteer pair`."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from decoding_core.pairing import read_invitation
from edge_app.commands.stopping import stoppable
from edge_app.config.paired import write_paired
from edge_app.config.sealed import read_file
from edge_app.config.settings import (
    SETTINGS,
    TOKEN_VARIABLE,
    check_settings,
    ledger_path,
    settings_path,
    store_path,
)
from edge_app.privacy.ledger import Ledger
from models.folders import state_folder
from models.lazy_commands import Command


@click.command("pair", cls=Command)
@click.argument("link_or_code")
@click.option(
    "--server",
    metavar="URL",
    help="The server's address, which a code does not hold; 'specsteer-cloud pair' "
    "shows it.",
)
def command(link_or_code: str, server: str | None) -> None:
    """Pair this device with the household's server.

    \b
        specsteer pair 'specsteer://pair?...'
        specsteer pair 12-K7QF-3XPM --server https://192.168.1.20:8765

    'specsteer-cloud pair NAME' on the server shows what to give. The address, a token
    of this device and the server's certificate are kept in the state folder, for your
    eyes alone; from then on no other certificate is taken.
    """
    from edge_app.transport.pairing import pair  # loads an HTTP client: 0.2 s

    invitation = read_invitation(link_or_code)
    if server:
        invitation = replace(invitation, url=server)
    if not invitation.url:
        raise InvalidSettingsError(
            "a code does not say where the server is: add --server with the address "
            "that stands beside the code"
        )
    with stoppable() as stop, closing(Ledger(ledger_path())) as ledger:
        paired = pair(invitation, ledger.add, stop)
    folder = state_folder()
    write_paired(folder, paired)
    click.echo(
        f"paired with {paired.server} as '{one_line(paired.name)}' of "
        f"{one_line(paired.user)}"
    )
    _warn_of_others(paired.server)


def _warn_of_others(server: str) -> None:
    """Say what was set before and counts before what pairing gave."""
    path = settings_path()
    if os.environ.get(TOKEN_VARIABLE):
        click.echo(f"{TOKEN_VARIABLE} is set, and counts before its token", err=True)
    if not path.exists():
        return
    words = read_file(path, SETTINGS, store_path()).decode("utf-8", "replace")
    settings = check_settings(words, path)
    if settings.server and settings.server.rstrip("/") != server:
        click.echo(
            f"{path} has the line server = '{one_line(settings.server)}', which counts "
            "before it: remove that line",
            err=True,
        )
    elif settings.token:
        click.echo(f"{path} has a token, which counts before its own", err=True)
