"""`specsteer exclude`."""

from __future__ import annotations

from typing import Any

import click

from edge_app.commands.selecting import agreed, assume_yes, found, selecting, which
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store import Store
from personal_store.lifecycle.trash import exclude


@click.command("exclude", cls=Command)
@selecting
@click.option("--undo", is_flag=True, help="Use these texts again.")
@assume_yes
def command(undo: bool, yes: bool, **options: Any) -> None:
    """Keep texts, but never find or imitate them.

    \b
        specsteer exclude --kind review --until 2015-12-31
        specsteer exclude --person boss@example.org
        specsteer exclude --undo --person boss@example.org
    """
    state = "excluded" if undo else "NOT excluded"
    with Store.open(store_path()) as store:
        ids = found(store, which(options), state)
        what = "used again" if undo else "excluded from use"
        if agreed(store, ids, what, yes=yes):
            exclude(store.db, ids, excluded=not undo)
            click.echo(f"{len(ids):,} {what}")
