"""`specsteer replay`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decoding_core.foreign_text import one_line
from edge_app.decoding.events import (
    Drafted,
    Event,
    Finished,
    HeldBack,
    Notice,
    Opened,
    Received,
    Reckoned,
    Sent,
    Settled,
    SourcesFound,
    Verified,
)
from models.asking import confirm
from models.lazy_commands import Command

if TYPE_CHECKING:
    from edge_app.service.tape import Recorded, Tape


@click.command("replay", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="A line per event, also in a terminal.")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="How many times as fast as it was.",
)
@click.option(
    "--redact",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write a copy without any word of yours to a new file, for a bug report.",
)
@click.option("--yes", is_flag=True, help="Do not ask before OUT is written.")
def command(file: Path, plain: bool, speed: float, out: Path | None, yes: bool) -> None:
    """Play what was recorded with --record: no model runs, and nothing is sent.

    In a terminal the app shows it as it happened; in a pipe it is a line per event.

    A tape holds your text and the letters that were read. What --redact writes holds
    letters as x and digits as 0, and neither ids nor bytes that were sent; it is shown
    before it is written.

    \b
        specsteer write --record letter.jsonl --to Ana "Thank her for the photos"
        specsteer replay letter.jsonl
        specsteer replay letter.jsonl --redact report.jsonl
    """
    from edge_app.service.tape import new_file, read_tape, redacted

    tape = read_tape(file)
    if out is not None:
        masked = redacted(tape)
        for line in masked.lines():
            click.echo(line)
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise click.UsageError("nobody is there to ask: look at it, then --yes")
            if not confirm(f"write these lines to {out}?"):
                raise click.Abort
        with new_file(out) as written:
            written.writelines(line.encode() + b"\n" for line in masked.lines())
        click.echo(f"written to {one_line(str(out))}; send that file", err=True)
    elif plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for line in told(tape):
            click.echo(line)
    else:
        from edge_app.tui.app import ReplayApp  # Textual takes 0.2 s to load

        sys.exit(ReplayApp(tape, speed).play())


def told(tape: Tape) -> Iterator[str]:
    """The tape in words, a line for each event; tokens that were drafted one after the
    other stand in one."""
    if tape.request.text:
        whom = f" for {tape.request.recipient}" if tape.request.recipient else ""
        yield one_line(f"asked for: {tape.request.task}{whom}: {tape.request.text}")
    for drafts, together in groupby(
        tape.recorded, key=lambda one: isinstance(one.event, Drafted)
    ):
        found = list(together)
        for line in [_drafted(found)] if drafts else map(_line, found):
            if line:
                yield one_line(line)


def _drafted(found: list[Recorded]) -> str:
    texts = [one.event.text for one in found if isinstance(one.event, Drafted)]
    return _said(found[0].at, f"drafted {len(texts)}: {_quoted(''.join(texts))}")


def _line(one: Recorded) -> str:
    words = _words(one.event)
    return _said(one.at, words) if words else ""


def _said(at: float, words: str) -> str:
    return f"{at:8.2f} s  {words}"


def _quoted(text: str) -> str:
    return repr(text)[1:-1].join("“”")


def _words(event: Event) -> str:
    """What an event says, in one line; empty for one that a person need not know."""
    match event:
        case SourcesFound(sources):
            titles = "; ".join(source.title for source in sources)
            return f"read {len(sources)} texts: {titles}" if titles else "read no text"
        case Opened(verifier, local):
            return "no checker takes part" if local else f"the checker is {verifier}"
        case Sent():
            return f"sent {event.size:,} bytes: {event.what}"
        case Received():
            return f"received {event.size:,} bytes: {event.what}"
        case Reckoned():
            return f"told {event.nats:.2f} nats, {event.total:.2f} in all"
        case Verified():
            refused = _quoted("".join(event.refused))
            kept = f"kept {event.accepted} of {event.drafted}"
            return f"{kept}, not kept {refused}" if event.refused else kept
        case Settled(tokens):
            return "settled " + ", ".join(
                f"{_quoted(''.join(token.text for token in run))} {origin}"
                for origin, run in groupby(tokens, key=lambda token: token.origin)
            )
        case HeldBack():
            return f"held back {_quoted(event.text)} ({event.kind})"
        case Notice(text):
            return f"said: {text}"
        case Finished(reason, statistics):
            speed = f"{statistics.tokens_per_second:.1f} tokens a second"
            return f"finished: {reason}; {speed}"
        case _:
            return ""
