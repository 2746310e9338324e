"""`specsteer import`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from decoding_core.foreign_text import one_line
from edge_app.commands import mail
from edge_app.commands.terminal import Progress, is_interactive, note
from edge_app.config.settings import store_path
from edge_app.service import import_plan
from edge_app.service.import_plan import AUTO, import_noted
from models.command_line import Command, confirm
from personal_store import ImportReport, Store, discovery, importers
from personal_store.discovery import Discovery, discover, discover_in, may_hold_text
from personal_store.errors import SourceError
from personal_store.files import Source, everything, opened
from personal_store.import_runs import Unfinished, dismiss, unfinished
from personal_store.importers import TalkImporter

_FAILURES = 20  # how many failures are shown
_HELP = f"""Read your own texts from PATH into the store on this device.

PATH is a file, a folder, or an export as it was downloaded (zip, tgz). KIND is 'auto',
which finds out what is in it, says so and asks, or one of:
{", ".join(importers.available())}.

Importing the same file again adds nothing, and a file that has not changed is not read
again; an import that was stopped goes on where it was, and 'auto' without PATH offers
just that. The last line counts what was
added, skipped and failed, and what others wrote: that is stored, and never imitated.
Where each service hides its export: docs/importing.md.

\b
    specsteer import auto takeout-20240312.zip
    specsteer import auto
    specsteer import auto ~/Documents --mine
    specsteer import mbox "All mail.mbox" --me you@example.org
    specsteer import google_reviews Takeout/Maps/Reviews.json
    specsteer import csv reviews.csv --map text=Body --map date=Created
    specsteer import markdown ~/Notes --watch
    specsteer import imap you@example.org --server imap.example.org
    specsteer import imap you@outlook.com --server outlook.office365.com \\
        --sign-in 1b2c3d4e-5f60-4718-92a3-b4c5d6e7f809
    specsteer import lamp LaMP_4_dev_questions.json --map user=410
"""


def _columns(_: object, __: object, given: Iterable[str]) -> dict[str, str]:
    """The columns of --map by their fields; raises UsageError for anything else."""
    columns = {}
    for item in given:
        name, found, columns[name] = item.partition("=")
        if not found:
            raise click.UsageError(f"--map takes FIELD=COLUMN, not '{item}'")
    return columns


@click.command("import", cls=Command, help=_HELP)
@click.argument("kind", metavar="KIND")
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--me",
    multiple=True,
    metavar="ADDRESS",
    help="Your address, or your name in a chat; repeatable.",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    callback=_columns,
    help="For csv and jsonl, such as text=Body; repeatable. It is remembered for "
    "files with the same columns. For lamp, user=ID takes one of its users.",
)
@click.option("--server", metavar="NAME", help="For imap: imap.example.org[:993].")
@click.option(
    "--folder", default="", help="For imap: the folder, if not that of sent mail."
)
@click.option(
    "--sign-in",
    metavar="ID",
    help="For imap without a password, as Microsoft wants it: shows a code to enter in "
    "a browser, and keeps the sign-in. ID is that of your own registration: "
    "docs/importing.md says where to get one.",
)
@click.option(
    "--mine",
    is_flag=True,
    help="With auto: documents and tables outside of exports, which do not say who "
    "wrote them, are all yours.",
)
@click.option("--yes", "agreed", is_flag=True, help="With auto: do not ask.")
@click.option("--again", is_flag=True, help="Read files too that have not changed.")
@click.option("--watch", is_flag=True, help="Stay, and import again when files change.")
@click.option("--sign-out", is_flag=True, help="For imap: delete the kept sign-in.")
def import_command(
    kind: str,
    path: Path | None,
    me: tuple[str, ...],
    mapping: Mapping[str, str],
    server: str | None,
    folder: str,
    sign_in: str | None,
    mine: bool,
    agreed: bool,
    again: bool,
    watch: bool,
    sign_out: bool,
) -> None:
    """Choose between the ways to import."""
    if path is None and (kind != AUTO or watch):
        raise click.UsageError("Missing argument 'PATH': a file or folder to import.")
    # Names are for chats; elsewhere what has no @ is a slip of the keyboard.
    if kind != AUTO and not isinstance(importers.load(kind), TalkImporter):
        for address in me:
            if "@" not in address:
                raise click.UsageError(f"--me takes an address, not '{address}'")
    if mine and kind != AUTO:
        raise click.UsageError(f"--mine is for auto: '{kind}' takes what it is given")
    if (kind == "imap") != (server is not None):
        raise click.UsageError("imap, and only imap, needs --server NAME")
    if (sign_in or sign_out) and (kind != "imap" or (sign_in and sign_out)):
        raise click.UsageError("--sign-in and --sign-out are for imap, one of them")
    try:
        with Store.open(store_path()) as store:
            if path is None:
                _go_on(store, agreed=agreed)
                return
            asked = Unfinished(kind, path.absolute(), me, mapping, mine)
            if server is not None:
                account = mail.account(str(path), server)
                if sign_out:
                    mail.sign_out(store, account)
                    return
                report = mail.import_sent(store, account, folder, me, sign_in)
                show_report(report)
                click.echo(report.summary())
            elif watch:
                _watch(store, path, asked, again=again)
            elif kind == AUTO:
                _import_everything(store, path, asked, agreed=agreed, again=again)
            else:
                click.echo(_import(store, asked, again=again).summary())
    except KeyboardInterrupt:
        note("What was imported so far is kept; the same import goes on from there.")
        raise


def _import(
    store: Store,
    asked: Unfinished,
    discovery: Discovery | None = None,
    *,
    again: bool = False,
    reports: list[ImportReport] | None = None,
) -> ImportReport:
    """Import behind a bar and show what came of it. Each report of a discovery is added
    to `reports` before it is shown, so that a stop counts it."""
    with Progress(in_bytes=True) as progress:

        def on_kind(kind: str, outcome: ImportReport | SourceError) -> None:
            progress.end()
            if isinstance(outcome, SourceError):
                note(f"{kind}: {one_line(str(outcome))}")
                return
            if reports is not None:
                reports.append(outcome)
            note(f"{kind}: {outcome.summary()}")
            show_report(outcome, indent="  ")

        report = import_noted(
            *(store, asked, progress.show),
            again=again,
            discovery=discovery,
            on_kind=on_kind,
        )
    if discovery is None:
        show_report(report)
    return report


def _import_everything(
    store: Store, path: Path, asked: Unfinished, *, agreed: bool, again: bool = False
) -> None:
    """Show the plan, ask, and import one kind after the other."""
    discovery = discover(path, mine=asked.mine)
    click.echo(f"In {path}:")
    lines: Iterable[str] = import_plan.plan(discovery)
    if discovery.found and not agreed:  # who is asked has to know whose it is
        seen, problem = import_plan.planned(discovery, asked.me, store.identities())
        lines = filter(None, (*seen, problem))
    for line in lines:
        click.echo(f"  {one_line(line)}")
    if not discovery.found:
        hint = "add --mine if you wrote all of it, or name a kind"
        if not discovery.unsigned:
            hint = "'specsteer import --help' lists the kinds that can be named"
        raise SourceError(f"Nothing in {path} can be imported by itself: {hint}.")
    if not (agreed or is_interactive()):
        click.echo(
            "Nothing is imported yet: add --yes to import this, or name one kind, as "
            f"in 'specsteer import KIND {path}'."
        )
        return
    if not (agreed or confirm("Import this as your own writing?", default=True)):
        note("Nothing is imported.")
        return
    report = _import(store, asked, discovery, again=again)
    click.echo(report.summary())
    if report.notes:  # a kind that could not be imported
        raise click.exceptions.Exit(1)


def _go_on(store: Store, *, agreed: bool) -> None:
    """Offer each unfinished import, the last one first; raises UsageError if none."""
    found = unfinished(store)
    if not found:
        raise click.UsageError(
            "Missing argument 'PATH': a file or folder to import. No import was broken "
            "off that could go on."
        )
    for asked in found:
        words = one_line(asked.in_words)
        if not asked.path.exists():
            click.echo(f"{words}; it is not there any more, what was read stays")
            dismiss(store, asked)
            continue
        click.echo(words)
        if not (agreed or is_interactive()):
            click.echo("Nothing is imported yet: add --yes to go on with it.")
            return
        if not agreed and not confirm("Go on with it?", default=True):
            if confirm("Offer it no more?", default=False):
                dismiss(store, asked)
        elif asked.kind == AUTO:
            _import_everything(store, asked.path, asked, agreed=True)
        else:
            click.echo(_import(store, asked).summary())


def _watch(store: Store, path: Path, asked: Unfinished, *, again: bool) -> None:
    """Import what is there, then what comes or changes, until Ctrl-C."""
    reports: list[ImportReport] = []
    rounds = discovery.settled(path)
    note(f"watching {path}; Ctrl-C ends it")
    try:
        while (files := _next(rounds)) is not None:
            found = _changed(path, files, asked)
            _import(store, asked, found, again=again, reports=reports)
    finally:
        click.echo(import_plan.joined(reports).summary())


def _next(rounds: Iterator[list[Source]]) -> list[Source] | None:
    try:
        return next(rounds)
    except KeyboardInterrupt:
        return None


def _changed(path: Path, files: list[Source], asked: Unfinished) -> Discovery:
    """What is to be read of files that have changed."""
    if asked.kind != AUTO:
        try:
            return import_plan.of_kind(asked.kind, path, {file.path for file in files})
        except SourceError as error:
            if path.is_file():
                raise
            note(one_line(str(error)))
            return Discovery(())
    # What has not changed shows in whose export the changed files lie.
    beside = everything(path, may_hold_text) if asked.mine else []
    changed = list(opened(files, may_hold_text))
    found = discover_in(path, changed, mine=asked.mine, beside=beside)
    for line in import_plan.unread(found):
        note(one_line(line))
    return found


def show_report(report: ImportReport, indent: str = "") -> None:
    """Show all of a report but the counts, on stderr."""
    lines = [*report.notes, *map(str, report.failures[:_FAILURES])]
    if len(report.failures) > _FAILURES:
        lines.append(f"and {len(report.failures) - _FAILURES:,} more failures")
    if report.details():
        lines.append(report.details())
    for line in lines:
        note(indent + one_line(line))
