"""The command `specsteer`: stdout is data, stderr says what was done."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import CloudUnreachableError, DecodingError
from decoding_core.foreign_text import gate_output, one_line
from edge_app.commands.terminal import STOPPED
from models.command_line import LazyGroup, ask_secret
from models.folders import WRITER_VARIABLE, state_folder
from personal_store import keys
from personal_store.errors import StoreError, faults, is_full

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

COMMANDS, LAB = "specsteer.commands", "specsteer.lab"
"""Groups of entry points: each adds a command to `specsteer` or to `specsteer lab`."""
_MODULES = {
    "Write": {"write": "write", "demo": "write", "replay": "write", "serve": "serve"},
    "Your texts": {
        "import": "import_texts",
        **dict.fromkeys(("search", "show", "status", "me"), "texts"),
        "voice": "voice",
        **dict.fromkeys(("exclude", "trash", "forget", "reclean"), "forget"),
        "store": "store",
    },
    "What leaves this device": {"sent": "privacy", "privacy": "privacy"},
    "Models and servers": dict.fromkeys(("models", "pair", "unpair"), "models"),
    "This program": dict.fromkeys(("doctor", "completion", "purge"), "program"),
}
"""The module of each command, under the headings of the help."""


class OpenGroup(LazyGroup):
    """Our own commands, and those that installed packages add by entry points."""

    entries: str  # the group of entry points that are looked up

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our names first. A shell that completes gets no name that the gate alters."""
        added = sorted(entry_points(group=self.entries).names)
        if _completes():
            added = [name for name in added if one_line(name) == name]
        return list(dict.fromkeys([*super().list_commands(ctx), *added]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Our command if there is one: entry points take 20 ms to look up."""
        if cmd_name in self.modules:
            return super().get_command(ctx, cmd_name)
        added = entry_points(group=self.entries, name=cmd_name)
        return next(map(_loaded, added), None)


def _completes() -> bool:
    """Whether a shell asks for completions."""
    return "_SPECSTEER_COMPLETE" in os.environ


def entry_points(group: str, **wanted: Any) -> EntryPoints:
    """The entry points of installed packages; importing their reader takes 30 ms."""
    from importlib import metadata

    return metadata.entry_points(group=group, **wanted)


def _loaded(entry: EntryPoint) -> click.Command:
    """The command of an entry point; one that cannot be loaded says so when called."""
    try:
        command = entry.load()
        if isinstance(command, click.Command):
            return command
        reason = f"{entry.value} is no command"
    except Exception as error:  # noqa: BLE001 (what a stranger's import may raise)
        reason = f"{type(error).__name__}: {error}"
    owner = entry.dist.name if entry.dist is not None else "somebody"

    def refuse() -> None:
        raise click.ClickException(
            f"the command '{entry.name}', which {owner} adds, cannot be loaded: "
            f"{' '.join(reason.split())}; install {owner} again, or without it"
        )

    return click.Command(
        entry.name,
        callback=refuse,
        add_help_option=False,
        short_help="(cannot be loaded)",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


class _NoChecker(click.ClickException):
    exit_code = 3


class _Commands(OpenGroup):
    entries = COMMANDS
    headings = {name: tuple(under) for name, under in _MODULES.items()}  # noqa: RUF012
    modules = {
        name: f"edge_app.commands.{module}:{name}_command"
        for under in _MODULES.values()
        for name, module in under.items()
    } | {"lab": "edge_app.cli:lab"}

    def main(self, *args: Any, **options: Any) -> Any:
        """As click's, with all output gated from then on. A shell that completes gets
        bytes, which the gate does not take, and only names of ours."""
        if not _completes():
            gate_output()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CloudUnreachableError as error:
            raise _NoChecker(one_line(str(error))) from error
        except (DecodingError, StoreError) as error:
            raise click.ClickException(one_line(str(error))) from error
        except faults() as error:
            why = (
                "the disk is full: make room"
                if is_full(error)
                else one_line(f"{error}")
            )
            raise click.ClickException(f"The store cannot be used: {why}.") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            if error.filename:
                why = f"{error.filename} cannot be used: {why}"
            raise click.ClickException(why) from error


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
    if ctx.invoked_subcommand is not None:
        if lora is not None:
            raise click.UsageError("--lora goes behind the command, as in write --lora")
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "the app needs a terminal; 'specsteer write' works without one"
        )
    gc.disable()  # till the page is painted: no cycles to free, and a sixth of the time
    from edge_app.commands.app import open_app  # Textual takes 0.2 s to load

    open_app(lora)


class _Lab(OpenGroup):
    entries = LAB
    modules = {  # noqa: RUF012 (as in the class above)
        "evaluate": "edge_app.commands.measuring:evaluate_command",
        "tune": "edge_app.commands.measuring:tune_command",
        "adapter": "edge_app.commands.adapter:adapter_command",
    }


@click.group("lab", cls=_Lab)
def lab() -> None:
    """Measure, tune and train: what writing a letter does not need.

    \b
        specsteer lab evaluate --sample
        specsteer lab tune --write
        specsteer lab adapter train
        specsteer lab bench --help
    """


def main() -> None:
    """Entry point of `specsteer`."""
    os.umask(0o077)  # whatever is made, by libraries too, is for its owner alone
    gc.set_threshold(50_000)  # to load makes no cycles, and many objects
    _prepare_streams()
    keys.ask = lambda words: ask_secret(words) if sys.stdin.isatty() else ""
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
        sys.exit(STOPPED)
    except OSError:
        # The reader of stdout has gone, or its disk is full.
        _let_stdout_go()
        sys.exit(1)


def _prepare_streams() -> None:
    """Open streams that the caller closed, and replace what a terminal cannot show."""
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:  # else a database could be opened as the standard output
        fd = os.dup(fd)
    os.close(fd)
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 (open as long as we run)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    utf8 = "utf-8" if sys.platform == "win32" else None  # else a pipe has a code page
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding=utf8)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding=utf8, errors="replace")


def _let_stdout_go() -> None:
    """Drop what cannot be written, so that Python does not try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
