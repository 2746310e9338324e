"""`specsteer purge`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from base.locks import lock
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.settings import store_path
from models.asking import confirm
from models.folders import WRITER_VARIABLE, WRITERS, state_folder
from models.lazy_commands import Command
from personal_store.database import keys
from personal_store.files.private_files import shred
from personal_store.ingest.guards import in_words

_OURS = (
    ("store.db*", "your letters"),
    ("store-*", "your letters: backups and the written profile"),
    ("sample*", "the sample letters"),
    ("drafts", "drafts of the app"),
    ("edit-*", "a draft that an editor had"),
    (WRITERS, "letters, drafts and settings of others who write here"),
    ("ledger.jsonl*", "the ledger of what left"),
    ("privacy-spent.*", "what was told of your letters, by day"),
    ("settings.toml*", "settings"),
    ("allowed.txt*", "phrases that may leave"),
    ("paired-server.json*", "the paired server and its token"),
    ("serve-key*", "the key of 'specsteer serve'"),
    ("adapters", "personal adapters"),
    ("models", "models that were pulled"),
    ("engine-*.json*", "what was measured of this machine"),
    ("cloud*", "the server's settings, token and certificate"),
    ("people*", "the server's people and devices"),
    ("*.part*", "files that were not finished"),
)
"""Names in the state folder, as patterns, and what they are."""
_NOT_SECRET = ("models", "engine-*.json*")
"""Deleted without being overwritten: they tell nothing of anybody."""


@dataclass(frozen=True, slots=True)
class Item:
    """A file or a folder of ours."""

    path: Path
    what: str
    secret: bool = True


@click.command("purge", cls=Command)
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(dry_run: bool, yes: bool) -> None:
    """Delete everything of ours on this machine: letters, drafts, ledger, settings,
    models, and the store's key in the keyring.

    Says what there is and asks before it deletes. What holds words of yours is
    overwritten first. It cannot be undone: 'specsteer store export' saves the letters.
    Texts that you saved elsewhere and the mailboxes that were read stay as they are.

    \b
        specsteer purge --dry-run
        specsteer purge
    """
    folder = state_folder()
    items = list(ours(folder))
    stores = [store_path(), *folder.glob(f"{WRITERS}/*/{store_path().name}")]
    locked = [store for store in stores if keys.in_keyring(store)]
    if not items and not locked:
        click.echo(f"there is nothing of ours in {one_line(str(folder))}")
        return
    click.echo(f"In {one_line(str(folder))}:")
    for item in items:
        click.echo(
            f"  {one_line(item.path.name):<24} {_size(item.path):>9}  {item.what}"
        )
    if locked:
        click.echo("and the store's key in the keyring of this machine")
    if dry_run:
        click.echo("nothing was deleted")
        return
    check_free(folder)
    if not (yes or _agreed()):
        raise click.exceptions.Exit(1)
    faults = list(_delete(items))
    for store in locked:
        keys.forget_in_keyring(store)
    for fault in faults:
        click.echo(f"not deleted: {one_line(fault)}", err=True)
    if faults:
        raise click.exceptions.Exit(1)
    if not os.environ.get("SPECSTEER_HOME") and not any(folder.iterdir()):
        folder.rmdir()
    click.echo(
        "all of it is deleted; the program goes as it came, as by 'pip uninstall'"
    )


def ours(folder: Path) -> Iterator[Item]:
    """What is ours in the state folder. The usual one holds nothing else, so all of it
    is; one that a variable names may hold other things, which are let be."""
    usual = not os.environ.get("SPECSTEER_HOME") or os.environ.get(WRITER_VARIABLE)
    for path in sorted(folder.iterdir()):
        what = next((what for name, what in _OURS if path.match(name)), "")
        if what or usual:
            secret = not any(path.match(name) for name in _NOT_SECRET)
            yield Item(path, what or "something else in our folder", secret)


def check_free(folder: Path) -> None:
    """Raise InvalidSettingsError where a process of ours still works with a file."""
    if sys.platform == "win32":
        return  # no file that somebody has open can be deleted there
    drafts = folder.glob("drafts/*.jsonl"), folder.glob(f"{WRITERS}/*/drafts/*.jsonl")
    working = {
        "the app has a draft open": [path for paths in drafts for path in paths],
        "an import is running": [*folder.glob("store.db.lock")],
        "a server works from here": [*folder.glob("cloud.lock")],
    }
    for what, paths in working.items():
        for path in paths:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                lock(handle)
            except OSError as error:
                raise InvalidSettingsError(
                    f"{what}: end it first, then purge"
                ) from error
            finally:
                os.close(handle)


def _agreed() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        click.echo("Nothing is deleted yet: add --yes to delete it.", err=True)
        return False
    if confirm("Delete all of this for good?"):
        return True
    click.echo("Nothing is deleted.", err=True)
    return False


def _delete(items: list[Item]) -> Iterator[str]:
    """Delete the items; yields a sentence for each that cannot be."""
    for item in items:
        try:
            if item.path.is_symlink():  # what it leads to is not ours to overwrite
                item.path.unlink()
            elif not item.path.is_dir():
                (shred if item.secret else Path.unlink)(item.path)
            else:
                if item.secret:
                    for path in sorted(item.path.rglob("*")):
                        if path.is_file() and not path.is_symlink():
                            shred(path)
                shutil.rmtree(item.path)
        except OSError as error:
            yield f"{item.path}: {(error.strerror or str(error)).lower()}"


def _size(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    files = [path] if not path.is_dir() else path.rglob("*")
    return in_words(sum(one.lstat().st_size for one in files if one.is_file()))
