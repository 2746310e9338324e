"""`specsteer lab bench soak`: whether the server's memory stays flat for as long as you
like."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

import click
import httpx
import numpy as np

from benchmarks.load.devices import Text, headers, opening, write
from benchmarks.load.household import Household, household
from models.lazy_commands import Command

_SAMPLE_SECONDS = 5.0
_WARM_UP = 0.3
"""Part of the samples that does not count: caches fill, the allocator settles."""
FLAT = 0.05
"""Growth over the rest that still counts as none, of what there was."""


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


async def soak(
    home: Household, seconds: float, devices: int, rest: float = 0.0
) -> Soaked:
    """Have devices write texts of all lengths, leave some of them in their midst, open
    some in vain and break some connections, until the time is over. Each device rests
    for some seconds after a text."""
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
                await asyncio.sleep(choose.uniform(0, 2 * rest))

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


@click.command("soak", cls=Command)
@click.option(
    "--minutes",
    type=click.FloatRange(0.5),
    default=10.0,
    show_default=True,
    help="How long.",
)
@click.option(
    "--devices",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="How many write at once.",
)
@click.option(
    "--rest",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Seconds that a device rests after a text, on average: the machine has other"
    " work too.",
)
def command(minutes: float, devices: int, rest: float) -> None:
    """Whether the server's memory stays flat.

    Devices of three users write texts of all lengths with the embedded pair, some of
    which they leave in their midst or only open. The exit status is 1 where its
    memory grows by more than a twentieth, on the line through the samples after the
    first third.
    """
    with household(4) as home:
        found = asyncio.run(soak(home, 60 * minutes, devices, rest))
    print(
        f"{found.seconds / 60:.1f} minutes, {found.texts} texts, {found.rounds} rounds:"
        f" {found.begins_mib:.1f} MiB at first, {found.ends_mib:.1f} at last "
        f"({100 * found.growth:+.1f} %), {found.most_mib:.1f} at most; "
        f"{found.descriptors} files open at the end"
    )
    sys.exit(found.growth > FLAT)
