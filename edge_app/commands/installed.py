"""Groups whose commands other packages add to, by entry points."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from decoding_core.foreign_text import one_line
from models.lazy_commands import LazyGroup

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

COMMANDS, LAB = "specsteer.commands", "specsteer.lab"
"""Groups of entry points: each adds a command to `specsteer` or to `specsteer lab`."""


class OpenGroup(LazyGroup):
    """Our own commands, and those that installed packages add."""

    entries: str
    """The group of entry points that are looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Ours first. A shell that completes is given no name that the gate alters."""
        added = sorted(entry_points(group=self.entries).names)
        if completes():
            added = [name for name in added if one_line(name) == name]
        return list(dict.fromkeys([*super().list_commands(ctx), *added]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Ours if there is one: entry points take 20 ms to look up. An added command
        that cannot be loaded says so when it is called."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        for entry in entry_points(group=self.entries, name=cmd_name):
            return _loaded(entry)
        return None


def completes() -> bool:
    """Whether a shell asks what a command line could go on with."""
    return "_SPECSTEER_COMPLETE" in os.environ


def _loaded(entry: EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except Exception as error:  # noqa: BLE001 (what a stranger's import may raise)
        return _broken(entry, f"{type(error).__name__}: {error}")
    if not isinstance(command, click.Command):
        return _broken(entry, f"{entry.value} is no command")
    return command


def entry_points(group: str, **wanted: Any) -> EntryPoints:
    """What installed packages offer. Our own commands do without, and the module that
    looks takes 30 ms to import."""
    from importlib import metadata

    return metadata.entry_points(group=group, **wanted)


def _broken(entry: EntryPoint, reason: str) -> click.Command:
    owner = entry.dist.name if entry.dist is not None else "somebody"

    def describe() -> None:
        raise click.ClickException(
            f"the command '{entry.name}', which {owner} adds, cannot be loaded: "
            f"{' '.join(reason.split())}; install {owner} again, or without it"
        )

    return click.Command(
        entry.name,
        callback=describe,
        add_help_option=False,
        short_help="(cannot be loaded)",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
