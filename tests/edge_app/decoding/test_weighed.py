"""What the models thought of each token is told with it, from what was there anyway."""

import json

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Alternatives, event_from, to_json
from tests.writing import hashed


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
