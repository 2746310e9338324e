"""What real texts name becomes part of invented requests."""

from random import Random

from models.training.data.corpus import Text
from models.training.data.phrases import Phrases

SAID = (
    "I left the blue folder at the station this morning. The committee meets again in "
    "the old library. She said they were late. We decided to move the meeting to the "
    "hall, and nobody minded."
)


def test_phrases_are_kept_by_kind(monkeypatch):
    monkeypatch.setattr("models.training.data.phrases._READ", 1)
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


def test_no_more_are_kept_than_fit_and_each_is_as_likely(monkeypatch):
    monkeypatch.setattr("models.training.data.phrases._READ", 1)
    monkeypatch.setattr("models.training.data.phrases._MOST", 3)
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
