"""`specsteer import imap`: the folder of sent mail on a server."""

from __future__ import annotations

import sys

import click

from edge_app.commands.import_auto import Owner
from edge_app.commands.import_reports import show_report
from edge_app.commands.progress import Progress
from models.asking import ask_secret
from personal_store import Store
from personal_store.errors import SourceError
from personal_store.extras import how_to_install
from personal_store.importers import imap
from personal_store.ingest.importing import import_sources


def import_sent_folder(
    store: Store, user: str, server: str, folder: str, owner: Owner
) -> None:
    """Log in, read what is new, log out. The password is never an argument."""
    name, found, port = server.rpartition(":")
    if not found:
        name, port = server, "0"
    elif not (port.isdecimal() and 0 < int(port) < 65536):
        raise click.UsageError(f"--server takes NAME or NAME:PORT, not '{server}'")
    password = _from_keyring(f"specsteer:{name}", user)
    if not password and not sys.stdin.isatty():
        raise SourceError(
            f"There is no password for {user}: run this in a terminal, or store it "
            f"with 'keyring set specsteer:{name} {user}', after "
            f"'{how_to_install('keyring')}'."
        )
    password = password or ask_secret(f"Password of {user}")
    login = imap.Login(name, user, password, int(port), folder)
    me = owner.me or ([user] if "@" in user else [])
    with imap.connected(login) as mailbox, Progress("reading") as progress:
        report = import_sources(store, "imap", [mailbox], me=me, progress=progress.show)
    show_report(report)
    click.echo(report.summary())


def _from_keyring(service: str, user: str) -> str | None:
    """The password that the system's keyring knows, if there is one and it does."""
    try:
        import keyring  # an extra
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(service, user)
    except KeyringError as error:
        click.echo(f"the keyring does not answer: {error}", err=True)
        return None
    return found
