"""Texts of tokens; a block of thoughts is taken off the beginning."""

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from decoding_core.messages import TokenBlock
from edge_app.decoding.events import (
    Drafted,
    EventEmitter,
    HeldBack,
    TextDecoder,
    ThoughtRemover,
)
from models.never_drawn import MARKS


@given(st.text(), st.data())
def test_tokens_joined_give_the_text(text, data):
    """However the bytes are cut into tokens; only a text that breaks off in the mark of
    a block of thoughts stays without it."""
    begun = text.lstrip()
    assume(not any(mark.startswith(begun) for both in MARKS for mark in both))
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    bounds = [0, *cuts, len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(bounds)]
    decoder = TextDecoder(lambda index: pieces[index])
    assert "".join(decoder.push(i) for i in range(len(pieces))) == text


def test_a_fork_leaves_the_settled_text_alone():
    pieces = ["é".encode()[:1], "é".encode()[1:], b"x"]
    settled = TextDecoder(pieces.__getitem__)
    assert settled.push(0) == ""
    waiting = settled.fork()
    assert waiting.push(1) == "é"
    assert waiting.push(2) == "x"
    assert settled.push(1) == "é"


def shown(pieces):
    """What is left of a text that comes in pieces, at its end."""
    remover = ThoughtRemover()
    return "".join(remover.push(piece) for piece in pieces)


@given(
    st.sampled_from(MARKS),
    st.text("abc <>/\n", max_size=20),
    st.text("abc <>/\n", max_size=20),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_a_block_of_thoughts_is_none_of_the_text(mark, thoughts, text, cuts):
    """However it is cut into pieces; the space behind it goes along."""
    whole = f"{mark[0]}{thoughts}{mark[1]}\n\n{text}"
    bounds = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(bounds)]
    assert shown(pieces) == text.lstrip()


def test_a_block_that_is_closed_once_more_is_none_of_the_text():
    assert shown(["\n</th", "ink>", "\n\n", "Hi"]) == "\nHi"


def test_what_was_held_back_is_placed_among_the_words_that_are_read():
    """Thoughts stand before them in the model's text and not in the person's."""
    pieces = [MARKS[0][0].encode(), b"hm", MARKS[0][1].encode(), b"Call", b" Zoltan"]
    found = []
    emitter = EventEmitter(found.append, pieces.__getitem__)
    emitter.settled(TokenBlock((0, 1, 2, 3), ("accepted",) * 4))
    emitter.held_back(HeldBack("person", "known", " Zoltan", " Jordan", 4, 1))
    emitter.settled(TokenBlock((4,), ("local",)))
    (held,) = (one for one in found if isinstance(one, HeldBack))
    assert emitter.tokens[held.position].text == " Zoltan"


def test_a_text_begins_with_its_first_word_and_ends_with_its_last_character():
    """Not with the blank that a token holds, nor with a part of a character."""
    pieces = [b" Dear", b" Zo", b"\xc3", b"\xab", b"\xe2\x82"]
    found = []
    emitter = EventEmitter(found.append, pieces.__getitem__, blank=True)
    emitter.drafted(0)
    emitter.settled(TokenBlock((0, 1, 2), ("accepted",) * 3))
    emitter.drafted(3)
    emitter.settled(TokenBlock((3, 4), ("accepted",) * 2))
    assert emitter.text() == "Dear Zo\xeb"
    assert [one.text for one in found if isinstance(one, Drafted)] == ["Dear", "\xeb"]
