"""A check of a pair takes the time it was given, and says what it measured."""

import threading

import numpy as np
import pytest

from decoding_core.errors import ContextFullError, StoppedError
from edge_app.evaluation.cases import Case
from edge_app.evaluation.figures import check_pair, in_turn, worth_of
from edge_app.evaluation.pair import Measured, Measuring, Speed
from models.prompts import Request

HOW = Measuring(strengths=(1.0,), thresholds=(0.5,))


def case(name, genre="letter"):
    return Case("g", genre, "you", name, Request("x", "letter"), lambda: None, "text")


def measured(one, steering=-2.0):
    return Measured(
        one,
        tokens=10,
        size=40,
        whole=True,
        read=1,
        base=30.0,
        specialist=25.0,
        generalist=28.0,
        steered=(28.0 + steering,),
        kept=(7.0,),
    )


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
        return measured(one)


def check(cases, **pair):
    stop = threading.Event()
    scripted = ScriptedPair(stop, **pair)
    told = []
    found = check_pair(scripted, cases, HOW, 60.0, stop, lambda *a: told.append(a))
    return found, scripted, told


def test_all_texts_are_measured_where_there_is_time():
    found, pair, told = check([case("a"), case("b"), case("c")], full=("b",))
    assert pair.seen == ["c", "b", "a"]
    assert found.worth.texts == 2
    assert found.specialist.step == 10.0
    assert told[0] == (0, 60)


def test_what_was_measured_counts_when_the_time_is_over():
    found, _, _ = check([case("a"), case("b"), case("c")], after=1)
    assert found.worth.texts == 1
    assert found.worth.steering.low is None  # one text has no interval
    nothing, _, _ = check([case("a")], after=0)
    assert nothing.worth is None


def test_kinds_take_turns_the_newest_first():
    cases = [case("l1"), case("l2"), case("r1", "review"), case("r2", "review")]
    assert [one.name for one in in_turn(cases)] == ["r2", "l2", "r1", "l1"]


def test_worth_is_nats_a_text_with_an_interval():
    texts = [measured(case(str(at)), steering=at - 5.0) for at in range(8)]
    worth = worth_of(texts)
    assert worth.steering.value == pytest.approx(np.mean([at - 5.0 for at in range(8)]))
    assert worth.steering.low < worth.steering.value < worth.steering.high
    assert (worth.history.value, worth.kept.value) == (-5.0, pytest.approx(0.7))
