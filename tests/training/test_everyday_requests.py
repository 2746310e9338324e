"""Everyday requests: what is named in them is said, in the words that they had."""

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.synthetic_writers.writers import common_writer, new_writer
from training import everyday
from training.everyday import Everyday
from training.invented import _met

TASKS = ("email", "review", "post", "note")


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


@pytest.mark.parametrize("task", ["email", "post"])
def test_every_request_has_an_answer_that_names_the_same(task):
    named = everyday._named
    for kind in everyday.table()[task]:
        fits = kind.get("fits", [])
        answered = {named(say) for say in kind.get("say", [])}
        free = set(kind.get("ask", [])) - {ask for ask, _ in fits}
        assert {named(ask) for ask in free} <= answered
        assert all(named(ask) == named(say) for ask, say in fits)


def test_most_writers_have_no_pet_phrase_in_training():
    """A specialist that never meets such people gives them one. Those who measure are
    drawn as ever."""
    met = [_met(Random(seed)) for seed in range(400)]
    drawn = [new_writer(Random(seed)) for seed in range(400)]
    quiet, usual = (sum(not one.pet for one in group) for group in (met, drawn))
    assert usual < 0.3 * 400 < 0.6 * 400 < quiet
    for one, as_ever in zip(met, drawn, strict=True):
        formulas = {k: v for k, v in one.words.items() if k not in as_ever.words}
        assert not formulas or set(formulas) == {"review_opens", "review_ends"}
        same = replace(as_ever, pet="", words=as_ever.words | formulas)
        assert replace(one, pet="") == same
