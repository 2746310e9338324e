"""`specsteer store`: the file that holds the history."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from base.owner_only import is_special, part_of, put_in_place, shred
from decoding_core.foreign_text import escaped_json, legible, ungated
from edge_app.commands.forget import show_proof
from edge_app.commands.options import assume_yes, confirmed
from edge_app.commands.serve import KEY, key_path
from edge_app.commands.terminal import Progress, note
from edge_app.config import sealed, settings, sign_ins
from edge_app.config.settings import ledger_path, store_path
from edge_app.privacy.ledger import SPENT, reseal, spent_path
from edge_app.service.last_draft import LAST_DRAFT, last_draft_path
from edge_app.tui.outside import drop_mails
from models.command_line import Group, ask_secret
from models.folders import state_folder
from personal_store import Store, StoreError, copies, keys, transfer
from personal_store.errors import faults
from personal_store.lifecycle.cleaning import clean_all_waiting
from personal_store.lifecycle.forgetting import tidy as tidy_up
from personal_store.lifecycle.writing import keep_bodies
from personal_store.search.tables import check


def put_under(old: str | None, new: str | None) -> None:
    """Seal the ledger and the files beside it with another key of the store, or make
    them plain without one; the old files are overwritten. Raises OSError,
    StoreBusyError while a text is written, and StoreLockedError for a wrong old key."""
    for path, what in (
        (settings.settings_path(), settings.SETTINGS),
        (settings.allowed_path(), settings.ALLOWED),
        (spent_path(ledger_path()), SPENT),
        (state_folder() / settings.PAIRED_NAME, settings.PAIRED),
        (key_path(), KEY),
        (last_draft_path(), LAST_DRAFT),
    ):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if sealed.is_sealed(data):
            seal = sealed.Seal(old or new or "")
            data = seal.opened(data.decode("ascii", "replace"), what)
        sealed.replace_file(path.resolve(), sealed.closed(data, what, new))
    reseal(ledger_path(), old, new)


_THERE = "{} is there already: --force replaces it."
_FORMATS = {"jsonl": transfer.as_lines, "mbox": transfer.as_mailbox}
_OTHER = click.argument("other", metavar="FILE", type=click.Path(path_type=Path))


@click.group("store", cls=Group)
def store_command() -> None:
    """Back up, restore, merge, export and encrypt the store of your texts.

    \b
        specsteer store export my-texts.jsonl
        specsteer store backup
        specsteer store merge ~/from-my-laptop/store.db
        specsteer store encrypt
    """


@store_command.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(_FORMATS)),
    help="By the ending of the name, else jsonl.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def export(file: Path, kind: str | None, force: bool) -> None:
    """Write everything to FILE ('-' for the standard output). A file that is there is
    left alone unless --force is given, and replaced as a whole then.

    jsonl holds every field of every record, and what you changed, pinned or struck out
    of your voice; 'specsteer import jsonl FILE' reads it back with nothing lost. mbox
    holds your own mails as other programs read them, as they are stored: your words,
    without quotes and attachments. In jsonl, control characters are spelled out
    (\u001b) and so do nothing to a terminal; an mbox that is shown in one has them
    replaced.
    """
    if str(file) != "-" and not force and os.path.lexists(file):
        raise StoreError(_THERE.format(file))
    kind = kind or ("mbox" if file.suffix == ".mbox" else "jsonl")
    with Store.open(store_path()) as store:
        if kind == "jsonl":
            _clean_received(store)
        lines = _FORMATS[kind](store.db)
        if kind == "jsonl":
            lines = (escaped_json(line.decode()).encode() for line in lines)
        if str(file) == "-":
            texts = sum(map(_to_stdout, lines))
        else:
            texts = _to_file(file, lines, force)
            if kind == "jsonl":
                texts -= store.db["voice_mark"].count
            click.echo(f"exported {texts:,} texts to {file}")


@store_command.command("backup")
def backup() -> None:
    """Copy the store to a file beside it, in place of the backup there was.

    One is made by itself before an update changes the store. Forgetting makes it anew.
    """
    with Store.open(store_path()) as store:
        click.echo(copies.back_up(store.db, store.path))


@store_command.command("restore")
@click.argument(
    "other", metavar="[FILE]", type=click.Path(path_type=Path), required=False
)
@assume_yes
def restore(other: Path | None, yes: bool) -> None:
    """Put the store back to what FILE holds, usually the backup beside it.

    What was imported since goes; what was forgotten stays forgotten. A store that
    cannot be opened at all is set aside.
    """
    path = store_path()
    chosen = other or copies.backup_path(path)
    if not chosen.exists():
        raise StoreError(f"There is no backup {chosen}.")
    confirmed(f"Replace the store by {chosen}?", yes=yes)
    try:
        store = Store.open(path)
    except StoreError as error:
        if other is not None:
            raise
        note(f"{error} It lies in {transfer.put_back(path)} now.")
        store = Store.open(path)
    with store:
        stayed = transfer.restore(store.db, path, chosen)
        click.echo(f"restored {store.counts()['own']:,} own texts from {chosen}")
    if stayed:
        note(f"{stayed:,} texts stay forgotten")


@store_command.command("merge")
@_OTHER
def merge(other: Path) -> None:
    """Take over what the store FILE of another device has and this one lacks.

    FILE stays as it is. What either has forgotten goes here, too. Merging twice changes
    nothing.
    """
    with Store.open(store_path()) as store:
        done = transfer.merge(store.db, store.path, other)
    for address in done.addresses:
        note(f"{address} is one of your addresses there, and is here now")
    click.echo(
        f"added {done.added:,}, changed {done.changed:,}, forgot {done.forgotten:,}"
    )


@store_command.command("tidy")
def tidy() -> None:
    """Overwrite what deleted texts have left, and account for all that the store holds.

    It ends what 'specsteer forget' could not, and checks the whole store. Where that is
    encrypted, files beside it that are plain are put under its key.
    """
    with Store.open(store_path()) as store, Progress("checking") as progress:
        try:
            wrong = check(store.db)
        except faults() as error:
            wrong = [str(error)]
        if wrong:
            lines = "; ".join(wrong[:3])
            raise StoreError(
                f"The store is damaged ('store restore' may help): {lines}."
            )
        proof = tidy_up(store.db, store.path, progress.show)
    if (key := sealed.key_of(store_path())) is not None:
        put_under(key, key)  # what was put there by hand, or before it was encrypted
    show_proof(proof, "tidy and sound: ")


@store_command.command("raw")
@click.argument("what", type=click.Choice(["on", "off"]))
def raw(what: str) -> None:
    """Keep the raw bodies that your mails are cleaned out of, or drop them all.

    With them, 'specsteer reclean' needs no second import. They hold quotes of others.
    Without them, also received mail is cleaned when it is imported, not when it is
    first looked for.
    """
    with Store.open(store_path()) as store:
        if what == "off":
            _clean_received(store)
        dropped = keep_bodies(store.db, what == "on")
        if what == "off":
            proof = tidy_up(store.db, store.path)
            if proof.left:
                show_proof(proof, f"dropped {dropped:,}; ")
    kept = "kept from the next import on" if what == "on" else "no longer kept"
    click.echo(f"raw bodies are {kept}" + (f"; dropped {dropped:,}" if dropped else ""))


@store_command.command("encrypt")
@click.option("--keyring", is_flag=True, help="A random key, kept in the keyring.")
def encrypt(keyring: bool) -> None:
    """Encrypt the store, its backup and what lies beside it, with a passphrase or a
    key in the keyring.

    Beside it lie the ledger, kept drafts, the settings, what pairing gave
    and the key of 'specsteer serve'; 'specsteer store settings' shows the settings
    then. Adapters are left out.

    The passphrase is asked for, or read from SPECSTEER_STORE_KEY; so it is whenever
    the store is opened. With --keyring it is the system's keyring that opens the store;
    the random key is printed once: keep a copy, as nothing opens the store without it.
    Needs more libraries; without them, the command that adds them is printed.
    """
    keys.cipher()
    key = keys.fresh() if keyring else _new_passphrase()
    if keyring:
        keys.put_in_keyring(store_path(), key)
        click.echo(key)
    try:
        copies.encrypt(store_path(), key)
    except BaseException:
        if keyring:
            keys.forget_in_keyring(store_path())
        raise
    put_under(None, key)
    _convert_drafts(key)
    drop_mails()
    note("the store is encrypted, and the ledger, drafts and settings with it")


@store_command.command("settings")
def show_settings() -> None:
    """Show settings.toml, also where it is encrypted with the store.

    To change it then, write what this shows to a file, edit that, and put it in the
    place of settings.toml; 'specsteer store tidy' encrypts it again.
    """
    path = settings.settings_path()
    if not path.exists():
        raise StoreError(f"There is no {path}: every setting is as usual.")
    data = sealed.read_file(path, settings.SETTINGS, store_path())
    click.echo(data.decode("utf-8", "replace"))


@store_command.command("decrypt")
@assume_yes
def decrypt(yes: bool) -> None:
    """Make the store, its backup and what lies beside it plain files again.

    Sign-ins to mail are never plain: without a keyring they are deleted.
    """
    Store.open(store_path()).close()
    if not copies.is_encrypted(store_path()):
        raise StoreError(f"The store {store_path()} is plain: it is not encrypted.")
    confirmed("Store your texts unencrypted?", yes=yes)
    _convert_drafts("")
    key = keys.known(store_path())
    if not keys.in_keyring(store_path(), sign_ins.NAME):  # else they stay sealed by it
        sign_ins.forget_all(store_path())
    copies.decrypt(store_path())
    put_under(key, None)
    keys.forget_in_keyring(store_path())
    note("the store is not encrypted any more")


def _convert_drafts(key: str) -> None:
    """Seal the app's drafts with another key of the store, empty for none."""
    from edge_app.commands.app import draft_journals

    for problem in draft_journals().convert(key):
        note(f"not converted: {problem}")


def _new_passphrase() -> str:
    if given := os.environ.get(keys.VARIABLE):
        return given
    if not sys.stdin.isatty():
        raise StoreError(
            f"Give the passphrase in {keys.VARIABLE}, or run it in a terminal."
        )
    return ask_secret("New passphrase", twice=True)


def _clean_received(store: Store) -> None:
    with Progress("cleaning received mail") as progress:
        clean_all_waiting(store.db, progress=progress.show)


def _to_stdout(text: bytes) -> int:
    if sys.stdout.isatty():
        click.echo(legible(text.decode("utf-8", "replace")), nl=False)
    else:
        ungated(sys.stdout).buffer.write(text)
    return 1


def _to_file(file: Path, lines: Iterable[bytes], force: bool) -> int:
    """Whole or not at all, readable by its owner alone."""
    if is_special(file):
        raise StoreError(f"{file} is a device or a pipe and no file: name a file.")
    part = part_of(file)
    try:
        with part.open("wb") as stream:
            texts = sum(1 for line in lines if stream.write(line))
        if not force and os.path.lexists(file):  # it has come meanwhile
            raise StoreError(_THERE.format(file))
        put_in_place(part, file)
    finally:
        shred(part)
    return texts
