"""Words of a text, to search for and to compare."""

from hypothesis import given
from hypothesis import strategies as st

from personal_store.text.tokens import normalised, tokens

WORDS = {
    "Don't wait_here, at 9:30!": ["don", "t", "wait", "here", "at", "9", "30"],
    "STRASSE Straße ﬁne": ["strasse", "strasse", "fine"],
    "東京都 tea": ["東京", "京都", "tea"],
    "".join(chr(c) for c in range(0x2190, 0x2190 + 80)) + "x": ["x"],
    "Ana’s “late” – ½ 😀": ["ana", "s", "late", "1", "2"],
    "": [],
}


def test_words_of_a_text():
    assert {text: tokens(text) for text in WORDS} == WORDS


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_read_as_any_other_text(text):
    assert [*tokens(text), "é"] == tokens(f"{text} é")
    assert f"{normalised(text)} é".strip() == normalised(f"{text} é")
