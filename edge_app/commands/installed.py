"""Commands that other packages add, by the entry points `specsteer.commands`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUP = "specsteer.commands"


def installed_names() -> list[str]:
    """Names of the commands that are there."""
    return sorted(entry_points(group=GROUP).names)


def installed_command(name: str) -> click.Command | None:
    """The command of this name; None where nobody adds one. One that cannot be loaded
    says so when it is called."""
    for entry in entry_points(group=GROUP, name=name):
        try:
            command = entry.load()
        except Exception as error:  # noqa: BLE001 (what a stranger's import may raise)
            return _broken(entry, f"{type(error).__name__}: {error}")
        if not isinstance(command, click.Command):
            return _broken(entry, f"{entry.value} is no command")
        return command
    return None


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
