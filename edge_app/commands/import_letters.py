"""`specsteer import`."""

from __future__ import annotations

from pathlib import Path

import click

from edge_app.commands.import_auto import Owner, go_on, import_everything, import_one
from edge_app.commands.import_imap import import_sent_folder
from edge_app.commands.import_watch import import_and_watch
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store import Store, importers
from personal_store.importers import TalkImporter

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
    specsteer import lamp LaMP_4_dev_questions.json --map user=410
"""


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
    help="For csv and jsonl, such as text=Body; repeatable. It is remembered for "
    "files with the same columns. For lamp, user=ID takes one of its users.",
)
@click.option("--server", metavar="NAME", help="For imap: imap.example.org[:993].")
@click.option(
    "--folder", default="", help="For imap: the folder, if not that of sent mail."
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
def command(
    kind: str,
    path: Path | None,
    me: tuple[str, ...],
    mapping: tuple[str, ...],
    server: str | None,
    folder: str,
    mine: bool,
    agreed: bool,
    again: bool,
    watch: bool,
) -> None:
    """Choose between the ways to import."""
    columns = {}
    for item in mapping:
        name, found, column = item.partition("=")
        if not found:
            raise click.UsageError(f"--map takes FIELD=COLUMN, not '{item}'")
        columns[name] = column
    if path is None and (kind != "auto" or watch):
        raise click.UsageError("Missing argument 'PATH': a file or folder to import.")
    owner = Owner(me, columns or None, mine, again)
    # Names are for chats; elsewhere what has no @ is a slip of the keyboard.
    if kind != "auto" and not isinstance(importers.load(kind), TalkImporter):
        for address in me:
            if "@" not in address:
                raise click.UsageError(f"--me takes an address, not '{address}'")
    if mine and kind != "auto":
        raise click.UsageError(f"--mine is for auto: '{kind}' takes what it is given")
    if (kind == "imap") != (server is not None):
        raise click.UsageError("imap, and only imap, needs --server NAME")
    try:
        with Store.open(store_path()) as store:
            if path is None:
                go_on(store, agreed=agreed)
            elif server is not None:
                import_sent_folder(store, str(path), server, folder, owner)
            elif watch:
                import_and_watch(store, kind, path, owner)
            elif kind == "auto":
                import_everything(store, path, owner, agreed=agreed)
            else:
                import_one(store, kind, path, owner)
    except KeyboardInterrupt:
        note = "What was imported so far is kept; the same import goes on from there."
        click.echo(note, err=True)
        raise
