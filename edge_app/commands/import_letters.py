"""`specsteer import`."""

from __future__ import annotations

from pathlib import Path

import click

from edge_app.commands.progress import Progress
from edge_app.settings import store_path
from personal_store import Store, import_source, importers

_SHOWN = 20


@click.command("import")
@click.argument("kind", metavar="KIND")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--me", multiple=True, metavar="ADDRESS", help="Your address; repeatable."
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="For csv and jsonl, such as text=Body; repeatable.",
)
def command(
    kind: str, path: Path, me: tuple[str, ...], mapping: tuple[str, ...]
) -> None:
    """Read your own texts from PATH into the store on this device.

    KIND is one of: {kinds}. Importing the same file again adds nothing. The last
    line counts what was added, skipped and failed.

    \b
        specsteer import mbox "All mail.mbox" --me you@example.org
        specsteer import google_reviews Takeout/Maps/Reviews.json
        specsteer import csv reviews.csv --map text=Body --map date=Created
    """
    for address in me:
        if "@" not in address:
            raise click.UsageError(f"--me takes an address, not '{address}'")
    columns = dict(_pair(item) for item in mapping)
    with Store.open(store_path()) as store, Progress() as progress:
        report = import_source(
            store, kind, path, me=me, mapping=columns or None, progress=progress.show
        )
    for note in report.notes:
        click.echo(note, err=True)
    for failure in report.failures[:_SHOWN]:
        click.echo(str(failure), err=True)
    if len(report.failures) > _SHOWN:
        click.echo(f"and {len(report.failures) - _SHOWN} more failures", err=True)
    if report.details():
        click.echo(report.details(), err=True)
    click.echo(report.summary())


assert command.help is not None
command.help = command.help.replace("{kinds}", ", ".join(importers.available()))


def _pair(item: str) -> tuple[str, str]:
    name, found, column = item.partition("=")
    if not found:
        raise click.UsageError(f"--map takes FIELD=COLUMN, not '{item}'")
    return name, column
