"""The command `specsteer`: stdout is data, stderr says what was done."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from decoding_core.errors import CloudUnreachableError, DecodingError
from decoding_core.foreign_text import gate_output, one_line
from edge_app.commands.installed import COMMANDS, OpenGroup, completes
from edge_app.commands.unlocking import ask_in_terminal
from models.folders import WRITER_VARIABLE, state_folder
from personal_store.errors import StoreError, faults, is_full

_HEADINGS = {
    "Write": ("write", "demo", "replay", "serve"),
    "Your texts": (
        *("import", "search", "show", "status", "me", "profile"),
        *("exclude", "trash", "forget", "reclean", "store"),
    ),
    "What leaves this device": ("sent", "privacy"),
    "Models and servers": ("models", "pair", "unpair"),
    "This program": ("doctor", "completion", "purge", "lab"),
}
_FILES = {"import": "import_letters"}
"""Modules that are not called as their command."""
_INTERRUPTED = 130


class _NoChecker(click.ClickException):
    exit_code = 3


class _NotDone(click.ClickException):
    exit_code = 1


class _Commands(OpenGroup):
    entries = COMMANDS
    headings = _HEADINGS
    modules = {  # noqa: RUF012 (as in the class above)
        name: f"edge_app.commands.{_FILES.get(name, name)}"
        for names in _HEADINGS.values()
        for name in names
    }

    def main(self, *args: Any, **options: Any) -> Any:
        """As click's, with nothing printed but through the gate, then and after. A
        shell that completes is given names of ours alone, in bytes, which the gate does
        not take."""
        if not completes():
            gate_output()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CloudUnreachableError as error:
            raise _NoChecker(one_line(str(error))) from error
        except (DecodingError, StoreError) as error:
            raise _NotDone(one_line(str(error))) from error
        except faults() as error:
            what = "the disk is full: make room" if is_full(error) else f"{error}"
            raise _NotDone(f"The store cannot be used: {one_line(what)}.") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _NotDone(_sentence(error)) from error


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="specsteer")
@click.option(
    "--lora",
    metavar="NAME",
    help="Open the app with a personal adapter; 'off' for none.",
)
@click.option(
    "--writer",
    metavar="NAME",
    help="Use this person's letters, drafts and settings, where several write here.",
)
@click.pass_context
def cli(ctx: click.Context, lora: str | None, writer: str | None) -> None:
    """Write in your own voice; your past writing never leaves this device.

    Without a command the app opens. Begin with your letters:

    \b
        specsteer import mbox ~/Mail/Sent --me you@example.org
        specsteer write --to Ana "Thank her for the photos"

    Exit status: 0 done, 1 an error that is explained, 2 wrong usage, 3 no server
    where one was asked for, 130 stopped.
    """
    if writer is not None:
        before = os.environ.get(WRITER_VARIABLE, "")
        ctx.call_on_close(lambda: os.environ.update({WRITER_VARIABLE: before}))
        os.environ[WRITER_VARIABLE] = writer  # for the processes that are started, too
        state_folder()  # refused now, if it cannot be
    if ctx.invoked_subcommand is not None and lora is not None:
        raise click.UsageError("--lora goes behind the command, as in write --lora")
    if ctx.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError(
                "the app needs a terminal; 'specsteer write' works without one"
            )
        from edge_app.commands.app import open_app  # Textual takes 0.2 s to load

        open_app(lora)


def main() -> None:
    """Entry point of `specsteer`."""
    os.umask(0o077)  # whatever is made, by libraries too, is for its owner alone
    _prepare_streams()
    ask_in_terminal()
    try:
        # Not standalone, click returns the status of an `Exit`, and raises none.
        status: int | None = cli.main(prog_name="specsteer", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status or 0)
    except click.ClickException as error:
        error.show()
        _let_stdout_go()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(_INTERRUPTED)
    except OSError:
        # The reader of stdout has gone, or its disk is full.
        _let_stdout_go()
        sys.exit(1)


def _sentence(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename} cannot be used: {reason}" if error.filename else reason


def _prepare_streams() -> None:
    """Fill in streams that the caller closed, and never fail on a character that the
    terminal cannot show."""
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:  # else a database could be opened as the standard output
        fd = os.dup(fd)
    os.close(fd)
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 (open as long as we run)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _let_stdout_go() -> None:
    """Drop what cannot be written, so that Python does not try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
