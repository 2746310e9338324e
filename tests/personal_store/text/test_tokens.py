"""Words of a text, the same by the fast way and by the pattern."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store.text.tokens import _by_runs, tokens


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_both_ways_find_the_same_words(text):
    """Whatever stands in a text: the fast way is a shortcut and nothing else."""
    assert tokens(text) == _by_runs(unicodedata.normalize("NFKC", text).casefold())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't wait_here, at 9:30!", ["don", "t", "wait", "here", "at", "9", "30"]),
        ("STRASSE Straße ﬁne", ["strasse", "strasse", "fine"]),
        ("東京都 tea", ["東京", "京都", "tea"]),
        ("".join(chr(c) for c in range(0x2190, 0x2190 + 80)) + "x", ["x"]),
        ("Ana’s “late” – ½ 😀", ["ana", "s", "late", "1", "2"]),
        ("", []),
    ],
    ids=["latin", "folded", "unspaced", "many marks", "quotes", "empty"],
)
def test_words_of_a_text(text, words):
    assert tokens(text) == words
