"""Texts that are drafted at once: their readings go in one pass, and each gets its own
rows, whenever the threads come."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from decoding_core.errors import ContextFullError
from decoding_core.protocols import Reading
from edge_app.decoding.together import Together
from tests.waiting import wait_until


class Slots:
    """Gives the tokens themselves as rows, and has no room for the token 99."""

    def __init__(self):
        self.passes = []
        self.gate = threading.Event()
        self.gate.set()

    def evaluate(self, readings):
        self.passes.append(sorted(one.slot for one in readings))
        self.gate.wait()
        if any(99 in one.token_ids for one in readings):
            raise ContextFullError("full")
        return [np.array([one.token_ids]) for one in readings]


def test_texts_wait_for_those_that_are_about_to_read():
    """And for none that waits for a verdict; what comes during a pass is read next."""
    slots = Slots()
    together = Together(slots)
    with ThreadPoolExecutor(2) as pool:

        def read(slot, *token_ids):
            return pool.submit(together.evaluate, Reading(slot, token_ids, 1))

        slots.gate.clear()
        first = read(0, 1)
        wait_until(lambda: slots.passes == [[0]])
        second = read(1, 2)
        wait_until(lambda: 1 in together._waiting)
        slots.gate.set()
        assert first.result().tolist() == [[1]]
        with together.away(0):
            assert second.result().tolist() == [[2]]
        both = read(0, 3), read(1, 4, 5)
        assert [one.result().tolist() for one in both] == [[[3]], [[4, 5]]]
        both = read(0, 99), read(1, 6)
        assert both[1].result().tolist() == [[6]]
        with pytest.raises(ContextFullError):
            both[0].result()
    assert slots.passes[:2] == [[0], [1]]
    assert {slot for some in slots.passes for slot in some} == {0, 1}
