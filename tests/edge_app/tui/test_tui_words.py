"""What the screen says: true, plain, and one figure for one thing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tui_writing import writing_at
from tui_helpers import gated_service, settle
from tui_tapes import REQUEST, SOURCES, letter_recording

from edge_app.decoding.events import (
    Finished,
    HeldBack,
    Settled,
    Source,
    Statistics,
    Token,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.keys import ACTIONS
from edge_app.tui.letters import date, reason, subject
from edge_app.tui.screens import cards as cards_text
from edge_app.tui.screens import cards as title_line
from edge_app.tui.screens.help import _ABOUT, _LOOKS
from edge_app.tui.screens.page import LEGEND, starting, welcome
from edge_app.tui.text import STATES, count_words, whole_words
from edge_app.tui.variant import Variant
from models.prompts import Request


def cards(writing) -> dict[str, str]:
    said = {
        "sources_card": cards_text.sources_card(writing, 35),
        "sent_card": cards_text.sent_card(writing, 35),
        "numbers_card": cards_text.numbers_card(writing),
        "strip_line": cards_text.strip_line(writing),
    }
    return {name: text.plain for name, text in said.items()}


@pytest.mark.parametrize("samples", [True, False])
def test_your_letters_are_the_persons_own(samples):
    """And the sample is named for what it is, in every card."""
    with writing_at(gated_service()) as writing:
        writing.samples = samples
        settle(writing, lambda: writing.ready and bool(writing.counts))
        before = cards(writing)["sources_card"]
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        writing.samples = False  # letters were read meanwhile; this text is as it was
        said = cards(writing)
    name = "Tess's sample letters" if samples else "your letters"
    card = said["sent_card"].replace("\n", " ")
    assert card.startswith(f"{name}: 2 stock phrases, 0 facts your request")
    assert said["strip_line"].startswith("left: 2 stock phrases, 0 facts · ")
    assert ("your" in before) is not samples
    assert not any("your letters" in text for text in said.values()) or not samples


def test_each_figure_stands_once():
    """The words of the text, by who wrote them, add up; shares, token counts, times
    and bytes are in the drawers."""
    with writing_at(gated_service()) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        variant = writing.variant
        writing.edit(variant, 0, 0, [("Well, ", "typed")])
        said = cards(writing)
    first, *rows = said["numbers_card"].splitlines()
    counts = [int(row.split()[0]) for row in rows]
    assert first == f"{sum(counts)} words"
    assert counts[-1] == 1
    assert not any(
        mark in text for text in said.values() for mark in ("%", " ms", "kB")
    )
    assert f"{sum(counts)} words, {counts[1]} redrawn" in said["strip_line"]


def test_nothing_that_a_machine_drafted_is_called_yours():
    said = [LEGEND, _ABOUT, *(meaning for *_, meaning in _LOOKS)]
    said += [action.does for action in ACTIONS]
    assert not any("yours" in text for text in said)


def test_a_source_has_a_subject_a_date_and_a_reason():
    pier, _visit, jam = SOURCES
    request = replace(REQUEST, text="Thank Ana for the photograph and the jams.")
    assert (subject(pier), date(pier)) == ("pier photos", "Aug 2024")
    same = replace(pier, score_parts={"same_recipient": 0.3})
    assert reason(same, request) == "same person · photograph"
    assert reason(jam, request) == "jams"
    bare = Source(1, "note", 1.0, {"same_kind": 0.1}, "")
    assert (subject(bare), date(bare)) == ("note", "")
    assert reason(bare, request) == "emails like it"
    assert reason(replace(bare, score_parts={}), request) == "one of the latest"
    assert subject(replace(bare, title="email to Bo, 2026-01-02")) == "email to Bo"


def test_the_practice_models_are_named_with_a_way_to_better_ones():
    said = welcome(samples=True, practice_models=True)
    assert "Tess's sample letters" in said
    assert "practice models" in said
    assert "specsteer models" in said
    assert welcome(samples=False, practice_models=False) == ""


def test_the_start_is_told():
    """Before the first word: what is waited for, on the page."""
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert "loading the models" in starting(writing)
        fake.ready.set()
        told = set()
        writing.variant.opened = None

        def settled() -> bool:
            told.add(starting(writing))
            return not writing.service_busy

        settle(writing, settled)
        variant = writing.variant
        variant.ended, variant.settled = None, []
        assert starting(writing) == "reading 3 letters…"
        variant.opened = None
        assert starting(writing) == "reading 3 letters… asking the checker…"
        variant.sources = ()
        assert starting(writing) == "looking for letters that fit…"


def test_a_word_looks_whole():
    runs = [
        *(("heaven", "replaced"), ("ly", "kept"), (".", "kept"), (" wo", "kept")),
        *(("rked", "refused"), ("did", "waiting"), ("n't", "kept"), (" x", "typed")),
    ]
    looks = [look for _, look in whole_words(runs)]
    assert looks == [
        *("replaced", "replaced", "kept", "kept", "refused", "waiting", "waiting"),
        "typed",
    ]


@given(st.lists(st.tuples(st.text("a' .é\n", max_size=3), st.sampled_from(STATES))))
def test_words_change_look_as_a_whole(runs):
    """Nothing is cut, joined or lost; pieces of one word look alike."""
    runs = [(text, state) for text, state in runs if state != "refused"]
    shown = whole_words(runs)
    assert [text for text, _ in shown] == [text for text, _ in runs]
    for (before, one), (after, other) in pairwise(shown):
        if before and after and before[-1].isalnum() and after[0].isalnum():
            assert one == other


def test_the_dot_tells_of_a_dead_server():
    """Ended while nobody writes, silent in the middle of a text, and back."""
    fake = gated_service()
    letter = letter_recording()
    end = [Settled((Token(1, " alone", "local"),)), Finished("end", Statistics())]
    fake.recordings = [letter, [*letter[:20], *end], letter]
    with writing_at(fake) as writing:

        def dot() -> str:
            return title_line.server(writing).plain

        settle(writing, lambda: writing.ready)
        assert dot().startswith("● own server")
        fake.server_ended = lambda: True
        writing.look_at_checker()
        assert dot().startswith("✗ the checker has ended")
        fake.server_ended = lambda: False
        writing.look_at_checker()
        for start in ("● own server", "✗ no answer", "● own server"):
            writing.again(REQUEST)
            settle(writing, lambda: not writing.service_busy)
            assert dot().startswith(start)
        writing.offline = True
        assert dot().startswith("○ offline")


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(
                    st.sampled_from([" a", "b", "'s", "\n", " ", "-", "é9", "", " _x"]),
                    st.sampled_from(["accepted", "recovered", "local"]),
                ),
                max_size=5,
            ),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_words_that_are_counted_on_are_those_that_are_counted_anew(blocks):
    """After every block, whether or not somebody looked before it."""
    variant = Variant(WriteRequest(Request("x")))
    for block, looked_at in blocks:
        tokens = tuple(Token(1, text, origin) for text, origin in block)
        variant.apply(Settled(tokens), 0.0)
        if len(block) == 3:
            held = HeldBack("name", "", "", "", len(variant.settled) - 1, 1)
            variant.apply(held, 0.0)
        if looked_at:
            assert variant.word_counts() == count_words(variant.runs())
    variant.end(1.0)
    assert variant.word_counts() == count_words(variant.runs())
    variant.edited = [("one two", "typed"), (" three", "kept")]
    assert variant.word_counts() == count_words(variant.edited)
    variant.edited = [("one", "typed")]
    assert variant.word_counts()["typed"] == 1
