"""Writers whom no training knows: their letters, their edits, and what is counted."""

import pytest

from benchmarks.content.bench_edits import Draft, as_table, fewer_changes
from benchmarks.content.strangers import WRITERS, stranger


@pytest.mark.parametrize("number", range(WRITERS))
def test_a_letter_of_theirs_needs_no_edit(number):
    """And shows all their habits; a plain draft shows few, and none is left to edit."""
    writer = stranger(number)
    for part in range(3):
        request, text = writer.letter(3, part)
        assert writer.edited(text, request.recipient) == text
        shown, of = writer.kept(text, request.recipient)
        assert shown == of >= 3
    plain = f"Hi {request.recipient},\n\nThank you, I will come.\n\nBest,\nMe"
    edited = writer.edited(plain, request.recipient)
    assert writer.kept(plain, request.recipient)[0] <= of - 3
    assert writer.edited(edited, request.recipient) == edited
    assert len({stranger(n).letter(0, 0)[1] for n in range(WRITERS)}) == WRITERS


def test_changes_are_counted_of_a_hundred_words():
    """Half of them gone is half fewer, whatever the lengths."""
    drafts = [
        Draft(writer, when, "", "", changed, words, 1, 2, 30.0)
        for writer in range(3)
        for when, changed, words in (("before", 8, 40), ("after", 5, 50))
    ]
    assert fewer_changes(drafts).value == pytest.approx(0.5)
    table = as_table(drafts)
    assert "20.0 (20.0 to 20.0)" in table
    assert "fewer words changed: 50.0 (50.0 to 50.0) %" in table
