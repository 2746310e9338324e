"""`specsteer lab bench flood`: one user writes while another floods the server."""

from __future__ import annotations

import asyncio
import sys
import time

import click

from benchmarks.load.devices import Text, percentile, write_all
from benchmarks.load.flood import flooding
from benchmarks.load.household import Household, household
from benchmarks.options import AT_LEAST_ONE
from models.lazy_commands import Command

FACTOR = 2.0
"""What is promised of the other user's p95, against a quiet server."""
_BEGINS_SECONDS = 3.0
"""After which a flood has reached all its parts."""


def quiet_texts(count: int, rounds: int, first_seed: int) -> list[Text]:
    """The texts of the user who does not flood, written one after the other."""
    return [
        Text("quiet", prompt=300, rounds=rounds, seed=first_seed + n)
        for n in range(count)
    ]


def both(
    home: Household, texts: int, rounds: int
) -> tuple[dict[str, tuple[float, float, float]], dict[str, int], int]:
    """By "quiet" and "flooded": median of the first verdicts, p50 and p95 of the
    further rounds, in seconds; what came of the flood; and the most memory that the
    server had."""
    asyncio.run(write_all(home, quiet_texts(1, 5, 90), at_once=False))  # warms up
    found: dict[str, tuple[float, float, float]] = {}

    def write(name: str, first_seed: int) -> None:
        todo = quiet_texts(texts, rounds, first_seed)
        times = asyncio.run(write_all(home, todo, at_once=False))
        firsts = sorted(one.first for one in times)
        found[name] = (
            firsts[len(firsts) // 2],
            percentile(times, 50),
            percentile(times, 95),
        )

    write("quiet", 0)
    with flooding(home) as counts:
        time.sleep(_BEGINS_SECONDS)
        write("flooded", 50)
        memory = home.memory()
    return found, dict(counts), memory


@click.command("flood", cls=Command)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    default=4,
    show_default=True,
    help="Of the user who does not flood, one after the other.",
)
@click.option(
    "--rounds",
    type=click.IntRange(2),
    default=40,
    show_default=True,
    help="Blocks of each.",
)
@click.option(
    "--slots",
    type=AT_LEAST_ONE,
    default=4,
    show_default=True,
    help="Caches of the server.",
)
def command(texts: int, rounds: int, slots: int) -> None:
    """How one user writes while another floods the server.

    The flood is 256 openings with prompts that fill the context, blocks, answers that
    are not read and requests that never end, over and over, from a process at low
    priority. The exit status is 1 where the other user's p95 is more than twice what it
    is on a quiet server.
    """
    with household(slots) as home:
        found, counts, memory = both(home, texts, rounds)
    print(f"{'':10}{'first verdict':>14}{'p50':>9}{'p95':>9}")
    for name, seconds in found.items():
        told = (f"{1000 * one:6.0f} ms" for one in seconds)
        print(f"{name:10}{next(told):>14}" + "".join(told))
    ratio = found["flooded"][2] / found["quiet"][2]
    what = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"p95 times {ratio:.2f}; the flood: {what}; {memory >> 20} MiB")
    sys.exit(ratio > FACTOR)
