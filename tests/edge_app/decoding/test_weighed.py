"""What the models thought of each token is told with it, from what was there anyway."""

import json

import numpy as np
import pytest

from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from edge_app.decoding.deciders import likeliest_few
from edge_app.decoding.events import Alternatives, event_from, to_json
from edge_app.decoding.on_device import OfflineVerifier
from tests.fakes import HashEngine
from tests.writing import PRIVATE, Writing, hashed


@pytest.mark.parametrize("method", ["steering", "speculative"])
@pytest.mark.parametrize("window", [1, 3])
def test_each_settled_token_is_weighed(method, window):
    """The server that decides by itself gives no row for what it keeps; the device that
    decides has one for each."""
    settings = MethodSettings(
        method=method, draft_length=4, window=window, temperature=0.8
    )
    writing = hashed(settings)
    writing.run()

    places = {}
    for event in writing.all(Alternatives):
        places |= dict(enumerate(event.places, event.position))
        assert event_from(json.loads(to_json(event))) == event
    tokens = writing.emitter.tokens
    assert sorted(places) == list(range(len(tokens)))
    for at, token in enumerate(tokens):
        first, *others = places[at].choices
        assert (first.id, first.text) == (token.id, token.text)
        assert len(others) == 3
        assert sum(one.specialist for one in places[at].choices) <= 1 + 1e-6
        assert places[at].refused == (token.origin == "recovered")
        by_row = token.origin == "recovered" or method == "speculative"
        assert (first.generalist is not None) == by_row


def test_nothing_is_weighed_unasked():
    settings = MethodSettings(method="steering", draft_length=4)
    writing = hashed(settings, weighs=False)
    writing.run()

    assert not writing.all(Alternatives)


def test_the_numbers_are_the_specialists_own():
    settings = MethodSettings(method="specialist", temperature=0.5)
    writing = Writing(settings, HashEngine("small"), OfflineVerifier())
    writing.run()

    first = writing.all(Alternatives)[0]
    row = HashEngine("small").evaluate(PRIVATE)[-1]
    chances = np.exp(log_softmax(row / 0.5))
    for choice in first.places[0].choices:
        assert choice.specialist == pytest.approx(chances[choice.id], rel=1e-5)


def test_the_few_likeliest_come_in_their_order():
    logits = np.array([0.0, 3.0, -np.inf, 2.0, 5.0], np.float32)

    assert likeliest_few(logits, 3) == [4, 1, 3]
    assert len(likeliest_few(logits, 9)) == 5
    assert logits[4] == 5.0
