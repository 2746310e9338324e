"""`specsteer lab bench load`: many texts at once, a flood, a long run."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import httpx
import numpy as np

from benchmarks.load.devices import (
    Household,
    Text,
    flooding,
    headers,
    household,
    opening,
    percentile,
    write,
    write_all,
)
from benchmarks.options import AT_LEAST_ONE, NEW_FILE, NONE_OR_MORE, flag, option
from models.command_line import Command

FACTOR = 2.0
"""Most that a flood may raise another user's p95, against a quiet server."""
_BEGINS_SECONDS = 3.0
"""After which a flood has reached all its parts."""
_SAMPLE_SECONDS = 5.0
_WARM_UP = 0.3
"""Part of the samples that does not count: caches fill, the allocator settles."""
FLAT = 0.05
"""Growth over the rest that still counts as none, of what there was."""


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


def flooded(home: Household, texts: int, rounds: int) -> tuple[float, list[str]]:
    """How many times the p95 of one user's rounds is what it was, once another user
    floods the server, and lines that say more."""
    asyncio.run(write_all(home, [Text("quiet", rounds=5, seed=90)]))  # warms up
    lines, p95 = [f"{'':10}{'first verdict':>14}{'p50':>9}{'p95':>9}"], []

    def run(name: str, first_seed: int) -> None:
        todo = [Text("quiet", rounds=rounds, seed=first_seed + n) for n in range(texts)]
        times = asyncio.run(write_all(home, todo, at_once=False))
        first = float(np.median([one.first for one in times]))
        p95.append(percentile(times, 95))
        shown = (first, percentile(times, 50), p95[-1])
        first_ms, *others = (f"{1000 * one:6.0f} ms" for one in shown)
        lines.append(f"{name:10}{first_ms:>14}{''.join(others)}")

    run("quiet", 0)
    with flooding(home) as counts:
        time.sleep(_BEGINS_SECONDS)
        run("flooded", 50)
        memory = home.memory()
    what = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    ratio = p95[1] / p95[0]
    lines.append(f"p95 times {ratio:.2f}; the flood: {what}; {memory >> 20} MiB")
    return ratio, lines


@dataclass(frozen=True, slots=True)
class Soaked:
    """What a soak showed."""

    seconds: float
    texts: int
    rounds: int
    begins_mib: float
    ends_mib: float
    """Memory of the server on the line through the samples, after the warm-up."""
    most_mib: float
    descriptors: int
    """Open when all devices had left."""

    @property
    def growth(self) -> float:
        """From the first sample that counts to the last, as a part of the first."""
        return self.ends_mib / self.begins_mib - 1

    def in_words(self) -> str:
        """All of it in one line."""
        return (
            f"{self.seconds / 60:.1f} minutes, {self.texts} texts, {self.rounds} "
            f"rounds: {self.begins_mib:.1f} MiB at first, {self.ends_mib:.1f} at last "
            f"({100 * self.growth:+.1f} %), {self.most_mib:.1f} at most; "
            f"{self.descriptors} files open at the end"
        )


async def soaked(home: Household, seconds: float, devices: int) -> Soaked:
    """Have devices write texts of all lengths, leave some of them in their midst, open
    some in vain and break some connections, until the time is over."""
    end, began = time.monotonic() + seconds, time.monotonic()
    samples: list[tuple[float, float]] = []
    texts = rounds = 0

    async def sample() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(_SAMPLE_SECONDS)
            samples.append((time.monotonic() - began, home.memory() / (1 << 20)))

    async def device(number: int) -> None:
        nonlocal texts, rounds
        choose = random.Random(number)
        async with httpx.AsyncClient(
            base_url=home.url, timeout=120, verify=False
        ) as client:
            while time.monotonic() < end:
                text = Text(
                    f"user {number % 3}",
                    prompt=choose.randrange(20, 500),
                    rounds=choose.randrange(2, 20),
                    drafted=choose.randrange(1, 16),
                    pause=choose.choice((0.0, 0.05, 0.5)),
                    seed=choose.randrange(1 << 30),
                )
                texts += 1
                if choose.random() < 0.2:  # opened in vain
                    body = opening(home, text)
                    await client.post(
                        "/v1/sessions", json=body, headers=headers(text.user)
                    )
                elif choose.random() < 0.2:  # left in its midst
                    with suppress(TimeoutError):
                        async with asyncio.timeout(choose.uniform(0.1, 2)):
                            await write(home, client, text)
                else:
                    times = await write(home, client, text)
                    rounds += 1 + len(times.rounds)

    async with asyncio.TaskGroup() as group:
        group.create_task(sample())
        for number in range(devices):
            group.create_task(device(number))
    count = samples[int(_WARM_UP * len(samples)) :]
    at, memory = np.array(count).T
    slope, start = np.polyfit(at, memory, 1)
    return Soaked(
        time.monotonic() - began,
        texts,
        rounds,
        float(start + slope * at[0]),
        float(start + slope * at[-1]),
        float(memory.max()),
        home.descriptors(),
    )


@click.command("load", cls=Command)
@option(
    "--texts",
    AT_LEAST_ONE,
    (1, 4, 16, 64),
    "How many texts at once; may be repeated.",
    multiple=True,
)
@option("--slots", AT_LEAST_ONE, 16, "Caches of the server, of most rows.")
@option("--few-slots", AT_LEAST_ONE, 4, "Caches of the server, of the last two rows.")
@option("--rounds", click.IntRange(2), 20, "Blocks of each text.")
@option("--prompt", AT_LEAST_ONE, 300, "Its tokens.")
@option(
    "--idle",
    NONE_OR_MORE,
    1000,
    "Sockets that say nothing, beside the last text on --slots.",
)
@flag("--flood", "Instead: one user writes while another floods.")
@option(
    "--soak",
    click.FloatRange(0.5),
    None,
    "Instead: six devices write so long; does the memory stay flat?",
    metavar="MINUTES",
)
@option("--json", NEW_FILE, None, "Also write the rows there.", name="json_file")
def command(
    texts: tuple[int, ...],
    slots: int,
    few_slots: int,
    rounds: int,
    prompt: int,
    idle: int,
    flood: bool,
    soak: float | None,
    json_file: Path | None,
) -> None:
    """Many texts at once on one server, with the embedded pair.

    Devices in one process write texts of random tokens, in blocks of eight of which
    few are kept, and draft for 20 ms between them. The server is a process of its own,
    with one thread a model. First as many texts as --texts says, at once and, as a
    comparison, 16 of them one by one; then one text beside --idle sockets that say
    nothing; at last as many texts as --few-slots on so many, and four times as many.

    The flood is 256 openings with prompts that fill the context, blocks, answers that
    are not read and requests that never end, over and over, at low priority. The exit
    status is 1 if the other user's p95 is more than twice that of a quiet server.

    The devices of a soak are of three users; they leave some texts in their midst, or
    only open them. The exit status is 1 if the server's memory grows by more than a
    twentieth, on the line through the samples after the first third.
    """
    if flood:
        with household(few_slots) as home:
            ratio, lines = flooded(home, 4, 2 * rounds)
        click.echo("\n".join(lines))
        sys.exit(ratio > FACTOR)
    if soak:
        with household(few_slots) as home:
            found = asyncio.run(soaked(home, 60 * soak, devices=6))
        click.echo(found.in_words())
        sys.exit(found.growth > FLAT)
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
