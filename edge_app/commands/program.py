"""`specsteer doctor`, `completion` and `purge`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from base.locks import lock
from base.owner_only import open_private, shred
from decoding_core.errors import DecodingError, InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.commands.options import assume_yes, confirmed
from edge_app.commands.service_config import service_config
from edge_app.commands.terminal import counted, note
from edge_app.config import sign_ins
from edge_app.config.settings import Settings, read_settings, store_path
from models.command_line import Command
from models.folders import WRITER_VARIABLE, WRITERS, check_private, state_folder
from personal_store import Store, keys
from personal_store.errors import StoreError
from personal_store.import_runs import in_words
from personal_store.lifecycle.forgetting import UNTIDY, is_untidy
from personal_store.states import states

_OURS = (
    ("store.db*", "your letters"),
    ("store-*", "your letters: backups, prompts as read"),
    ("sample*", "the sample letters"),
    ("drafts", "drafts of the app"),
    ("edit-*", "a draft that an editor had"),
    ("mail-*.eml", "a mail that was opened elsewhere"),
    ("last-draft.json*", "the last draft of 'specsteer write'"),
    (WRITERS, "letters, drafts and settings of others who write here"),
    ("ledger.jsonl*", "the ledger of what left"),
    ("privacy-spent.*", "what was told of your letters, by day"),
    ("settings.toml*", "settings"),
    ("allowed.txt*", "phrases that may leave"),
    ("paired-server.json*", "the paired server and its token"),
    ("serve-key*", "the key of 'specsteer serve'"),
    (f"{sign_ins.NAME}*", "sign-ins to mail accounts"),
    ("adapters", "personal adapters"),
    ("models", "models that were pulled"),
    ("engine-*.json*", "what was measured of this machine"),
    ("token-lists", "tokens of large models with a vocabulary of their own"),
    ("cloud*", "the server's settings, token and certificate"),
    ("people*", "the server's people and devices"),
    ("*.part*", "files that were not finished"),
)
"""Names in the state folder, as patterns, and what they are."""
_OVER_BYTES = "texts go as bytes, and the base runs on this device"
_NOT_SECRET = "models", "engine-*.json*", "token-lists"  # deleted, but not overwritten


@click.command("doctor", cls=Command)
def doctor_command() -> None:
    """Check that everything works on this machine; exit status 1 if not."""
    try:
        settings, sound = read_settings(), True
    except (DecodingError, StoreError) as error:
        settings, sound = Settings(), False
        _say("settings", str(error), sound=False)
    checks: dict[str, Callable[[Settings], str]] = {
        "python": lambda _: f"{platform.python_version()} on {platform.machine()}",
        "llama.cpp": _library,
        "accelerator": _accelerator,
        "extra buffers": _extra_buffers,
        "models": _models,
        "threads": _threads,
        "folder": _folder,
        "store": _store,
        "server": _server,
    }
    for name, check in checks.items():
        try:
            words, works = check(settings), True
        except (DecodingError, StoreError, OSError) as error:
            words, works = str(error), False
        _say(name, words, sound=works)
        sound &= works
    sys.exit(0 if sound else 1)


def _say(name: str, words: str, *, sound: bool) -> None:
    click.echo(f"{'ok ' if sound else 'BAD'}  {name:14}{one_line(words)}")


def _library(_: Settings) -> str:
    from models.running.llama_library import load_library

    library = load_library()
    features = library.llama_print_system_info().decode().replace(" = 1", "")
    return f"llama-cpp-python {library.__version__}; {features.strip(' |')}"


def _accelerator(settings: Settings) -> str:
    from models.running.machine import describe_accelerators

    return describe_accelerators(settings.engine_settings())


def _extra_buffers(_: Settings) -> str:
    from models.running.machine import probe

    answer = probe()
    return f"{'on' if answer.works else 'off'}: {answer.reason}"


def _models(settings: Settings) -> str:
    from models.chat import describe_template
    from models.files import cards
    from models.local.finding import check_pulled
    from models.running.loading import load_model

    chosen = service_config(settings)
    for card in cards():
        if card.path in (chosen.specialist, chosen.generalist):
            card.check()
    for path in (chosen.specialist, chosen.generalist):
        check_pulled(path)
    specialist = load_model(chosen.specialist, chosen.engine)
    generalist = load_model(chosen.generalist, chosen.engine)
    with closing(specialist), closing(generalist):
        words = f"vocabulary {specialist.vocabulary_id[:8]}"
        words += f" of {specialist.vocabulary_size}"
        if specialist.vocabulary_id != generalist.vocabulary_id:
            words += f" and {generalist.vocabulary_size}: {_OVER_BYTES}"
        template = describe_template(specialist.chat_template)
        named = f"{specialist.name} and {generalist.name}"
        return f"{named}, {words}; chat template: {template}"


def _threads(settings: Settings) -> str:
    from models.running.machine import describe_threads

    if settings.threads is not None:
        return f"{settings.threads} a model, as settings.toml says"
    chosen = service_config(settings)
    return describe_threads(chosen.specialist, has_server=bool(chosen.settings.server))


def _folder(_: Settings) -> str:
    folder = state_folder()
    secret = (path for path, what in ours(folder) if what and _is_secret(path))
    return check_private(folder, secret)


def _store(_: Settings) -> str:
    with Store.open(store_path()) as store:
        if is_untidy(store.db):
            raise StoreError(UNTIDY)
        words = f"{store.counts()['own']} own texts in {store_path()}"
    kept = list(states(store_path()))
    size = in_words(sum(path.stat().st_size for path in kept))
    return f"{words}; {counted(len(kept), 'prompt')} kept as read ({size})"


def _server(settings: Settings) -> str:
    from decoding_core.messages import VERSION
    from decoding_core.wire_json import which_to_update
    from edge_app.transport import check_token_goes_safely
    from edge_app.transport.client import Connection, check_speaks_bytes
    from models.local.describing import describe

    config = service_config(settings)
    chosen, specialist = config.settings, config.specialist
    if not chosen.server:
        return "none set; one is started on this machine when needed"
    check_token_goes_safely(chosen.server, chosen.token, in_clear=chosen.token_in_clear)
    how = chosen.token, lambda _: None, None, chosen.certificate
    for address in (*chosen.also_at.split(), chosen.server):
        with closing(Connection(address, *how)) as connection:
            connection.request("ready", "GET", "/readyz")
            models = connection.request("models", "GET", "/v1/models")
    if "generalist" not in models:
        raise DecodingError(f"what answers at {chosen.server} is no SpecSteer server")
    theirs = models.get("version")
    if type(theirs) is int and theirs != VERSION:
        raise DecodingError(f"{which_to_update(VERSION, theirs)} ({chosen.server})")
    large = models["generalist"]
    vocabulary = large.get("vocabulary_id") if isinstance(large, dict) else None
    if vocabulary == describe(specialist).vocabulary_id:
        return f"{chosen.server} answers"
    check_speaks_bytes(chosen.server, models)
    return f"{chosen.server} answers, with another vocabulary: {_OVER_BYTES}"


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion_command(shell: str) -> None:
    """Print a script with which a shell completes commands, options and values.

    \b
        specsteer completion bash > \\
            ~/.local/share/bash-completion/completions/specsteer
        specsteer completion zsh > ~/.zfunc/_specsteer
        specsteer completion fish > ~/.config/fish/completions/specsteer.fish

    zsh needs 'fpath+=~/.zfunc' before 'compinit' in ~/.zshrc. A new shell has it.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise InvalidSettingsError(f"nothing completes for {shell} here")
    root = click.get_current_context().find_root().command
    made = kind(root, {}, "specsteer", "_SPECSTEER_COMPLETE")
    # Not click's own `source`, which asks the bash of this machine for its version.
    click.echo(made.source_template % made.source_vars())


@click.command("purge", cls=Command)
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@assume_yes
def purge_command(dry_run: bool, yes: bool) -> None:
    """Delete everything of ours on this machine: letters, drafts, ledger, settings,
    models, and our keys in the keyring.

    Says what there is and asks before it deletes. What holds words of yours is
    overwritten first. It cannot be undone: 'specsteer store export' saves the letters.
    Texts that you saved elsewhere and the mailboxes that were read stay as they are.

    \b
        specsteer purge --dry-run
        specsteer purge
    """
    folder = state_folder()
    # The usual folder holds nothing else; one that a variable names may.
    usual = not os.environ.get("SPECSTEER_HOME") or os.environ.get(WRITER_VARIABLE)
    items = [
        (path, what or "something else in our folder")
        for path, what in ours(folder)
        if what or usual
    ]
    stores = [store_path(), *folder.glob(f"{WRITERS}/*/{store_path().name}")]
    names = ("", sign_ins.NAME)
    locked = [(at, one) for at in stores for one in names if keys.in_keyring(at, one)]
    if not items and not locked:
        click.echo(f"there is nothing of ours in {one_line(str(folder))}")
        return
    click.echo(f"In {one_line(str(folder))}:")
    for path, what in items:
        click.echo(f"  {one_line(path.name):<24} {_size(path):>9}  {what}")
    if locked:
        click.echo("and our keys in the keyring of this machine")
    if dry_run:
        click.echo("nothing was deleted")
        return
    check_free(folder)
    confirmed("Delete all of this for good?", yes=yes)
    faults = [fault for path, _ in items if (fault := _delete(path))]
    for store, name in locked:
        keys.forget_in_keyring(store, name)
    for fault in faults:
        note(f"not deleted: {one_line(fault)}")
    if faults:
        raise click.exceptions.Exit(1)
    if not os.environ.get("SPECSTEER_HOME") and not any(folder.iterdir()):
        folder.rmdir()
    click.echo(
        "all of it is deleted; the program goes as it came, as by 'pip uninstall'"
    )


def ours(folder: Path) -> Iterator[tuple[Path, str]]:
    """What lies in the state folder, and what each is; empty if it is not ours."""
    for path in sorted(folder.iterdir()):
        yield path, next((what for name, what in _OURS if path.match(name)), "")


def _is_secret(path: Path) -> bool:
    return not any(path.match(name) for name in _NOT_SECRET)


def check_free(folder: Path) -> None:
    """Raise InvalidSettingsError if a process of ours still works with a file."""
    working = {
        "the app has a draft open": ("drafts/*.jsonl", f"{WRITERS}/*/drafts/*.jsonl"),
        "an import is running": ("store.db.lock",),
        "a server works from here": ("cloud.lock",),
    }
    for what, names in working.items():
        for path in (path for name in names for path in folder.glob(name)):
            handle = open_private(path, os.O_RDONLY)
            try:
                lock(handle)
            except OSError as error:
                wrong = f"{what}: end it first, then purge"
                raise InvalidSettingsError(wrong) from error
            finally:
                os.close(handle)


def _delete(path: Path) -> str:
    """Delete a file or a folder; returns a sentence if it cannot be deleted."""
    try:
        if path.is_symlink():  # what it leads to is not ours to overwrite
            path.unlink()
            return ""
        inner = [path] if path.is_file() else path.rglob("*")
        for one in sorted(inner) if _is_secret(path) else ():
            if one.is_file() and not one.is_symlink():
                shred(one)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path}: {(error.strerror or str(error)).lower()}"
    return ""


def _size(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    files = [path] if not path.is_dir() else path.rglob("*")
    return in_words(sum(one.lstat().st_size for one in files if one.is_file()))
