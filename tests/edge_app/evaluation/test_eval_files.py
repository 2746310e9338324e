"""Files of histories and true texts."""

import json
import re

import pytest
from evaluation_helpers import user

from edge_app.evaluation.cases import CasesError, read_files
from models.prompts import Request

PAST = [{"text": "Some earlier text."}]


def only(path, **limits):
    (case,) = read_files([path], **limits)
    return case


def one_query(**query):
    return user(queries=[{"target": "A fine day out.", **query}])


def test_plain_and_packed_files_say_the_same(written):
    written("a.jsonl", user("u1"), user("u2"))
    written("b.jsonl.xz", user("u1"), user("u2"))
    written("notes.txt", "nothing")
    cases = read_files([written("a.jsonl", user("u1"), user("u2")).parent])
    assert [(case.group, case.user, case.name) for case in cases] == [
        (name, who, number) for name in "ab" for who in ("u1", "u2") for number in "12"
    ]
    assert {case.genre for case in cases} == {"post"}


def test_limits(written):
    path = written("a.jsonl", user("u1"), user("u2"), user("u3"))
    assert [c.user for c in read_files([path], users=2, queries=1)] == ["u1", "u2"]
    assert len(read_files([path], queries=2)) == 6


def test_files_of_one_name_stay_apart(written, tmp_path):
    (tmp_path / "other").mkdir()
    one, other = written("a.jsonl", user()), written("other/a.jsonl", user())
    assert {case.group for case in read_files([one, other])} == {str(one), str(other)}


def test_the_history_is_searched_as_the_store_is(written):
    case = read_files([written("a.jsonl", user())])[0]
    history = case.history()
    assert history.search("day 2", limit=1)[0].text.endswith("2.")
    newest = history.recent(limit=3)
    assert [passage.kind for passage in newest] == ["post"]  # nearly the same texts
    assert newest[0].date.year == 2020
    assert case.request == Request("A walk", "post")


def test_a_profile_is_private_notes(written):
    case = read_files([written("a.jsonl", user(genre="mixed", profile="Likes tea."))])[
        0
    ]
    assert case.background == "Likes tea."
    assert (case.genre, case.request.task) == ("mixed", "post")


@pytest.mark.parametrize(
    ("query", "asked", "beginning", "text"),
    [
        ({"prompt": "Day"}, "Day", "", "A fine day out."),
        ({"prompt": "Day", "summary": "It was"}, "Day\nIt was", "", "A fine day out."),
        ({"prompt": "Day", "prefix": "A fine "}, "Day", "A fine", " day out."),
        ({"prompt": "Day", "prefix": "Oh."}, "Day", "Oh.", " A fine day out."),
        ({"prefix": "A fine"}, "A fine", "A fine", " day out."),
        (
            {"prompt": None, "target": "one two three four five six seven"},
            "one two three four five six",
            "one two three four five six",
            " seven",
        ),
    ],
)
def test_what_is_asked_for(written, query, asked, beginning, text):
    """Prompt and summary; without any, the first words, which do not count."""
    case = only(written("a.jsonl", one_query(**query)))
    assert (case.request.text, case.beginning, case.text) == (asked, beginning, text)


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
    broken, text, empty = (
        tmp_path / name for name in ("a.jsonl.xz", "b.jsonl", "c.jsonl")
    )
    broken.write_bytes(b"\xfd7zXZ\x00\x00\x04 but no more")
    text.write_bytes(b"\xff\xfe\x00")
    empty.write_text("\n\n")
    bare = tmp_path / "bare"
    bare.mkdir()
    for path, reason in (
        (broken, "is no whole xz file"),
        (text, "is not text in UTF-8"),
        (empty, "no texts to measure"),
        (bare, "there is no .jsonl or .jsonl.xz file in"),
        (tmp_path / "gone", "there is no file or folder"),
    ):
        with pytest.raises(CasesError, match=reason):
            read_files([path])
