"""Rows that two readers ask for are computed once, and are the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.verifier import read_text
from edge_app.decoding import on_device
from edge_app.decoding.on_device import RememberedRows
from tests.fakes import HashEngine


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 1), min_size=1), st.integers(1, 9)),
        max_size=8,
    )
)
def test_what_is_remembered_is_what_would_be_computed(readings):
    """For texts that go on, go back and go elsewhere, with any number of rows."""
    shared, plain = RememberedRows(HashEngine("x")), HashEngine("x")
    for text, rows in readings:
        rows = min(rows, len(text))
        found = read_text(shared, text, rows)
        np.testing.assert_array_equal(found, read_text(plain, text, rows))
        assert shared.tokens == text
        assert shared.position == len(text)


def test_no_row_is_computed_twice(monkeypatch):
    monkeypatch.setattr(on_device, "_KEPT", 4)
    engine = HashEngine("x")
    shared = RememberedRows(engine)
    for end in range(2, 9):
        read_text(shared, list(range(end)))
    assert engine.evaluations == [2, 3, 2, 2, 2, 2, 2]  # with the one before it
    read_text(shared, list(range(8)), 4)  # as the other reader does
    assert len(engine.evaluations) == 7
    read_text(shared, list(range(8)), 5)  # the first of these is forgotten
    assert len(engine.evaluations) == 8
