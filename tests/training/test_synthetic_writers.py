"""Synthetic writers: repeatable, varied, and recognisable by their habits alone."""

from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.synthetic_writers import examples as synthetic
from models.synthetic_writers.examples import answers, unseen_writers
from models.synthetic_writers.writers import common_writer, grammar, habits, named_slots
from training import invented
from training.everyday import Everyday

TASKS = ["email", "review", "post", "note"]


def plain(text):
    """What is said, whatever the writer's casing and marks."""
    text = text.lower().replace(" & ", " and ").replace(" - ", ", ")
    for short, long in (("i'm ", "i am "), ("it's ", "it is "), ("i'll ", "i will ")):
        text = text.replace(short, long)
    return text


def texts(seed, task, count=40):
    rng = Random(seed)
    made = []
    for _ in range(count):
        writer = synthetic.new_writer(rng)
        made.append(synthetic.piece_of(writer, rng, task).text)
    return made


@pytest.mark.parametrize("task", TASKS)
def test_texts_differ_but_for_the_same_seed(task):
    """Forty writers hardly ever write the same, and no slot is left unfilled."""
    made = texts(1, task)
    assert made == texts(1, task)
    assert len(set(made)) >= 39
    assert not any("{" in text or "}" in text for text in made)


@settings(max_examples=20)
@given(st.integers(0, 10**9), st.sampled_from(TASKS), st.booleans())
def test_a_text_names_what_its_request_names(seed, task, known):
    """Days, people and things: none is left out."""
    rng = Random(seed)
    make = synthetic.new_writer if known else common_writer
    piece = synthetic.piece_of(make(rng), rng, task)
    assert piece.named
    for thing in piece.named:
        assert plain(thing) in plain(piece.text)
        assert thing.lower() in piece.request.text.lower()
    if task == "email":
        assert piece.request.recipient.lower() in piece.text.lower()


@given(st.integers(0, 10**9))
def test_a_writer_shows_the_same_habits_every_time(seed):
    """They can be read from any two texts of one kind."""
    rng = Random(seed)
    writer = synthetic.new_writer(rng)
    one, other = (synthetic.piece_of(writer, rng, "email") for _ in range(2))
    assert one.habits.keys() == other.habits.keys() >= {"greeting", "sign-off", "name"}
    for kind in one.habits.keys() - {"greeting"}:
        assert one.habits[kind] == other.habits[kind]
        assert one.habits[kind] in one.text
        assert one.habits[kind] in other.text
    assert one.text.startswith(one.habits["greeting"])


@given(st.integers(0, 10**9))
def test_what_notes_tell_is_told(seed):
    """What a text says of its writer stands in the notes."""
    rng = Random(seed)
    person = invented.new_person(rng)
    piece = invented.person_piece(person, rng)
    told = [fact for fact in person.facts if fact.value in piece.named]
    assert told
    for fact in told:
        assert all(word in person.notes for word in fact.value.split())
        assert plain(fact.value.split()[-1]) in plain(piece.text)
        assert fact.value not in piece.request.text or len(fact.value) < 9


def test_every_request_can_be_answered():
    """In at least three ways, with nothing left out and nothing made up."""
    for act in grammar()["act"] + grammar()["post"]:
        for ask in act["ask"]:
            assert len(set(answers(act, ask))) >= 3, ask
        asks = {named_slots(ask) for ask in act["ask"]}
        assert {named_slots(say) for say in act["say"]} == asks


@pytest.mark.parametrize(
    "writers", [1_000, pytest.param(20_000, marks=pytest.mark.slow)]
)
def test_habits_of_a_stranger_have_hardly_ever_been_met(writers):
    """So that they must be read from the passages, and cannot be remembered."""
    rng = Random(1)
    known = [synthetic.new_writer(rng) for _ in range(writers)]
    signoffs = {writer.signoff for writer in known}
    pets = {writer.pet for writer in known}
    rng = Random(990_000)
    strangers = [synthetic.new_writer(rng) for _ in range(1000)]
    common = set(habits()["signoff"]["common"])
    own = [w.signoff for w in strangers if w.signoff not in common]
    assert sum(signoff in signoffs for signoff in own) < 0.05 * len(own)
    assert sum(w.pet in pets for w in strangers if w.pet) < 0.02 * 1000


def test_strangers_come_with_a_history():
    """The same ones for the same seed; their habits stand in it."""
    made = unseen_writers(20, seed=4)
    assert made == unseen_writers(20, seed=4)
    assert made != unseen_writers(20, seed=5)
    for example in made:
        past = "\n".join(excerpt.text for excerpt in example.excerpts)
        assert example.excerpts
        for kind in example.habits.keys() & {"sign-off", "name", "pet phrase"}:
            assert example.habits[kind] in past


def test_most_letters_with_history_are_by_dry_writers(monkeypatch):
    """Many of theirs are asked for much as the one before."""
    dry = invented.dry_writer
    monkeypatch.setattr(
        invented, "dry_writer", lambda rng: replace(dry(rng), greeting="# {name}")
    )
    rng, made, piece = Random(2), [], Everyday().piece
    while len(made) < 200:
        made += invented._by_somebody(rng, "email", piece)
    share = sum(one.text.startswith("# ") for one in made) / len(made)
    assert 0.5 < share < 0.75  # nobody greets an office by its name
    asked = [one.request.text for one in made]
    alike = [one for one, other in pairwise(asked) if get_close_matches(one, [other])]
    assert 13 < len(alike) < 40


@given(st.integers(0, 10**9))
def test_a_pet_phrase_is_written_only_if_three_letters_show_it(seed):
    """Else the specialist gives phrases to whoever writes one."""
    for one in invented._by_somebody(Random(seed), "email", synthetic.piece_of):
        pet = one.habits.get("pet phrase", "")
        assert not pet or sum(pet in past.text for past in one.excerpts) >= 3
