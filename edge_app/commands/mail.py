"""Mail from a server into the store: by a password, or by a sign-in in the browser."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import click

from base.extras import how_to_install
from decoding_core.foreign_text import one_line
from edge_app.commands.terminal import Progress, note
from edge_app.config import sign_ins
from edge_app.config.sign_ins import SignIn
from models.command_line import ask_secret
from personal_store import ImportReport, Store
from personal_store.errors import SourceError
from personal_store.importers import imap
from personal_store.importing import import_source


def account(user: str, server: str) -> imap.Login:
    """Where the mail is; raises UsageError if the server is not NAME or NAME:PORT."""
    name, found, port = server.rpartition(":")
    if not found:
        name, port = server, "0"
    elif not (port.isdecimal() and 0 < int(port) < 65536):
        raise click.UsageError(f"--server takes NAME or NAME:PORT, not '{server}'")
    return imap.Login(name, user, "", int(port))


def import_sent(
    store: Store,
    login: imap.Login,
    folder: str,
    me: tuple[str, ...],
    registration: str | None,
) -> ImportReport:
    """Log in, read what is new, log out. Passwords and tokens are never arguments."""
    token = _signed_in(store, login, registration)
    password = "" if token is not None else _password(login)
    login = replace(login, password=password, folder=folder, token=token)
    me = me or ((login.user,) if "@" in login.user else ())
    with imap.connected(login) as mailbox, Progress("reading") as progress:
        return import_source(store, "imap", [mailbox], me=me, progress=progress.show)


def sign_out(store: Store, login: imap.Login) -> None:
    """Delete the tokens of an account."""
    name = one_line(f"{login.user} at {login.server}")
    if not sign_ins.forget(store.path, login.server, login.user):
        click.echo(f"there is no sign-in of {name}")
        return
    click.echo(f"the sign-in of {name} is deleted from this device")
    note(
        "the provider still lists this program: at Microsoft, take its access back at "
        "https://account.live.com/consent/Manage or https://myapps.microsoft.com"
    )


def _signed_in(
    store: Store, login: imap.Login, registration: str | None
) -> Callable[[bool], str] | None:
    """Access tokens for an account by a new sign-in or the kept one; None without."""
    kept = None
    if registration is None:
        kept = sign_ins.find(store.path, login.server, login.user)
        if kept is None:
            return None
    from edge_app.transport import oauth  # httpx takes a moment to load

    if kept is not None:
        client, tokens = oauth.Client(kept.client, kept.provider), None
    else:
        client = oauth.client_of(registration or "")
        code = oauth.begin(client)
        note(f"Open in a browser:  {one_line(code.address)}")
        note(f"Enter this code:    {one_line(code.code)}")
        note(f"and sign in there as {one_line(login.user)}. Ctrl-C loses nothing.")
        with Progress("waiting for the code") as progress:
            tokens = oauth.wait_for(
                client,
                code,
                lambda waited: progress.show(int(waited), int(code.seconds)),
            )
        kept = SignIn(login.server, login.user, client.id, client.provider, "")
    sign_in = kept

    def keep(refresh: str) -> None:
        if not sign_ins.keep(store.path, replace(sign_in, token=refresh)):
            note(
                "the sign-in lasts for this import alone, as no keyring keeps it here "
                "and the store is not encrypted; on a desktop "
                f"'{how_to_install('keyring')}' changes that, elsewhere 'specsteer "
                "store encrypt'"
            )

    return oauth.AccessTokens(client, sign_in.token, keep, tokens)


def _password(login: imap.Login) -> str:
    """The password in the keyring, or typed; raises SourceError without a terminal."""
    password = _from_keyring(f"specsteer:{login.server}", login.user)
    if not password and not sys.stdin.isatty():
        raise SourceError(
            f"There is no password for {login.user}: run this in a terminal, or store "
            f"it with 'keyring set specsteer:{login.server} {login.user}', after "
            f"'{how_to_install('keyring')}'."
        )
    return password or ask_secret(f"Password of {login.user}")


def _from_keyring(service: str, user: str) -> str | None:
    """The password in the system's keyring, if there is a keyring that has it."""
    try:
        import keyring  # an extra
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(service, user)
    except KeyringError as error:
        note(f"the keyring does not answer: {error}")
        return None
    return found
