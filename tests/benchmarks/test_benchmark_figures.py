"""What the benchmarks count: loops, habits, and the intervals of shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.content.judging import repeats, shows
from benchmarks.intervals import wilson


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("", 0),
        ("one two three", 1),
        ("very very good", 2),
        ("and so on and so on and so on", 3),
        ("a b a b a b a b c", 4),
        ("x a b a b a b a c", 3),
        ("no no no no no", 5),
    ],
)
def test_a_loop_is_a_span_in_immediate_succession(text, times):
    """However long the span is."""
    assert repeats(text.split()) == times


@given(st.lists(st.integers(0, 2), max_size=24))
def test_loops_are_found_wherever_they_are(items):
    """As by trying every span."""
    most = min(1, len(items))
    for length in range(1, len(items) + 1):
        for start in range(len(items)):
            span, times = items[start : start + length], 1
            while items[start + times * length :][:length] == span:
                times += 1
            if len(span) == length:
                most = max(most, times)
    assert repeats(items) == most


def test_a_greeting_begins_a_text():
    """Case and spaces do not matter; the place does."""
    assert shows("HULLO  Ana\n\nYes.", "greeting", "Hullo Ana")
    assert not shows("Well. Hullo Ana", "greeting", "Hullo Ana")
    assert shows("Yes.\n\nTruly  yours,", "sign-off", "truly yours,")


@given(st.integers(0, 200), st.integers(0, 200))
def test_an_interval_holds_its_share(one, other):
    """And stays between nothing and everything, narrower with more cases."""
    share = wilson(min(one, other), max(one, other))
    assert 0.0 <= share.low <= share.value + 1e-12
    assert share.value - 1e-12 <= share.high <= 1.0
    many = wilson(10 * min(one, other), 10 * max(one, other))
    assert many.high - many.low <= share.high - share.low
