"""`specsteer completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from decoding_core.errors import InvalidSettingsError


@click.command("completion")
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
