"""The command `specsteer`: stdout is data, stderr is narration."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from decoding_core.errors import CloudUnreachableError, DecodingError
from personal_store.errors import StoreError

_COMMANDS = {
    "write": "edge_app.commands.write",
    "import": "edge_app.commands.import_letters",
    "search": "edge_app.commands.search",
    "sent": "edge_app.commands.sent",
    "status": "edge_app.commands.status",
    "doctor": "edge_app.commands.doctor",
    "demo": "edge_app.commands.demo",
}
_INTERRUPTED = 130


class _NoChecker(click.ClickException):
    exit_code = 3


class _NotDone(click.ClickException):
    exit_code = 1


class _Commands(click.Group):
    """Finds commands by name and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name]).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CloudUnreachableError as error:
            raise _NoChecker(str(error)) from error
        except (DecodingError, StoreError) as error:
            raise _NotDone(str(error)) from error


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="specsteer")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Write in your own voice; your past writing never leaves this device.

    Without a command the app opens. Begin with your letters:

    \b
        specsteer import mbox ~/Mail/Sent --me you@example.org
        specsteer write --to Ana "Thank her for the photos"

    Exit status: 0 done, 1 an error that is explained, 2 wrong usage, 3 no server
    where one was asked for, 130 stopped.
    """
    if ctx.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError(
                "the app needs a terminal; 'specsteer write' works without one"
            )
        from edge_app.commands.app import open_app  # Textual takes 0.2 s to load

        open_app()


def main() -> None:
    """Entry point of `specsteer`."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout has gone; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
