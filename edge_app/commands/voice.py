"""`specsteer voice`: read and change how you write, as your letters show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from decoding_core.foreign_text import one_line
from edge_app.commands import options, terminal
from edge_app.commands.terminal import counted, note
from models.command_line import Command, Group
from models.prompts import TASKS

if TYPE_CHECKING:
    from edge_app.retrieval.voice import Line

_EVIDENCE = 5  # texts that --explain names for a line
_to = click.option(
    "--to", default="", shell_complete=options.complete_people, help="Towards whom."
)
_task = options.shown_option(
    "--task", type=click.Choice([*TASKS, "message"]), default="email"
)
_line = click.argument("line")
_value = click.argument("value", default="")


@click.group("voice", cls=Group, invoke_without_command=True)
@_to
@_task
@click.option("--explain", is_flag=True, help="Name the texts that each line is from.")
@options.sample
@options.as_json
@click.pass_context
def voice_command(ctx: click.Context, /, **chosen: Any) -> None:
    """Show how you write: greeting, length, habits, phrases, each with its evidence.

    All of it is counted on this device from your own texts, without a model, and kept
    up as texts come and go. Towards a person, the texts to that person count once there
    are three. What you set, pin or strike out wins over what is counted.

    \b
        specsteer voice --to Ana
        specsteer voice set greeting "Dear {name}," --to Ana
        specsteer voice pin sign-off
        specsteer voice strike phrase "no harm done"
        specsteer voice undo greeting --to Ana
        specsteer voice forget
    """
    if ctx.invoked_subcommand is not None:
        return
    from edge_app.retrieval.voice import voice_of

    with options.opened_store(chosen["sample"]) as store:
        voice = voice_of(store.db, chosen["task"], chosen["to"])
        if chosen["as_json"]:
            terminal.echo_json(asdict(voice))
            return
        for line in voice.lines:
            value = f"{line.value} → {line.into}" if line.into else line.value
            click.echo(one_line(f"{line.name:18}{value}  ({', '.join(line.why)})"))
            if chosen["explain"]:
                _show_evidence(store, line)
    note(one_line(f"counted from {voice.whence}"))


def _show_evidence(store: Any, line: Line) -> None:
    from personal_store.lifecycle.overview import outlines

    for found in outlines(store.db, line.records[:_EVIDENCE]):
        click.echo(f"    {options.outline(found)}")
    if len(line.records) > _EVIDENCE:
        click.echo(f"    and {len(line.records) - _EVIDENCE:,} more")


def _marking(name: str, state: str, says: str) -> Callable[..., None]:
    """A subcommand that gives a line a state."""

    @voice_command.command(name, cls=Command, help=says)
    @_line
    @_value
    @_to
    @_task
    def change(line: str, value: str, to: str, task: str) -> None:
        from edge_app.retrieval.voice import STATES, mark

        with options.opened_store() as store:
            mark(store.db, task, to, line, state, value)
        whom = f" towards {one_line(to)}" if to else ""
        note(f"{one_line(line)}{whom}: {STATES.get(state, 'as it is counted')}")

    return change


_marking("set", "set", "Say that LINE is VALUE, whatever your texts show.")
_marking("pin", "pinned", "Keep LINE as it is now, or the phrase VALUE.")
_marking("strike", "struck", "Never use LINE, or the phrase VALUE.")
_marking("undo", "", "Take back what you said of LINE, or of the phrase VALUE.")


@voice_command.command("forget", cls=Command)
@options.assume_yes
def forget(yes: bool) -> None:
    """Forget all that was learnt from edits, and all that you set, pinned or struck
    out. What the texts in the store show is counted from them again."""
    from personal_store.lifecycle.forgetting import forget_learnt

    options.confirmed("Forget what was learnt of your voice?", yes=yes)
    with options.opened_store() as store:
        edits, marks = forget_learnt(store.db, store.path)
    click.echo(f"forgot {counted(edits, 'edit')} and {counted(marks, 'mark')}")
