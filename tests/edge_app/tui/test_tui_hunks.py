"""Versions side by side: sentences, what one takes of the other, and its origins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tui_stretches import until_drafted_twice
from test_tui_variant import LETTER
from tui_helpers import SECOND, gated_service, make_app, play, said, until

from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.compare import hunks, sentences, taken
from edge_app.tui.text import joined, spliced

TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n”)"), max_size=30)


@given(TEXTS)
def test_sentences_are_all_of_a_text(text):
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text


@given(TEXTS, TEXTS)
def test_taking_all_hunks_makes_the_other(here, there):
    """But for the space around them: first the last hunk, so that places stay."""
    ours, theirs = [(here, "kept")], [(there, "typed")]
    found = hunks(here, there)
    assert "".join(here[slice(*one.here)] for one in found) == here
    assert "".join(there[slice(*one.there)] for one in found) == there
    for hunk in reversed(found):
        if not hunk.same:
            ours = spliced(ours, *taken(hunk, ours, theirs))
    assert "".join(t for t, _ in ours).split() == there.split()


@pytest.mark.parametrize(
    ("here", "there", "first"),
    [
        ("A b. C d. E.", "A b. X. E.", "A b. X. E."),
        ("A b. C d.", "A b. X y.", "A b. X y."),
        ("A b.", "A b. X y.", "A b. X y."),
        ("A b. C d.", "A b.", "A b."),
        ("Hi,\n\nA b.", "Ho,\n\nA b.", "Ho,\n\nA b."),
        ("A. B.", "X. A. B.", "X. A. B."),
    ],
)
def test_a_hunk_is_taken_with_the_space_it_needs(here, there, first):
    ours, theirs = [(here, "kept")], [(there, "typed")]
    hunk = next(one for one in hunks(here, there) if not one.same)
    made = joined(spliced(ours, *taken(hunk, ours, theirs)))
    assert "".join(text for text, _ in made) == first


def test_a_hunk_is_taken_put_back_and_there_again(tmp_path):
    journals = JournalFolder(tmp_path / "drafts")
    app = make_app(gated_service(), tmp_path, journals=journals)

    async def steps(pilot):
        await until_drafted_twice(pilot)
        variant = app.writing.variant
        await pilot.press("f9")
        assert "right: version 1" in said(app, ".note")
        await pilot.press("space", "space")
        changed = variant.text
        assert changed.startswith("Dear Ana,\n\nThank you for the photographs. ")
        assert app.page.pane.editor.text == changed
        await pilot.press("u", "u")
        assert variant.text == SECOND
        await pilot.press("up", "up", "space", "space", "escape", "ctrl+z", "ctrl+z")
        assert app.page.pane.editor.text == SECOND
        await pilot.press("ctrl+y", "ctrl+y")
        assert app.writing.variant.text == changed
        app.texts = [known.text for known in app.writing.variants]

    play(app, steps)
    (one,) = journals.kept()[0]
    assert [known.text for known in one.draft.variants] == app.texts
    assert app.texts[0] == LETTER


def test_sentences_that_are_alike_stand_side_by_side():
    here = "Hi. I can come on Monday. Bring tea."
    there = "Dear Ana. What a day. I can come on Friday. Bring the tea. Bye."
    sides = [(here[slice(*h.here)], there[slice(*h.there)]) for h in hunks(here, there)]
    assert [(left.strip(), right.strip()) for left, right in sides] == [
        ("Hi.", "Dear Ana. What a day."),
        ("I can come on Monday.", "I can come on Friday."),
        ("Bring tea.", "Bring the tea."),
        ("", "Bye."),
    ]


@pytest.mark.parametrize(
    "size", [pytest.param((120, 36), marks=pytest.mark.slow), (40, 12)]
)
def test_it_fits_on_every_screen(tmp_path, size):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("f9")
        await until(pilot, lambda: app.screen is not app.page)
        await until(pilot, lambda: "nothing to compare" in said(app, ".note"))
        await pilot.press("space", "u", "left", "escape")
        await until_drafted_twice(pilot)
        await pilot.press("f9", "left", "right", "down", "up")
        assert "difference" in said(app, ".note")

    play(app, steps, size)
