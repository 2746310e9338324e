"""`specsteer bench screen`: how soon the app shows what came, and what it costs."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click

from benchmarks.options import AT_LEAST_ONE, NONE_OR_MORE
from benchmarks.screen.terminal import Terminal
from models.python_child import start

PATIENCE = 300.0
"""Seconds for one run; what takes longer is not measured."""
_WORD = re.compile(rb"w(\d{6})")


@dataclass(frozen=True, slots=True)
class Stream:
    """A text that grows from `before` tokens on."""

    before: int
    tokens: int
    delay_p50_ms: float
    delay_p95_ms: float
    updates_per_second: float
    cpu_ms_per_update: float
    """Of the thread that paints."""
    bytes_per_update: float


@dataclass(frozen=True, slots=True)
class FirstPaint:
    """From the start of the process until the page is in the terminal."""

    wall_ms: float
    cpu_ms: float


@click.command("screen")
@click.option(
    "--tokens", type=AT_LEAST_ONE, default=1000, show_default=True, help="To stream."
)
@click.option(
    "--rate", type=click.FloatRange(1), default=200, show_default=True, help="A second."
)
@click.option(
    "--before",
    multiple=True,
    type=NONE_OR_MORE,
    default=(500, 5000, 20000),
    show_default=True,
    help="Tokens that are there already; may be given several times.",
)
@click.option(
    "--busy",
    type=NONE_OR_MORE,
    default=os.cpu_count() or 1,
    show_default="one for each core",
    help="Processes that only compute meanwhile.",
)
@click.option(
    "--paints",
    type=NONE_OR_MORE,
    default=5,
    show_default=True,
    help="First paints, each by an app started anew.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(
    tokens: int,
    rate: float,
    before: tuple[int, ...],
    busy: int,
    paints: int,
    as_json: bool,
) -> None:
    """How soon a token that came is seen, and what it costs.

    The app runs as a process of its own in a pseudo-terminal of 120 columns and 36
    rows. A delay is the time from the moment at which a token is handed over to that at
    which the terminal has its bytes; CPU is that of the thread that paints, for each
    update that it painted, and is to be the same in a long text as in a short one. The
    first paint is measured from the start of the process, by the clock and in CPU time,
    with nothing beside it but what the machine does anyway.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = [first_paint(Path(folder)) for _ in range(paints)]
        with ExitStack() as beside:
            for _ in range(busy):
                other = start("benchmarks.screen.streaming:compute")
                beside.callback(other.wait)
                beside.callback(other.kill)
            streams = [stream(Path(folder), one, tokens, rate) for one in before]
    if as_json:
        body = {
            "busy": busy,
            "rate": rate,
            "first_paint": [asdict(one) for one in found],
            "streams": [asdict(one) for one in streams],
        }
        click.echo(json.dumps(body))
        return
    if found:
        wall = median(one.wall_ms for one in found)
        cpu = median(one.cpu_ms for one in found)
        click.echo(
            f"first paint: {wall:.0f} ms by the clock, {cpu:.0f} ms of CPU "
            f"(median of {paints})\n"
        )
    click.echo(f"{rate:g} tokens a second, {busy} processes computing beside the app\n")
    click.echo("tokens there  delay p50    p95  updates/s  CPU/update  bytes/update")
    for one in streams:
        click.echo(
            f"{one.before:12,}  {one.delay_p50_ms:6.0f} ms  {one.delay_p95_ms:4.0f} ms"
            f"  {one.updates_per_second:7.1f}  {one.cpu_ms_per_update:7.1f} ms"
            f"  {one.bytes_per_update:12,.0f}"
        )


def stream(folder: Path, before: int, tokens: int, rate: float) -> Stream:
    """Stream a text, and read the terminal as it comes.

    Raises:
        click.ClickException: the app did not show all of it.
    """
    out = folder / f"stream-{before}.json"
    with Terminal(
        "benchmarks.screen.streaming:main",
        *(str(out), str(before), str(tokens), str(rate)),
        more={"SPECSTEER_HOME": str(folder)},
    ) as terminal:
        # The file is there when the last token was handed over, and has been painted.
        last = f"w{tokens - 1:06d}".encode()
        if not terminal.read_until(
            lambda: out.exists() and last in terminal.output, PATIENCE
        ):
            raise click.ClickException("the app did not show what it was given")
    measured = json.loads(out.read_text())
    emitted = {int(one): moment for one, moment in measured["emitted"].items()}
    seen: dict[int, int] = {}
    for found in _WORD.finditer(terminal.output):
        seen.setdefault(int(found[1]), found.end() - 1)
    delays = sorted(
        terminal.came(seen[one]) - emitted[one] for one in emitted if one in seen
    )
    spent = max(emitted.values()) - min(emitted.values())
    paints = max(1, measured["paints"])
    return Stream(
        before,
        len(delays),
        1e3 * delays[len(delays) // 2],
        1e3 * delays[int(0.95 * len(delays))],
        paints / (spent or 1.0),
        measured["cpu_ms"] / paints,
        measured["bytes"] / paints,
    )


def first_paint(folder: Path) -> FirstPaint:
    """Start `specsteer` as a new person does, until the page is there.

    Raises:
        click.ClickException: there was no page.
    """
    entry = "edge_app.cli:main"
    home = {"SPECSTEER_HOME": str(folder / "home")}
    with Terminal(entry, more=home) as terminal:
        painted = (b"^J", b"Tess's sample letters")
        if not terminal.read_until(
            lambda: all(part in terminal.output for part in painted), PATIENCE
        ):
            raise click.ClickException("the app did not paint its page")
        cpu = terminal.cpu_seconds()
        return FirstPaint(1e3 * (terminal.chunks[-1][1] - terminal.started), 1e3 * cpu)
