"""What real texts name becomes part of invented requests."""

from random import Random

from training.texts import Phrases, Text

SAID = (
    "I left the blue folder at the station this morning. The committee meets again in "
    "the old library. She said they were late. We decided to move the meeting to the "
    "hall, and nobody minded."
)


def test_phrases_are_kept_by_kind(monkeypatch):
    monkeypatch.setattr("training.texts._READ", 1)
    phrases = Phrases(Random(0))
    texts = [Text("letter", "", SAID)]
    assert list(phrases.heard(texts)) == texts
    bank = phrases.bank()
    assert bank["i_bank"] == [
        "I left the blue folder at the station this morning",
        "we decided to move the meeting to the hall, and nobody minded",
    ]
    assert bank["s_bank"] == ["the committee meets again in the old library"]
    assert bank["vp"] == ["move the meeting to the hall"]
    assert "the blue folder" in bank["np"]


def test_sentences_in_a_row_are_kept_where_each_could_be_asked_for(monkeypatch):
    """Not those that quote, and of reviews apart from the rest."""
    phrases = Phrases(Random(3))
    told = "The kettle leaks a bit. we took it back on Friday! It cost nothing at all. "
    quoted = 'He asked "why is it so (very) cold" of us all. '
    texts = [Text(g, "", told * 4) for g in ("review", "letter", "abstract")]
    list(phrases.heard([*texts, Text("letter", "", quoted * 9)]))
    bank = phrases.bank()
    assert len(bank["told"]) == len(bank["reviewed"]) == 1
    sentences = set(bank["told"][0].split("\n"))
    assert 2 <= len(bank["told"][0].split("\n")) <= 5
    assert sentences <= {
        "The kettle leaks a bit.",
        "We took it back on Friday!",
        "It cost nothing at all.",
    }


def test_no_more_are_kept_than_fit_and_each_is_as_likely(monkeypatch):
    monkeypatch.setattr("training.texts._READ", 1)
    monkeypatch.setattr("training.texts._MOST", 3)
    phrases = Phrases(Random(0))
    letters = "abcdefghij"
    texts = [
        Text("letter", "", f"I saw the word{a} on Friday evening.") for a in letters
    ]
    list(phrases.heard(texts))
    assert len(phrases.bank()["i_bank"]) == 3
    assert phrases.bank()["i_bank"] != [
        f"I saw the word{a} on Friday evening" for a in "abc"
    ]
