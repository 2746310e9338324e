"""`specsteer import auto`: say what is there and what will be done, then do it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from edge_app.commands.import_reports import joined, narrate
from edge_app.commands.output import printable
from edge_app.commands.progress import Progress
from personal_store import ImportReport, Store
from personal_store.discovery import Discovery, Found, discover
from personal_store.errors import SourceError, StoreBusyError
from personal_store.importing import import_sources
from personal_store.room import in_words

_SUFFIXES = 6
_NAMED = 3
"""Files that are named where no importer knows more than these."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What the person said on the command line."""

    me: Sequence[str] = ()
    mapping: Mapping[str, str] | None = None


def import_everything(store: Store, path: Path, owner: Owner, *, agreed: bool) -> None:
    """Show the plan, ask, and import one kind after the other."""
    discovery = discover(path)
    _show(path, discovery)
    if not discovery.found:
        raise SourceError(
            f"Nothing in {path} can be imported by itself: 'specsteer import --help' "
            "lists the kinds that can be named."
        )
    if not (agreed or _asked(path)):
        return
    reports = import_found(store, discovery, owner)
    click.echo(joined(reports).summary())
    if len(reports) < len(discovery.found):
        raise click.exceptions.Exit(1)


def import_found(
    store: Store, discovery: Discovery, owner: Owner
) -> list[ImportReport]:
    """One report per kind; a kind that cannot be imported says why, others go on."""
    reports = []
    for found in discovery.found:
        try:
            reports.append(_import(store, found, owner))
        except StoreBusyError:
            raise
        except SourceError as error:
            click.echo(f"{found.kind}: {error}", err=True)
    return reports


def _import(store: Store, found: Found, owner: Owner) -> ImportReport:
    with Progress(found.kind, in_bytes=True) as progress:
        report = import_sources(
            store,
            found.kind,
            found.sources,
            me=owner.me,
            mapping=owner.mapping,
            progress=progress.show,
        )
    click.echo(f"{found.kind}: {report.summary()}", err=True)
    narrate(report, indent="  ")
    return report


def _show(path: Path, discovery: Discovery) -> None:
    click.echo(f"In {path}:")
    width = max((len(found.kind) for found in discovery.found), default=0)
    for found in discovery.found:
        files = "1 file" if found.files == 1 else f"{found.files:,} files"
        click.echo(f"  {found.kind:<{width}}  {files}, {in_words(found.size)}")
    if discovery.left:
        click.echo(f"  not read: {printable(_left(discovery))}")
    for fault in discovery.faults:
        click.echo(f"  {fault}")


def _left(discovery: Discovery) -> str:
    if len(discovery.left) <= _NAMED:
        return ", ".join(file.name for file in discovery.left)
    counted = discovery.left_by_suffix()
    shown = [f"{count:,} {name}" for name, count in counted.most_common(_SUFFIXES)]
    others = len(discovery.left) - sum(n for _, n in counted.most_common(_SUFFIXES))
    more = f", {others:,} others" if others else ""
    return f"{len(discovery.left):,} files ({', '.join(shown)}{more})"


def _asked(path: Path) -> bool:
    if not _is_terminal():
        click.echo(
            "Nothing is imported yet: add --yes to import this, or name one kind, as "
            f"in 'specsteer import KIND {path}'."
        )
        return False
    if click.confirm("Import this as your own writing?", default=True, err=True):
        return True
    click.echo("Nothing is imported.", err=True)
    return False


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
