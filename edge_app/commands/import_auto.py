"""`specsteer import auto`: say what is there and what will be done, then do it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.import_reports import show_report
from edge_app.commands.progress import Progress
from edge_app.service.import_plan import AUTO, joined, plan, planned
from models.asking import confirm
from personal_store import ImportReport, Store, import_source
from personal_store.errors import SourceError, StoreBusyError
from personal_store.ingest.discovery import Discovery, discover
from personal_store.ingest.importing import import_sources
from personal_store.ingest.unfinished import Unfinished, dismiss, noted, unfinished
from personal_store.records import ProgressCallback


@dataclass(frozen=True, slots=True)
class Owner:
    """What the person said on the command line."""

    me: Sequence[str] = ()
    mapping: Mapping[str, str] | None = None
    mine: bool = False
    """Whether files that do not say who wrote them are the person's."""
    again: bool = False
    """Read files that have not changed since, too."""

    def asks(self, kind: str, path: Path) -> Unfinished:
        """This import, as the store keeps it until it is finished."""
        mapping, me = dict(self.mapping or {}), tuple(self.me)
        return Unfinished(kind, path.absolute(), me, mapping, self.mine)


def import_everything(store: Store, path: Path, owner: Owner, *, agreed: bool) -> None:
    """Show the plan, ask, and import one kind after the other."""
    discovery = discover(path, mine=owner.mine)
    click.echo(f"In {path}:")
    lines: Iterable[str] = plan(discovery)
    if discovery.found and not agreed:  # who is asked has to know whose it is
        seen = planned(discovery, owner.me, store.identities())
        lines = filter(None, (*seen.lines, seen.problem))
    for line in lines:
        click.echo(f"  {one_line(line)}")
    if not discovery.found:
        hint = "add --mine if you wrote all of it, or name a kind"
        if not discovery.unsigned:
            hint = "'specsteer import --help' lists the kinds that can be named"
        raise SourceError(f"Nothing in {path} can be imported by itself: {hint}.")
    if not (agreed or _asked(path)):
        return
    reports: list[ImportReport] = []
    with noted(store, owner.asks(AUTO, path), lambda *_: None) as advance:
        import_found(store, discovery, owner, reports, advance)
    click.echo(joined(reports).summary())
    if len(reports) < len(discovery.found):
        raise click.exceptions.Exit(1)


def go_on(store: Store, *, agreed: bool) -> None:
    """Offer each import that was broken off, the last one first, and go on with it.

    Raises:
        UsageError: there is none.
        SourceError, StoreError: as the import itself does.
    """
    found = unfinished(store)
    if not found:
        raise click.UsageError(
            "Missing argument 'PATH': a file or folder to import. No import was broken "
            "off that could go on."
        )
    for asked in found:
        told = one_line(asked.in_words)
        if not asked.path.exists():
            click.echo(f"{told}; it is not there any more, what was read stays")
            dismiss(store, asked)
            continue
        click.echo(told)
        if not (agreed or _is_terminal()):
            click.echo("Nothing is imported yet: add --yes to go on with it.")
            return
        if not agreed and not confirm("Go on with it?", default=True):
            if confirm("Offer it no more?", default=False):
                dismiss(store, asked)
            continue
        owner = Owner(asked.me, dict(asked.mapping) or None, asked.mine)
        if asked.kind == AUTO:
            import_everything(store, asked.path, owner, agreed=True)
        else:
            import_one(store, asked.kind, asked.path, owner)


def import_one(store: Store, kind: str, path: Path, owner: Owner) -> None:
    """Import with one importer, and say what came of it."""
    with (
        Progress(in_bytes=True) as progress,
        noted(store, owner.asks(kind, path), progress.show) as advance,
    ):
        report = import_source(
            store,
            kind,
            path,
            me=owner.me,
            mapping=owner.mapping,
            progress=advance,
            again=owner.again,
        )
    show_report(report)
    click.echo(report.summary())


def import_found(
    store: Store,
    discovery: Discovery,
    owner: Owner,
    reports: list[ImportReport],
    advance: ProgressCallback,
) -> None:
    """Add one report per kind, before it is shown, so that a stop counts it. A kind
    that cannot be imported says why, others go on; `advance` hears of all of them."""
    total, before = sum(found.size for found in discovery.found), 0
    for found in discovery.found:
        try:
            with Progress(found.kind, in_bytes=True) as progress:

                def show(
                    done: int,
                    of: int,
                    bar: Progress = progress,
                    before: int = before,
                ) -> None:
                    advance(before + done, total)
                    bar.show(done, of)

                report = import_sources(
                    store,
                    found.kind,
                    found.sources,
                    me=owner.me,
                    mapping=owner.mapping,
                    progress=show,
                    again=owner.again,
                )
            reports.append(report)
            click.echo(f"{found.kind}: {report.summary()}", err=True)
            show_report(report, indent="  ")
        except StoreBusyError:
            raise
        except SourceError as error:
            click.echo(f"{found.kind}: {one_line(str(error))}", err=True)
        before += found.size


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
