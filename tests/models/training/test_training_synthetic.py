"""Synthetic writers: repeatable, varied, and recognisable by their habits."""

from itertools import islice
from random import Random

import pytest

from models.training import synthetic
from models.training.grammar import Filling, grammar, invented_name
from models.training.writers import styled

TASKS = ["email", "review", "post", "note"]


def texts(seed, task, count=40):
    rng = Random(seed)
    made = []
    for _ in range(count):
        writer = synthetic.new_writer(rng)
        made += [piece.text for piece in synthetic.pieces(writer, rng, task, 1)]
    return made


@pytest.mark.parametrize("task", TASKS)
def test_same_seed_same_texts(task):
    """Everything is drawn from the generator that is handed in."""
    assert texts(7, task) == texts(7, task)


@pytest.mark.parametrize("task", TASKS)
def test_texts_differ(task):
    """Forty writers hardly ever write the same, and no slot is left unfilled."""
    made = texts(1, task)
    assert len(set(made)) >= 39
    assert not any("{" in text or "}" in text for text in made)


def test_a_writer_greets_and_signs_off_alike():
    """Habits last: each email by one writer ends with the same words."""
    rng = Random(3)
    writer = synthetic.new_writer(rng)
    emails = [piece.text for piece in synthetic.pieces(writer, rng, "email", 5)]
    assert len({email.rsplit("\n\n", 1)[1] for email in emails}) == 1


def test_requests_name_what_the_text_is_about():
    """What a text must say can be read from its request: here, the recipient."""
    rng = Random(5)
    for _ in range(50):
        (piece,) = synthetic.pieces(synthetic.common_writer(rng), rng, "email", 1)
        name = piece.request.recipient
        assert not name or name in piece.text


def test_common_writers_sound_alike():
    """Without a known past there are few ways to begin."""
    rng = Random(2)
    greetings = {synthetic.common_writer(rng).words["greeting"] for _ in range(100)}
    assert greetings <= set(grammar()["common"]["greeting"])


def test_a_slot_means_one_thing():
    """Within one act the request and the text fill a slot alike."""
    filling = Filling(Random(0), {})
    assert filling.fill("{day}") == filling.fill("{day}")


def test_no_text_says_on_tomorrow():
    """Days that take no preposition lose it."""
    filling = Filling(Random(0), {"day": "tomorrow"})
    assert filling.fill("It is on {day}.") == "It is tomorrow."


def test_a_lower_case_writer_never_shouts():
    """The casing habit holds for the whole email."""
    rng = Random(0)
    writers = (synthetic.new_writer(rng) for _ in range(200))
    writer = next(w for w in writers if w.lower)
    (piece,) = synthetic.pieces(writer, rng, "email", 1)
    assert piece.text == piece.text.lower()
    assert styled(writer, rng, "Yes, ON FRIDAY") == styled(
        writer, rng, "yes, on friday"
    )


def test_invented_names_vary():
    """Names nobody has, to be copied from the prompt."""
    rng = Random(1)
    names = {invented_name(rng) for _ in range(50)}
    assert len(names) > 40
    assert all(name.istitle() for name in islice(names, 5))
