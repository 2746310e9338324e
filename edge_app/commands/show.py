"""`specsteer show`."""

from __future__ import annotations

import click

from decoding_core.foreign_text import legible
from edge_app.commands.selecting import outline
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store import Store, StoreError
from personal_store.lifecycle.late_cleaning import clean_all_waiting
from personal_store.lifecycle.raw_bodies import read
from personal_store.lifecycle.selectors import outlines


@click.command("show", cls=Command)
@click.argument("record_id", metavar="ID", type=click.IntRange(1))
@click.option("--raw", is_flag=True, help="What it was cleaned out of.")
@click.option("--clean", is_flag=True, help="The own words, as they are used (usual).")
def command(record_id: int, raw: bool, clean: bool) -> None:
    """Show one text: as it is used, or the raw body that it was cleaned out of.

    ID is what 'specsteer search --json' calls record_id. Of a message in HTML, --raw
    shows the markup too.

    \b
        specsteer show 17
        specsteer show 17 --raw
    """
    if raw and clean:
        raise click.UsageError("--raw or --clean, not both")
    with Store.open(store_path()) as store:
        if not raw:
            clean_all_waiting(store.db, [record_id])
        lines = outlines(store.db, [record_id])
        if not lines:
            raise StoreError(f"There is no text with the id {record_id}.")
        click.echo(outline(lines[0]), err=True)
        if raw:
            text = _raw(store, record_id)
        else:
            own = "SELECT body FROM record WHERE id = ?"
            text = str(store.db.execute(own, [record_id]).fetchone()[0])
    click.echo(legible(text))


def _raw(store: Store, record_id: int) -> str:
    body = read(store.db, record_id)
    if body is None:
        raise StoreError(
            f"No raw body of {record_id} is kept: it is not yours, was not cleaned out "
            "of anything, or was imported when raw bodies were not kept."
        )
    return body.plain if not body.html else f"{body.plain}\n\n{body.html}".lstrip()
