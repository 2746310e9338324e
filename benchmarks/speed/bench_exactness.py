"""`specsteer lab bench exactness`: what `exact = true` costs."""

from __future__ import annotations

import time
from statistics import median

import click

from models.command_line import Command
from models.files import ROLES, locate
from models.running.interface import SlotEngine
from models.running.loading import load_model
from models.running.settings import EngineSettings

_PAST = 400
_STEPS = 200


@click.command("exactness", cls=Command)
def command() -> None:
    """What exactness costs: a step of each, both ways.

    With `exact = true` an engine reads a second, empty token beside a single one, so
    that a token gets the same figures alone and in a block. The median milliseconds of
    200 steps are shown. Steps of both kinds are timed in turn, so that what else the
    machine does hits both alike.
    """
    print("model        plain ms  exact ms  ratio")
    for role in ROLES:
        plain, exact = (
            load_model(locate(role), EngineSettings(exact=exact)).open().sequence()
            for exact in (False, True)
        )
        for sequence in (plain, exact):
            sequence.evaluate(range(100, 100 + _PAST))
        pairs = [(_step(plain), _step(exact)) for _ in range(_STEPS)]
        one, two = (1000 * median(times) for times in zip(*pairs, strict=True))
        print(f"{role:12}{one:9.2f}{two:10.2f}{two / one:7.2f}")


def _step(sequence: SlotEngine) -> float:
    started = time.perf_counter()
    sequence.evaluate([5])
    seconds = time.perf_counter() - started
    sequence.rollback(_PAST)
    return seconds
