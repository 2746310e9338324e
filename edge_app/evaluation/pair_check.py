"""What a pair of models is worth on this machine and on a person's texts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.errors import ContextFullError, StoppedError
from edge_app.evaluation.bootstrap import Estimate, Resamples
from edge_app.evaluation.cases import Case
from edge_app.evaluation.pair import Measured, Measuring, Pair
from edge_app.evaluation.speed import Speed

Progress = Callable[[int, int], None]
"""Called with seconds spent and seconds there are."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What measured texts say of a pair; differences are in nats a text."""

    texts: int
    tokens: int
    kept: Estimate
    """Share of the specialist's tokens that the server would keep."""
    history: Estimate
    """The specialist's cost less the base's; negative: the history helps."""
    steering: Estimate
    """The target's cost less the generalist's; negative: steering helps."""


@dataclass(frozen=True, slots=True)
class PairCheck:
    """What was found within the time."""

    specialist: Speed
    generalist: Speed
    worth: Worth | None
    """None where no text could be measured in the time."""
    seconds: float


def check_pair(
    pair: Pair,
    cases: Sequence[Case],
    how: Measuring,
    seconds: float,
    stop: threading.Event,
    progress: Progress,
) -> PairCheck:
    """Measure the speeds, then as many of the texts as the time allows, of all kinds in
    turn. `pair` was loaded with `stop`, which is set when the time is over. `how` names
    one strength and one threshold.

    Raises:
        StoppedError: the person stopped before the speeds were known.
    """
    began = time.monotonic()
    small, large = pair.speeds()
    measured: list[Measured] = []
    left = seconds - (time.monotonic() - began)
    alarm = threading.Timer(max(0.0, left), stop.set)
    alarm.daemon = True
    alarm.start()
    try:
        for case in in_turn(cases):
            progress(min(int(time.monotonic() - began), int(seconds)), int(seconds))
            try:
                measured.append(pair.measure(case, how))
            except ContextFullError:
                continue
            if stop.is_set():
                break
    except StoppedError:
        pass  # what is measured counts
    finally:
        alarm.cancel()
    spent = time.monotonic() - began
    return PairCheck(small, large, worth_of(measured) if measured else None, spent)


def in_turn(cases: Sequence[Case]) -> list[Case]:
    """The newest of each kind first, then the second newest of each, and so on."""
    kinds: dict[str, list[Case]] = {}
    for case in reversed(cases):
        kinds.setdefault(case.genre, []).append(case)
    longest = max(map(len, kinds.values()), default=0)
    return [of[at] for at in range(longest) for of in kinds.values() if at < len(of)]


def worth_of(measured: Sequence[Measured], seed: int = 0) -> Worth:
    """The figures of measured texts, with intervals."""
    resamples = Resamples([(one.case.group, one.case.user) for one in measured], seed)
    tokens = np.array([one.tokens for one in measured], float)
    each = np.ones(len(measured))
    history = np.array([one.specialist - one.base for one in measured])
    steering = np.array([one.steered[0] - one.generalist for one in measured])
    return Worth(
        texts=len(measured),
        tokens=int(tokens.sum()),
        kept=resamples.ratio(np.array([one.kept[0] for one in measured]), tokens),
        history=resamples.ratio(history, each),
        steering=resamples.ratio(steering, each),
    )
