"""Groups of commands that are imported when they are called, in any program."""

from __future__ import annotations

from importlib import import_module

import click


class LazyGroup(click.Group):
    """Finds commands by name and imports only the one that is called."""

    modules: dict[str, str] = {}  # noqa: RUF012 (each group has its own)
    """Where each command's module is; it is called `command` there."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they are shown."""
        del ctx
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; None where there is none of that name."""
        del ctx
        if cmd_name not in self.modules:
            return None
        command: click.Command = import_module(self.modules[cmd_name]).command
        return command
