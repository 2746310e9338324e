"""One's own store: each text from those before it, and from nothing else."""

import pytest
from evaluation_helpers import SAYINGS, row

from edge_app.evaluation.cases import CasesError, held_out
from personal_store import Store, import_source

TEXTS = [f"{saying}." for saying in SAYINGS]


@pytest.fixture
def held(tmp_path, written):
    """The cases of a store with these rows, and every text that the history of each
    can give."""

    def of(count, *rows):
        with Store.open(tmp_path / "store.db") as store:
            import_source(store, "jsonl", written("rows.jsonl", *rows))
            cases = held_out(store, count)
            histories = (case.history().recent(limit=99) for case in cases)
            return cases, [sorted(one.text for one in found) for found in histories]

    return of


def test_each_text_is_predicted_from_those_before_it(held):
    cases, known = held(2, *(row(n) for n in (5, 2, 0, 4, 1, 3)))
    assert [case.beginning + case.text for case in cases] == TEXTS[4:]
    assert known == [sorted(TEXTS[:4]), sorted(TEXTS[:5])]


def test_texts_that_hold_most_of_it_are_left_out(held):
    """An earlier draft, or a longer text around it, would give the answer away."""
    around = f"Before we begin let me say this: {SAYINGS[5]}. And much more after that."
    _, known = held(1, *map(row, range(6)), {**row(2), "text": around})
    assert known == [sorted(TEXTS[:5])]


def test_texts_of_the_same_moment_and_of_no_date_are_left_out(held):
    rows = *map(row, range(4)), row(4, date=row(3)["date"]), row(5, date="")
    cases, known = held(2, *rows)
    at = [SAYINGS[3].startswith(case.beginning) for case in cases].index(True)
    assert known[at] == sorted(TEXTS[:3])


def test_without_any_date_the_order_of_import_counts(held):
    ((case,), (known,)) = held(1, *(row(n, date="") for n in range(6)))
    assert SAYINGS[5].startswith(case.beginning)
    assert len(known) == 5


def test_kinds_are_held_out_each(held):
    rows = (row(n, kind=("note", "post")[n % 2]) for n in range(6))
    cases, known = held(1, *rows)
    assert [case.genre for case in cases] == ["note", "post"]
    assert len(known[1]) == 5


def test_what_stands_in_for_the_request(held):
    review = row(4, kind="review", rating=4, to="Mill Inn")
    email = row(3, kind="email", title="Beans")
    (email, note, review), _ = held(1, *map(row, range(3)), email, review, row(5))
    assert (email.request.text, email.beginning) == ("Beans", "")
    assert (review.request.text, review.request.recipient) == ("4 stars", "Mill Inn")
    assert note.request.text == note.beginning == "there is a drawer full of"
    assert note.text == " keys whose doors were all pulled down years ago."


def test_too_few_texts(held):
    with pytest.raises(CasesError, match="specsteer import"):
        held(5, *map(row, range(3)))
