"""Files of histories and true texts."""

import json
import re

import pytest
from evaluation_helpers import user

from edge_app.evaluation.cases import CasesError, read_files
from models.prompts import Request

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


@pytest.mark.parametrize(
    ("line", "reason"),
    [
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
    ],
)
def test_bad_lines_are_told_with_their_place(written, line, reason):
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
