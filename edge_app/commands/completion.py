"""`specsteer completion`, and what it completes besides commands and options."""

from __future__ import annotations

import re
from contextlib import suppress

import click
from click.shell_completion import CompletionItem, get_completion_class

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.settings import store_path
from models.lazy_commands import Command
from personal_store.errors import StoreError

_MOST = 50
"""Completions that a terminal shows at once."""
_PLAIN = re.compile(r"[\w/][\w.+@/:-]*")
"""What a shell inserts into the line without a meaning of its own: addresses and names
come from mail and files, and `$(...)` in one would be executed."""


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
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


def people(
    ctx: click.Context, param: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Addresses of people of the store of whose name or address a word begins so. A
    store that is locked, or none, completes nothing."""
    del ctx, param
    found: dict[str, CompletionItem] = {}
    path, begun = store_path(), typed.casefold()
    with suppress(StoreError, OSError):
        if path.is_file():
            from personal_store import Store  # SQLite takes 50 ms to load

            with Store.open(path) as store:
                for name, address in store.correspondents():
                    words = f"{name} {address}".casefold().split()
                    if not _PLAIN.fullmatch(address):
                        continue
                    if any(word.startswith(begun) for word in words):
                        item = CompletionItem(address, help=one_line(name) or None)
                        found.setdefault(address, item)
    return list(found.values())[:_MOST]


def models(
    ctx: click.Context, param: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Names of models of this machine that begin so, else files."""
    del ctx, param
    from models.local.finding import found_models

    every = (one.name for one in found_models() if _PLAIN.fullmatch(one.name))
    names = [name for name in every if name.startswith(typed)]
    if names:
        return [CompletionItem(name) for name in names[:_MOST]]
    return [CompletionItem(typed, type="file")]
