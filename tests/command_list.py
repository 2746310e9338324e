"""Writes docs/commands.md: every command with its options, as it says itself.

python -m tests.command_list
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from tests.docs_blocks import PROGRAMS, ROOT

PAGE = ROOT / "docs" / "commands.md"
BEGINNING = """# Commands

Every command with its options, as `--help` tells them. `python -m tests.command_list`
writes this page; a test says when that is due.
"""


def commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Context, click.Command]]:
    """A command and those below it, in the order in which they are shown."""
    yield context, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                below = click.Context(inner, info_name=name, parent=context)
                yield from commands(inner, below)


def described(context: click.Context, command: click.Command) -> str:
    """The part of the page on one command."""
    usage = " ".join(command.collect_usage_pieces(context))
    words, _, _ = (command.help or "").partition("\b")
    paragraphs = [" ".join(part.split()) for part in words.split("\n\n")]
    about = "\n\n".join(_plain(part) for part in paragraphs if part)
    rows = [
        row
        for option in command.params
        if isinstance(option, click.Option)
        for row in (_row(context, option),)
        if row
    ]
    parts = [f"## {context.command_path}", f"`{context.command_path} {usage}`", about]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(context: click.Context, option: click.Option) -> str:
    record = option.get_help_record(context)
    if record is None:
        return ""
    names, meaning = record
    names = names.replace("|", ", ")  # a bar would end the cell
    return f"| `{names}` | {_plain(meaning)} |"


def _plain(text: str) -> str:
    """Words of a help as Markdown that shows them as they are."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split()))


def listed() -> str:
    """The whole page."""
    parts = [BEGINNING]
    for name, program in PROGRAMS.items():
        context = click.Context(program, info_name=name, **program.context_settings)
        parts += [described(*found) for found in commands(program, context)]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(listed(), "utf-8")
