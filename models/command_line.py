"""The commands, groups and questions that both programs are made of.

Questions do not go through the gate at standard output, so they are made one line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypeVar

import click
from click import HelpFormatter

from decoding_core.foreign_text import one_line

SHOWN = 8  # options that plain --help shows: the first ones that a command declares
_ALL = "models.command_line.all"


def shows_all(ctx: click.Context) -> bool:
    """Whether help was asked for with --help-all."""
    return bool(ctx.meta.get(_ALL))


def _help_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    help="Show all options.",
    callback=_help_all,
)


class Command(click.Command):
    """Shows its first options on --help, and all on --help-all."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with --help-all last."""
        return [*super().get_params(ctx), _HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """Write the options; the last line names --help-all if it shows more."""
        options = [one for one in self.params if isinstance(one, click.Option)]
        rows = [row for one in options if (row := one.get_help_record(ctx))]
        more = 0 if shows_all(ctx) else max(0, len(rows) - SHOWN)
        rows = rows[: len(rows) - more]
        helping = self.get_help_option(ctx)
        if helping and (row := helping.get_help_record(ctx)):
            rows.append(row)
        if more:
            words = "1 more option" if more == 1 else f"{more} more options"
            rows.append(("--help-all", f"Show {words}."))
        with formatter.section("Options"):
            formatter.write_dl(rows)


class Group(Command, click.Group):
    """A group of such commands, which suggests names that are nearly the typed one."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with names to suggest that are not imported yet."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(
                error.command_name, possibilities=self.list_commands(ctx), ctx=ctx
            ) from error


class LazyGroup(Group):
    """Finds commands by name and imports only the one that is called."""

    modules: Mapping[str, str] = {}
    """Where each command is, as `module:name`, or `module` for its `command`."""
    headings: Mapping[str, Sequence[str]] = {}
    """Names of the commands under each heading of the help; others come last."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they are shown."""
        del ctx
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; None if there is none of that name."""
        del ctx
        if cmd_name not in self.modules:
            return None
        module, _, name = self.modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """A line for each command, under its heading."""
        names = self.list_commands(ctx)
        placed = {name for under in self.headings.values() for name in under}
        others = [name for name in names if name not in placed]
        width = max(map(len, names), default=0)
        for heading, under in {**self.headings, "Commands": others}.items():
            found = [(name, self.get_command(ctx, name)) for name in under]
            rows = [
                (name.ljust(width), one.get_short_help_str(75 - width))
                for name, one in found
                if one is not None and not one.hidden
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


_Answer = TypeVar("_Answer", bound=str)


def confirm(question: str, *, default: bool = False) -> bool:
    """Whether the person says yes."""
    return click.confirm(one_line(question), default=default, err=True)


def choose(question: str, answers: Sequence[_Answer]) -> _Answer:
    """Which of the answers the person gives; the first one with enter alone."""
    given: _Answer = click.prompt(
        one_line(question), type=click.Choice(answers), default=answers[0], err=True
    )
    return given


def ask_secret(question: str, *, twice: bool = False) -> str:
    """What the person types unseen; with `twice` until both answers are the same."""
    answer: str = click.prompt(
        one_line(question), hide_input=True, confirmation_prompt=twice, err=True
    )
    return answer
