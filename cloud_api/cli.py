"""The command `specsteer-cloud`."""

from __future__ import annotations

import gc
import os
from typing import Any

import click

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import gate_output, one_line
from models.command_line import LazyGroup

_COMMANDS = {
    "init": "cloud_api.commands.serve:init",
    "serve": "cloud_api.commands.serve:serve",
    "pair": "cloud_api.commands.people:pair",
    "users": "cloud_api.commands.people:users",
    "devices": "cloud_api.commands.people:devices",
    "backup": "cloud_api.commands.people:backup",
    "restore": "cloud_api.commands.people:restore",
    "doctor": "cloud_api.commands.doctor",
}


def program() -> None:
    """Entry point of `specsteer-cloud`: whatever it makes is for its owner alone."""
    os.umask(0o077)
    gc.set_threshold(50_000)  # to load makes no cycles, and many objects
    main(prog_name="specsteer-cloud")


class _Commands(LazyGroup):
    modules = _COMMANDS

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command; all that it prints passes the gate for foreign text."""
        gate_output()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error that is explained is one sentence and status 1."""
        try:
            return super().invoke(ctx)
        except DecodingError as error:
            raise click.ClickException(one_line(str(error))) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            said = f"{error.filename}: {reason}" if error.filename else reason
            raise click.ClickException(one_line(said)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The server side of SpecSteer: a generalist that verifies drafts."""
