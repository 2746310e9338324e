"""Options of several commands, their completion, and a look at chosen texts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from decoding_core.foreign_text import one_line
from edge_app.commands.terminal import Progress, counted, note
from edge_app.config.settings import GuardMode, sample_store_path, store_path
from edge_app.sample import make_ready
from edge_app.service.requests import LengthWanted
from models.command_line import confirm
from personal_store.errors import StoreError
from personal_store.records import KINDS

if TYPE_CHECKING:  # SQLite and the store's rules take long to load
    from personal_store import Store
    from personal_store.lifecycle.overview import Outline, Which

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MOST_COMPLETIONS = 50  # completions that a terminal shows at once
_PLAIN = re.compile(r"[\w/][\w.+@/:-]*")
"""What a shell inserts into the line without a meaning of its own: addresses and names
come from mail and files, and `$(...)` in one would be executed."""
_SHOWN, _TITLE = 10, 48  # texts shown before they change; characters of a title


def complete_people(
    _: click.Context, __: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Addresses whose name or address has a word that begins so, if the store opens."""
    found: dict[str, CompletionItem] = {}
    with suppress(StoreError, OSError):
        if store_path().is_file():
            with opened_store() as store:
                for name, address in store.correspondents():
                    words = f" {name} {address}".casefold()
                    if _PLAIN.fullmatch(address) and f" {typed.casefold()}" in words:
                        item = CompletionItem(address, help=one_line(name) or None)
                        found.setdefault(address, item)
    return list(found.values())[:_MOST_COMPLETIONS]


def complete_models(
    _: click.Context, __: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Names of models of this machine that begin so, else files."""
    from models.local.finding import found_models

    names = [
        CompletionItem(one.name)
        for one in found_models()
        if _PLAIN.fullmatch(one.name) and one.name.startswith(typed)
    ]
    return names[:_MOST_COMPLETIONS] or [CompletionItem(typed, type="file")]


def _day(_: object, __: object, value: datetime | None) -> date | None:
    return None if value is None else value.date()


def _day_option(name: str, words: str) -> Callable[[_Command], _Command]:
    kind = click.DateTime(["%Y-%m-%d"])
    return click.option(name, type=kind, metavar="DAY", callback=_day, help=words)


shown_option = partial(click.option, show_default=True)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object.")
json_lines = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line."
)
assume_yes = click.option("--yes", is_flag=True, help="Do not ask.")
sample = click.option(
    "--sample", is_flag=True, help="Use the sample letters, not yours."
)
server = click.option(
    "--server", metavar="URL", help="A specsteer-cloud server to check with."
)
offline = click.option("--offline", is_flag=True, help="Write on this device alone.")
no_offline = click.option(
    "--no-offline", is_flag=True, help="Fail rather than write on alone."
)
no_history = click.option(
    "--no-history", is_flag=True, help="Do not read your own texts."
)
length = shown_option(
    "--length",
    type=click.Choice(get_args(LengthWanted)),
    default="usual",
    help="Of a text, by those you wrote to that person.",
)
guard = click.option(
    "--guard",
    type=click.Choice(get_args(GuardMode)),
    help="What becomes of names, numbers and copied phrases. placeholder",
)
specialist = click.option(
    "--specialist",
    type=click.Path(path_type=Path),
    shell_complete=complete_models,
    help="A GGUF file, a folder with a model, or a name of 'models list'.",
)
generalist = click.option(
    "--generalist",
    type=click.Path(path_type=Path),
    shell_complete=complete_models,
    help="The same for the server that is started here.",
)
lora = click.option(
    "--lora",
    metavar="NAME",
    help="A personal adapter, by its name or path; 'off' for none. off",
)
_CONDITIONS = (
    click.option("--person", default="", help="To or from this name or address."),
    click.option("--source", default="", help="A part of its name in status."),
    click.option("--kind", default="", help=f"One of {', '.join(KINDS)}."),
    _day_option("--since", "From this day on, UTC."),
    _day_option("--until", "Up to this day, UTC."),
)
_SELECTED_BY = ("ids", "person", "source", "kind", "since", "until", "words")


def with_options(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A decorator that gives a command these options, in their order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


filtering = with_options(*_CONDITIONS)  # the conditions that `condition` reads
selecting = with_options(
    click.argument("ids", nargs=-1, type=click.IntRange(1), metavar="[ID]..."),
    *_CONDITIONS,
    click.option("--words", default="", help="With all of these words."),
)
"""Gives a command the conditions that `selection` reads."""


def condition(options: dict[str, Any]) -> Which:
    """The condition that the options of `filtering` or `selecting` state."""
    from personal_store.lifecycle.overview import Which

    return Which(**{name: options[name] for name in _SELECTED_BY if name in options})


def selection(options: dict[str, Any], *, all_if_none: bool = False) -> Which:
    """The condition of the options of `selecting`; raises UsageError for none."""
    chosen = condition(options)
    if chosen.says_nothing() and not all_if_none:
        raise click.UsageError(
            "say which texts: ids as 'specsteer search --json' shows them, or "
            "--person, --source, --kind, --since, --until, --words"
        )
    return chosen


@contextmanager
def opened_store(sample: bool = False) -> Iterator[Store]:
    """The store of the person's own texts, or the filled one of the sample letters."""
    from personal_store import Store

    with Store.open(sample_store_path() if sample else store_path()) as store:
        if sample:
            make_ready(store)
        yield store


def check_exclusive(options: dict[str, Any]) -> None:
    """Raise UsageError for options of a writing command that exclude each other."""
    if options["offline"] and options["no_offline"]:
        raise click.UsageError("--offline and --no-offline exclude each other")
    if options["server"] and options["generalist"]:
        raise click.UsageError(
            "--generalist is for the server that is started here, and --server names "
            "another"
        )


def found(store: Store, chosen: Which, state: str = "1") -> list[int]:
    """The ids of the texts that fit; words are looked for in all received mail, too."""
    with Progress("cleaning received mail") as progress:
        return chosen.find(store.db, state=state, progress=progress.show)


def agreed(store: Store, ids: Sequence[int], what: str, *, yes: bool) -> bool:
    """Show the texts and ask, unless `yes`. Without a terminal only the preview is
    shown, and the exit status is 1."""
    if not ids:
        note("no text fits")
        return False
    from personal_store.lifecycle.overview import outlines

    for line in outlines(store.db, ids[:_SHOWN]):
        note(outline(line))
    if len(ids) > _SHOWN:
        note(f"and {len(ids) - _SHOWN:,} more")
    texts = counted(len(ids), "text")
    if not (yes or sys.stdin.isatty()):
        note(f"{texts} would be {what}; --yes does it")
        raise click.exceptions.Exit(1)
    return yes or confirm(f"{texts}: {what}?")


def confirmed(question: str, *, yes: bool) -> None:
    """Ask, unless `yes`; a no ends the command with status 1. Raises StoreError without
    a terminal to ask in."""
    if not (yes or sys.stdin.isatty()):
        raise StoreError(f"{question} There is no terminal to ask in: --yes does it.")
    if not (yes or confirm(question)):
        raise click.exceptions.Exit(1)


def outline(line: Outline) -> str:
    """A text on one line."""
    day = f"{line.date:%Y-%m-%d}" if line.date else "undated   "
    title = one_line(line.title)[:_TITLE]
    return f"{line.id:7}  {day}  {line.kind:7}  {one_line(line.person):24.24}  {title}"
