"""`specsteer lab bench load`: many texts at once on one server."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.load.devices import Text, percentile, write_all
from benchmarks.load.household import Household, household
from benchmarks.options import AT_LEAST_ONE, NEW_FILE, NONE_OR_MORE
from models.lazy_commands import Command


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: so many texts on so many slots."""

    texts: int
    slots: int
    at_once: bool
    rounds_per_second: float
    first_ms: float
    """Median of the time from the opening to the first verdict."""
    p50_ms: float
    p95_ms: float
    """Of the further rounds."""
    computing_ms: float
    """Of the server, for each round; prompts are shared out over the rounds."""
    refused: int
    """How often a device was asked to come back."""


def measure(home: Household, slots: int, texts: list[Text], *, at_once: bool) -> Row:
    """Have the texts written, and say what it took."""
    computing, began = home.computing(), time.perf_counter()
    times = asyncio.run(write_all(home, texts, at_once=at_once))
    seconds, computing = time.perf_counter() - began, home.computing() - computing
    rounds = sum(one.rounds for one in texts)
    return Row(
        len(texts),
        slots,
        at_once,
        rounds / seconds,
        1000 * float(np.median([one.first for one in times])),
        1000 * percentile(times, 50),
        1000 * percentile(times, 95),
        1000 * computing / rounds,
        sum(one.refused for one in times),
    )


def idle_sockets(home: Household, count: int) -> list[socket.socket]:
    """So many connections that say nothing."""
    return [
        socket.create_connection(("127.0.0.1", home.port), 20) for _ in range(count)
    ]


def show(row: Row) -> str:
    """A line of the table."""
    how = "at once" if row.at_once else "one by one"
    return (
        f"{row.texts:5} on {row.slots:3} {how:10} {row.rounds_per_second:7.1f}"
        f"{row.first_ms:10.0f}{row.p50_ms:9.0f}{row.p95_ms:9.0f}"
        f"{row.computing_ms:11.1f}{row.refused:9}"
    )


@click.command("load", cls=Command)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    multiple=True,
    default=(1, 4, 16, 64),
    show_default=True,
    help="How many texts at once; may be repeated.",
)
@click.option(
    "--slots",
    type=AT_LEAST_ONE,
    default=16,
    show_default=True,
    help="Caches of the server, of most rows.",
)
@click.option(
    "--few-slots",
    type=AT_LEAST_ONE,
    default=4,
    show_default=True,
    help="Caches of the server, of the last two rows.",
)
@click.option(
    "--rounds",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    help="Blocks of each text.",
)
@click.option(
    "--prompt", type=AT_LEAST_ONE, default=300, show_default=True, help="Its tokens."
)
@click.option(
    "--idle",
    type=NONE_OR_MORE,
    default=1000,
    show_default=True,
    help="Sockets that say nothing, beside the last text on --slots.",
)
@click.option("--json", "json_file", type=NEW_FILE, help="Also write the rows there.")
def command(
    texts: tuple[int, ...],
    slots: int,
    few_slots: int,
    rounds: int,
    prompt: int,
    idle: int,
    json_file: Path | None,
) -> None:
    """Many texts at once on one server, with the embedded pair.

    Devices in one process write texts of random tokens, in blocks of eight of which
    few are kept, and draft for 20 ms between them. The server is a process of its own,
    with one thread a model. First as many texts as --texts says, at once and, as a
    comparison, 16 of them one by one; then one text beside --idle sockets that say
    nothing; at last as many texts as --few-slots on so many, and four times as many.
    """
    rows: list[Row] = []

    def run(home: Household, count: int, room: int, *, at_once: bool = True) -> Row:
        todo = [Text(prompt=prompt, rounds=rounds, seed=n) for n in range(count)]
        rows.append(measure(home, room, todo, at_once=at_once))
        print(show(rows[-1]), flush=True)
        return rows[-1]

    print(
        "texts on slots           rounds/s  first ms   p50 ms   p95 ms   computing  "
        "refused"
    )
    with household(slots) as home:
        for count in texts:
            run(home, count, slots)
        run(home, min(16, max(texts)), slots, at_once=False)
        with ExitStack() as stack:
            before = home.memory()
            for one in idle_sockets(home, idle):
                stack.enter_context(one)
            run(home, 1, slots)
            more = (home.memory() - before) / (1 << 20)
            print(
                f"      beside {idle} idle sockets: {home.descriptors()} files open, "
                f"{more:.0f} MiB more"
            )
    with household(few_slots) as home:
        few = run(home, few_slots, few_slots)
        many = run(home, 4 * few_slots, few_slots)
        print(
            f"      {many.texts} texts on {few_slots} slots take "
            f"{many.computing_ms / few.computing_ms:.2f} times the computing of "
            f"{few.texts} a round"
        )
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(row) for row in rows], indent=1))
