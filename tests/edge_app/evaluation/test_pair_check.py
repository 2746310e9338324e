"""A check of a pair takes the time it was given, and says what it measured."""

import threading

import numpy as np
import pytest
from evaluation_helpers import case, measured

from decoding_core.errors import ContextFullError, StoppedError
from edge_app.evaluation.figures import check_pair, in_turn, worth_of
from edge_app.evaluation.pair import Measuring, Speed

HOW = Measuring(strengths=(1.0,), thresholds=(0.5,))


def text(name, genre="letter"):
    return case(name=name, genre=genre)


class ScriptedPair:
    """Measures at once, until `after` texts; then the time is over."""

    def __init__(self, stop, after=99, full=()):
        self.stop, self.after, self.full, self.seen = stop, after, full, []

    def speeds(self):
        return Speed(100.0, 10.0, 0.5), Speed(50.0, 5.0, 1.0)

    def measure(self, one, how):
        if len(self.seen) >= self.after:
            self.stop.set()
            raise StoppedError("over")
        self.seen.append(one.name)
        if one.name in self.full:
            raise ContextFullError("no room")
        return measured(one, steered=(185.0,))


def check(cases, **pair):
    stop, told = threading.Event(), []
    scripted = ScriptedPair(stop, **pair)
    found = check_pair(scripted, cases, HOW, 60.0, stop, lambda *a: told.append(a))
    return found, scripted, told


def test_texts_are_measured_until_the_time_is_over():
    """What was measured counts."""
    found, pair, told = check([text("a"), text("b"), text("c")], full=("b",))
    assert pair.seen == ["c", "b", "a"]
    assert found.worth.texts == 2
    assert found.specialist.step == 10.0
    assert told[0] == (0, 60)
    found, _, _ = check([text("a"), text("b"), text("c")], after=1)
    assert found.worth.texts == 1
    assert found.worth.steering.low is None  # one text has no interval
    nothing, _, _ = check([text("a")], after=0)
    assert nothing.worth is None


def test_kinds_take_turns_the_newest_first():
    cases = [text("l1"), text("l2"), text("r1", "review"), text("r2", "review")]
    assert [one.name for one in in_turn(cases)] == ["r2", "l2", "r1", "l1"]


def test_worth_is_nats_a_text_with_an_interval():
    texts = [measured(case(), steered=(185.0 + at,)) for at in range(8)]
    worth = worth_of(texts)
    assert worth.steering.value == pytest.approx(np.mean([at - 5.0 for at in range(8)]))
    assert worth.steering.low < worth.steering.value < worth.steering.high
    assert (worth.history.value, worth.kept.value) == (-20.0, pytest.approx(0.7))
