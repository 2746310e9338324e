"""`specsteer reclean`."""

from __future__ import annotations

import click

from edge_app.commands.progress import Progress
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store import Store
from personal_store.lifecycle.late_cleaning import reclean


@click.command("reclean", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Also those of these rules.")
def command(everything: bool) -> None:
    """Cut quotes and signatures again, with the rules of this version.

    Each text knows by which version of the rules it was made; older ones are cleaned
    again from the raw bodies that are kept. Where none is kept, importing the same
    source again does it. Ctrl-C loses nothing.

    \b
        specsteer reclean
        specsteer show 17 --raw
    """
    with Store.open(store_path()) as store, Progress("cleaning") as progress:
        done = reclean(store.db, everything=everything, progress=progress.show)
    if done.without_raw:
        click.echo(f"of {done.without_raw:,} mails no raw body is kept", err=True)
    for kind, place in done.sources:
        click.echo(f"specsteer import {kind} '{place}' cleans them again", err=True)
    click.echo(f"cleaned {done.looked_at:,} again, {done.changed:,} read differently")
