"""Everyday requests: what is named in them is said, in the words that they had."""

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.synthetic_writers.writers import common_writer, new_writer
from training import everyday
from training.everyday import Everyday, Facts, Things
from training.invented import _met

TASKS = ("email", "review", "post", "note")
NO = re.compile(r"\bno to\b|can't|\bnot\b|doesn't")


def loose(text):
    """Letters and figures alone: a request may begin with a capital, and a text too."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def written(seed, task, bank=None):
    rng = Random(seed)
    plain = replace(common_writer(rng), contracts=False)
    return Everyday(bank).piece(plain, rng, task)


@settings(max_examples=20)
@given(st.integers(0, 10**9), st.sampled_from(TASKS))
def test_whatever_is_named_is_said(seed, task):
    """And every slot is filled, in the request and in the text."""
    piece = written(seed, task)
    assert piece.text
    assert not re.search(r"[{}|]", piece.request.text + piece.text)
    for thing in piece.named:
        assert loose(thing) in loose(piece.text)


def test_yes_stays_yes_and_no_stays_no():
    """Where a request says both, so does the text, of the same things."""
    (kind,) = [k for k in everyday.table()["email"] if k["name"] == "yes_and_no"]
    for ask, say in kind["fits"]:
        asked, said = (re.split(r", but |, | but | and ", one) for one in (ask, say))
        for slot in set(re.findall(r"\{\w+\}", ask)) - {"{on}"}:
            sides = [
                next(bool(NO.search(part)) for part in parts if slot in part)
                for parts in (asked, said)
            ]
            assert sides[0] == sides[1], (ask, say, slot)


@pytest.mark.parametrize("task", ["email", "post"])
def test_every_request_has_an_answer_that_names_the_same(task):
    named = everyday._named
    for kind in everyday.table()[task]:
        fits = kind.get("fits", [])
        answered = {named(say) for say in kind.get("say", [])}
        free = set(kind.get("ask", [])) - {ask for ask, _ in fits}
        assert {named(ask) for ask in free} <= answered
        assert all(named(ask) == named(say) for ask, say in fits)


def test_one_thing_is_another_than_the_next_of_its_kind():
    for seed in range(200):
        facts = Facts(Random(seed), {}, {})
        one, other = facts.fill("{date}|{date2}").split("|")
        assert one != other
        assert facts.fill("{date}") == one


@pytest.mark.parametrize("task", ["email", "review", "post"])
def test_real_sentences_are_asked_for_in_short_and_said_whole(task, monkeypatch):
    """The words that carry what they say stand in the request."""
    monkeypatch.setattr(everyday, "_SCENE_SHARE", 0.0)
    told = "The kettle leaks.\nWe took it back on the 3rd."
    bank = {"told": [told], "reviewed": [told]}
    pieces = [written(seed, task, bank) for seed in range(60)]
    with_them = [p for p in pieces if "kettle leaks" in p.text.lower()]
    assert 10 < len(with_them) < 50
    for piece in with_them:
        assert "took it back on the 3rd" in piece.text
        for word in ("kettle", "leaks", "took", "back", "3rd"):
            assert word in piece.request.text.lower()
    assert any("the kettle" not in p.request.text.lower() for p in with_them)


def test_most_writers_have_no_pet_phrase_in_training():
    """A specialist that never meets such people gives them one. Those who measure are
    drawn as ever."""
    met = [_met(Random(seed)) for seed in range(400)]
    drawn = [new_writer(Random(seed)) for seed in range(400)]
    quiet, usual = (sum(not one.pet for one in group) for group in (met, drawn))
    assert usual < 0.3 * 400 < 0.6 * 400 < quiet
    assert [replace(one, pet="") for one in met] == [
        replace(one, pet="") for one in drawn
    ]


def test_words_that_are_swapped_are_the_same_in_request_and_text():
    """But for the writer's own, and the usual ones."""
    asks = ["the Walrus is hoovering on Tuesday, say the gnu"]
    says = ["The walrus is hoovering on Tuesday."]
    things, found = Things(asks, says, ["walrus"]), set()
    for seed in range(40):
        known = {"verb": "hoovering"}
        made = everyday.swapped(things, ["trillium"], known, Random(seed))
        found.add((made.asks[0], made.says[0], made.named[0]))
    assert found == {
        (
            f"the {there.capitalize()} is hoovering on Tuesday, say the gnu",
            f"The {there} is hoovering on Tuesday.",
            there,
        )
        for there in ("walrus", "trillium")
    }
