"""`specsteer import auto`: say what is there and what will be done, then do it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.import_reports import joined, show_report
from edge_app.commands.progress import Progress
from models.asking import confirm
from personal_store import ImportReport, Store
from personal_store.errors import SourceError, StoreBusyError
from personal_store.importers.formats.service_files import BOTH, NOBODY, OTHERS, YOURS
from personal_store.ingest.discovery import Discovery, discover
from personal_store.ingest.guards import in_words
from personal_store.ingest.importing import import_sources

_SUFFIXES = 6
_NAMED = 3
"""Files that are named where no importer knows more than these."""


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
    width = max((len(found.kind) for found in discovery.found), default=0)
    for found in discovery.found:
        files = "1 file" if found.files == 1 else f"{found.files:,} files"
        click.echo(f"  {found.kind:<{width}}  {files}, {in_words(found.size)}")
    for line in unread(discovery):
        click.echo(f"  {one_line(line)}")
    for fault in discovery.faults:
        click.echo(f"  {one_line(str(fault))}")
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


def unread(discovery: Discovery) -> Iterator[str]:
    """What is not read, as sentences, by the reason why."""
    whose: dict[str, list[str]] = {}
    for file, row in discovery.kept_out:
        whose.setdefault(_WHOSE[row.whose], []).append(file.name)
    for why, names in whose.items():
        more = len(names) - _NAMED
        others = f" and {more:,} more" if more > 0 else ""
        yield f"not read: {', '.join(names[:_NAMED])}{others}, {why}"
    if discovery.unsigned:
        counted = ", ".join(f"{f.files:,} {f.kind}" for f in discovery.unsigned)
        yield (
            f"not read: {counted}, which do not say who wrote them; --mine says that "
            "you did"
        )
    if 0 < len(discovery.left) <= _NAMED:
        yield "not read: " + ", ".join(file.name for file in discovery.left)
    elif discovery.left:
        common = discovery.left_by_suffix().most_common(_SUFFIXES)
        shown = [f"{count:,} {name}" for name, count in common]
        if rest := len(discovery.left) - sum(count for _, count in common):
            shown.append(f"{rest:,} others")
        yield f"not read: {len(discovery.left):,} files ({', '.join(shown)})"


_WHOSE = {
    OTHERS: "which others wrote",
    BOTH: "which others wrote, too",
    NOBODY: "which nobody wrote",
    YOURS: "which you wrote, but not to be read",
}


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
