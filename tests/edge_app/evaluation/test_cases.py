"""Texts to measure: those of files, and of one's own store each from those before it,
and from nothing else."""

import json
import re

import pytest
from evaluation_helpers import SAYINGS, row, user

from edge_app.evaluation.cases import CasesError, held_out, read_files
from models.prompts import Request
from personal_store import Store, import_source

PAST = [{"text": "Some earlier text."}]


def one_query(**query):
    return user(queries=[{"target": "A fine day out.", **query}])


def test_cases_of_files(written, tmp_path):
    """Plain and packed files say the same; of as many as were wanted; files of one name
    stay apart."""
    path = written("a.jsonl", user("u1"), user("u2"))
    written("b.jsonl.xz", user("u1"), user("u2"))
    written("notes.txt", "nothing")
    cases = read_files([tmp_path])
    assert [(case.group, case.user, case.name) for case in cases] == [
        (name, who, number) for name in "ab" for who in ("u1", "u2") for number in "12"
    ]
    assert {case.genre for case in cases} == {"post"}
    few = read_files([tmp_path], users=1, queries=1)
    assert [(case.group, case.user, case.name) for case in few] == [
        (name, "u1", "1") for name in "ab"
    ]
    (tmp_path / "other").mkdir()
    other = written("other/a.jsonl", user())
    assert {case.group for case in read_files([path, other])} == {str(path), str(other)}


def test_the_history_is_searched_as_the_store_is(written):
    """A profile is private notes."""
    row = user(genre="mixed", profile="Likes tea.")
    case = read_files([written("a.jsonl", row)])[0]
    assert case.background == "Likes tea."
    assert (case.genre, case.request) == ("mixed", Request("A walk", "post"))
    history = case.history()
    assert history.search("day 2", limit=1)[0].text.endswith("2.")
    newest = history.recent(limit=3)
    assert [passage.kind for passage in newest] == ["post"]  # nearly the same texts
    assert newest[0].date.year == 2020


def test_what_is_asked_for(written):
    """Prompt and summary; without any, the first words, which do not count."""
    first = "one two three four five six"
    for query, *expected in (
        ({"prompt": "Day"}, "Day", "", "A fine day out."),
        ({"prompt": "Day", "summary": "It was"}, "Day\nIt was", "", "A fine day out."),
        ({"prompt": "Day", "prefix": "A fine "}, "Day", "A fine", " day out."),
        ({"prompt": "Day", "prefix": "Oh."}, "Day", "Oh.", " A fine day out."),
        ({"prefix": "A fine"}, "A fine", "A fine", " day out."),
        ({"prompt": None, "target": f"{first} seven"}, first, first, " seven"),
    ):
        (case,) = read_files([written("a.jsonl", one_query(**query))])
        assert [case.request.text, case.beginning, case.text] == expected


def test_bad_lines_are_told_with_their_place(written):
    for line, reason in (
        ("{", "line 2: this is not JSON"),
        ("[" * 99_999, "line 2: this is not JSON"),
        ("[1]", "line 2: a line is one JSON object"),
        (json.dumps({"user": "u"}), "line 2: 'history' must be a list"),
        (user(history=[1]), "line 2, history 1: this must be an object"),
        (user(history=[{"prompt": "x"}]), "line 2, history 1: 'text' must be a text"),
        (user(history=PAST, queries={}), "line 2: 'queries' must be a list"),
        (user(queries=[{}]), "line 2, queries 1: 'target' must be a text"),
        (one_query(target=" "), "line 2, queries 1: there is no text to measure"),
        (user(profile=7), "line 2: 'profile' must be a text"),
    ):
        path = written("a.jsonl", user(), line)
        with pytest.raises(CasesError, match=re.escape(f"{path}, {reason}")):
            read_files([path])


def test_files_that_are_none(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "a.jsonl.xz").write_bytes(b"\xfd7zXZ\x00\x00\x04 but no more")
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.jsonl").write_text("\n\n")
    for name, reason in (
        ("a.jsonl.xz", "is no whole xz file"),
        ("b.jsonl", "is not text in UTF-8"),
        ("c.jsonl", "no texts to measure"),
        ("bare", "there is no .jsonl or .jsonl.xz file in"),
        ("gone", "there is no file or folder"),
    ):
        with pytest.raises(CasesError, match=reason):
            read_files([tmp_path / name])


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


def test_what_stands_in_for_the_request(held):
    """Of each kind the last ones, from earlier texts of all."""
    review = row(4, kind="review", rating=4, to="Mill Inn")
    email = row(3, kind="email", title="Beans")
    cases, known = held(1, *map(row, range(3)), email, review, row(5))
    email, note, review = cases
    assert [case.genre for case in cases] == ["email", "note", "review"]
    assert [len(texts) for texts in known] == [3, 5, 4]
    assert (email.request.text, email.beginning) == ("Beans", "")
    assert (review.request.text, review.request.recipient) == ("4 stars", "Mill Inn")
    assert note.request.text == note.beginning == "there is a drawer full of"
    assert note.text == " keys whose doors were all pulled down years ago."


def test_too_few_texts(held):
    with pytest.raises(CasesError, match="specsteer import"):
        held(5, *map(row, range(3)))
