"""`specsteer import --watch`: stay, and import what changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.import_auto import Owner, import_found
from edge_app.commands.import_reports import show_report
from edge_app.commands.progress import Progress
from edge_app.service.import_plan import joined, unread
from personal_store import ImportReport, Store, import_source
from personal_store.errors import SourceError
from personal_store.files.files import Source
from personal_store.files.sources import Selection, everything, only, opened
from personal_store.ingest import watching
from personal_store.ingest.discovery import discover_in, may_hold_text


def import_and_watch(store: Store, kind: str, path: Path, owner: Owner) -> None:
    """Import what is there, then what comes or changes, until Ctrl-C.

    Ctrl-C between two imports is how it ends; during one it stops that as well, which
    goes on there the next time.
    """
    reports: list[ImportReport] = []
    rounds = watching.settled(path)
    click.echo(f"watching {path}; Ctrl-C ends it", err=True)
    while (files := _next(rounds)) is not None:
        try:
            _import(store, kind, path, files, owner, reports)
        except KeyboardInterrupt:
            click.echo(joined(reports).summary())
            raise
    click.echo(joined(reports).summary())


def _next(rounds: Iterator[list[Source]]) -> list[Source] | None:
    try:
        return next(rounds)
    except KeyboardInterrupt:
        return None


def _import(
    store: Store,
    kind: str,
    path: Path,
    files: list[Source],
    owner: Owner,
    reports: list[ImportReport],
) -> None:
    if kind == "auto":
        # What has not changed tells in whose export the changed files lie.
        beside = everything(path, may_hold_text) if owner.mine else []
        changed = list(opened(files, may_hold_text))
        found = discover_in(path, changed, mine=owner.mine, beside=beside)
        for line in (*unread(found), *found.faults):
            click.echo(one_line(line), err=True)
        import_found(store, found, owner, reports, lambda *_: None)
        return
    if path.is_file():
        _one(store, kind, path, owner, reports)
        return
    with only(Selection(list(opened(files, may_hold_text)))) as selection:
        try:
            _one(store, kind, path, owner, reports)
        except SourceError as error:
            if selection.picked:  # else nothing of this kind has changed
                click.echo(one_line(str(error)), err=True)


def _one(
    store: Store, kind: str, path: Path, owner: Owner, reports: list[ImportReport]
) -> None:
    with Progress(in_bytes=True) as progress:
        report = import_source(
            store,
            kind,
            path,
            me=owner.me,
            mapping=owner.mapping,
            progress=progress.show,
        )
    reports.append(report)
    show_report(report)
    click.echo(report.summary(), err=True)
