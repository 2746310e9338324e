"""One's own store: each text from those before it, and from nothing else."""

import json

import pytest
from evaluation_helpers import SAYINGS

from edge_app.evaluation.cases import CasesError, held_out
from personal_store import Store, import_source


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        yield store


def add(store, tmp_path, rows):
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    import_source(store, "jsonl", path)


def row(number, **fields):
    date = f"2024-01-{number + 1:02}"
    return {"text": f"{SAYINGS[number]}.", "kind": "note", "date": date, **fields}


def known(case):
    """Every text that the history of a case can give."""
    return [passage.text for passage in case.history().recent(limit=99)]


def test_each_text_is_predicted_from_those_before_it(store, tmp_path):
    add(store, tmp_path, [row(n) for n in (5, 2, 0, 4, 1, 3)])
    cases = held_out(store, 2)
    held = [case.beginning + case.text for case in cases]
    assert held == [f"{saying}." for saying in SAYINGS[4:]]
    assert [sorted(known(case)) for case in cases] == [
        sorted(f"{saying}." for saying in SAYINGS[:count]) for count in (4, 5)
    ]


def test_texts_that_hold_most_of_it_are_left_out(store, tmp_path):
    """An earlier draft, or a longer text around it, would give the answer away."""
    around = f"Before we begin let me say this: {SAYINGS[5]}. And much more after that."
    add(store, tmp_path, [row(n) for n in range(6)])
    add(store, tmp_path, [{**row(2), "text": around}])
    (case,) = held_out(store, 1)
    assert around not in known(case)
    assert f"{SAYINGS[5]}." not in known(case)
    assert len(known(case)) == 5


def test_texts_of_the_same_moment_and_of_no_date_are_left_out(store, tmp_path):
    add(store, tmp_path, [row(n) for n in range(4)])
    add(store, tmp_path, [row(4, date=row(3)["date"]), row(5, date="")])
    case = next(c for c in held_out(store, 2) if SAYINGS[3][:20] in c.beginning)
    assert sorted(known(case)) == sorted(f"{saying}." for saying in SAYINGS[:3])


def test_without_any_date_the_order_of_import_counts(store, tmp_path):
    add(store, tmp_path, [row(n, date="") for n in range(6)])
    (case,) = held_out(store, 1)
    assert SAYINGS[5].startswith(case.beginning)
    assert len(known(case)) == 5


def test_kinds_are_held_out_each(store, tmp_path):
    add(store, tmp_path, [row(n, kind=("note", "post")[n % 2]) for n in range(6)])
    cases = held_out(store, 1)
    assert [case.genre for case in cases] == ["note", "post"]
    assert len(known(cases[1])) == 5


def test_what_stands_in_for_the_request(store, tmp_path):
    fields = [{}, {}, {}, {"title": "Beans"}, {"rating": 4, "to": "Mill Inn"}, {}]
    kinds = ["note", "note", "note", "email", "review", "note"]
    rows = [row(n, kind=kinds[n], **fields[n]) for n in range(6)]
    add(store, tmp_path, rows)
    email, note, review = held_out(store, 1)
    assert (email.request.text, email.beginning) == ("Beans", "")
    assert (review.request.text, review.request.recipient) == ("4 stars", "Mill Inn")
    assert note.request.text == note.beginning == "there is a drawer full of"
    assert note.text == " keys whose doors were all pulled down years ago."


def test_too_few_texts(store, tmp_path):
    add(store, tmp_path, [row(n) for n in range(3)])
    with pytest.raises(CasesError, match="specsteer import"):
        held_out(store, 5)
