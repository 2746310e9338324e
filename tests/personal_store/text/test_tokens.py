"""Words of a text, the same by the fast way and by the pattern."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from personal_store.text.tokens import _by_runs, normalised, tokens


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


@given(st.one_of(st.text(st.characters(max_codepoint=255)), st.text()))
@example("¨Ünï\xa0²ß¼ µ_ÿÞ´")
def test_words_are_the_same_by_every_way(text):
    """Letters of western Europe take a shorter one; keys of records rest on it."""
    plain = unicodedata.normalize("NFKC", text)
    assert normalised(text) == re.sub(r"\W+", " ", plain).strip().casefold()


def test_words_are_compared_whatever_their_case_and_marks():
    assert normalised("  Straße, ＯＫ!\tfi_x ") == "strasse ok fi_x"
    many = "".join(f"{chr(code)}ß" for code in range(0x2190, 0x21F0))
    assert normalised(many) == " ".join(["ss"] * 96)
