"""`specsteer import auto`: say what is there and what will be done, then do it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.import_reports import show_report
from edge_app.commands.progress import Progress
from edge_app.service.import_plan import joined, plan
from models.asking import confirm
from personal_store import ImportReport, Store
from personal_store.errors import SourceError, StoreBusyError
from personal_store.ingest.discovery import Discovery, discover
from personal_store.ingest.importing import import_sources


@dataclass(frozen=True, slots=True)
class Owner:
    """What the person said on the command line."""

    me: Sequence[str] = ()
    mapping: Mapping[str, str] | None = None
    mine: bool = False
    """Whether files that do not say who wrote them are the person's."""
    again: bool = False
    """Read files that have not changed since, too."""


def import_everything(store: Store, path: Path, owner: Owner, *, agreed: bool) -> None:
    """Show the plan, ask, and import one kind after the other."""
    discovery = discover(path, mine=owner.mine)
    click.echo(f"In {path}:")
    for line in plan(discovery):
        click.echo(f"  {one_line(line)}")
    if not discovery.found:
        hint = "add --mine if you wrote all of it, or name a kind"
        if not discovery.unsigned:
            hint = "'specsteer import --help' lists the kinds that can be named"
        raise SourceError(f"Nothing in {path} can be imported by itself: {hint}.")
    if not (agreed or _asked(path)):
        return
    reports: list[ImportReport] = []
    import_found(store, discovery, owner, reports)
    click.echo(joined(reports).summary())
    if len(reports) < len(discovery.found):
        raise click.exceptions.Exit(1)


def import_found(
    store: Store, discovery: Discovery, owner: Owner, reports: list[ImportReport]
) -> None:
    """Add one report per kind, before it is shown, so that a stop counts it. A kind
    that cannot be imported says why, others go on."""
    for found in discovery.found:
        try:
            with Progress(found.kind, in_bytes=True) as progress:
                report = import_sources(
                    store,
                    found.kind,
                    found.sources,
                    me=owner.me,
                    mapping=owner.mapping,
                    progress=progress.show,
                    again=owner.again,
                )
            reports.append(report)
            click.echo(f"{found.kind}: {report.summary()}", err=True)
            show_report(report, indent="  ")
        except StoreBusyError:
            raise
        except SourceError as error:
            click.echo(f"{found.kind}: {one_line(str(error))}", err=True)


def _asked(path: Path) -> bool:
    if not _is_terminal():
        click.echo(
            "Nothing is imported yet: add --yes to import this, or name one kind, as "
            f"in 'specsteer import KIND {path}'."
        )
        return False
    if confirm("Import this as your own writing?", default=True):
        return True
    click.echo("Nothing is imported.", err=True)
    return False


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
