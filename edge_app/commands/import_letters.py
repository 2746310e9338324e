"""`specsteer import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

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
    with Store.open(store_path()) as store, _Progress() as progress:
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


class _Progress:
    """A progress bar on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None  # click names the type only privately
        self._done = 0

    def show(self, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = click.progressbar(
                length=total, label="reading", file=sys.stderr
            )
        self._bar.update(done - self._done)
        self._done = done

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()
