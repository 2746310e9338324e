"""`specsteer trash`."""

from __future__ import annotations

from typing import Any

import click

from edge_app.commands.selecting import (
    agreed,
    assume_yes,
    found,
    outline,
    selecting,
    which,
)
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store import Store
from personal_store.lifecycle.forgetting import UNTIDY, is_untidy
from personal_store.lifecycle.selectors import outlines
from personal_store.lifecycle.trash import (
    DAYS,
    in_trash,
    put_into_trash,
    take_out_of_trash,
)


@click.command("trash", cls=Command)
@click.option("--list", "listing", is_flag=True, help="Show what lies in the trash.")
@click.option("--restore", "back", is_flag=True, help="Take these texts out again.")
@assume_yes
@selecting
def command(listing: bool, back: bool, yes: bool, **options: Any) -> None:
    """Put texts away for 30 days, after which they are forgotten for good.

    Until then they are never found, and can be restored. To forget at once: 'specsteer
    forget'.

    \b
        specsteer trash --words "birthday surprise"
        specsteer trash --list
        specsteer trash --restore 17
    """
    with Store.open(store_path()) as store:
        if is_untidy(store.db):  # what lay here for long enough was forgotten just now
            click.echo(UNTIDY, err=True)
        if listing:
            for line in outlines(store.db, in_trash(store.db)):
                click.echo(outline(line))
            return
        lies = "trashed_at IS NOT NULL" if back else "trashed_at IS NULL"
        done = "taken out of the trash" if back else "put into the trash"
        ids = found(store, which(options), lies)
        if not agreed(store, ids, done, yes=yes):
            return
        if back:
            take_out_of_trash(store.db, ids)
        else:
            put_into_trash(store.db, ids)
            done += f", to be forgotten in {DAYS} days"
        click.echo(f"{len(ids):,} {done}")
