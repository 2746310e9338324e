"""Scenes written by hand: each is read, can be filled, and says what it asks for."""

import re
from random import Random

import pytest

from models.synthetic_writers.writers import common_writer, habits
from training.everyday import _PRONOUN_SLOTS as PRONOUNS
from training.everyday import TASKS, Everyday, Facts, read_scenes, scenes

SLOT = re.compile(r"\{(\w+)\}")
SAME = re.compile(r"\[[^\[\]]*\|[^\[\]]*\]")
FREE = {"name", "interjection", *PRONOUNS, *habits()["words"]}
EVERY = [scene for task in TASKS for scene in scenes()[task]]


@pytest.fixture
def read(tmp_path):
    """Reads what a file of scenes would hold."""
    file = tmp_path / "x.txt"

    def scenes_of(text):
        file.write_text(text, "utf-8")
        return list(read_scenes(file))

    return scenes_of


def test_there_are_many_of_each_kind():
    assert min(len(scenes()[task]) for task in TASKS) > 100
    assert len({scene.things for scene in EVERY}) == len(EVERY)


def test_what_is_asked_for_is_said_and_nothing_else():
    """Slots and decided choices of a thing stand in its sentence, and the sentence has
    none that were not named before."""
    for scene in EVERY:
        named = set(SLOT.findall(scene.of))
        decided = set[str]()
        for ask, say in scene.things:
            asked = set(SLOT.findall(ask)) - FREE
            said = set(SLOT.findall(say)) - FREE
            named |= asked
            decided |= set(SAME.findall(ask))
            assert asked <= said <= named, (ask, say)
            assert set(SAME.findall(ask)) <= set(SAME.findall(say)), (ask, say)
            assert set(SAME.findall(say)) <= decided, (ask, say)


def test_every_scene_can_be_filled():
    """Each slot is known, and no bracket is left open."""
    rng = Random(0)
    words = common_writer(rng).words | dict.fromkeys(FREE, "she")
    for scene in EVERY:
        facts = Facts(rng, words, {})
        filled = [facts.fill(one) for thing in scene.things for one in thing]
        assert not re.search(r"[{}\[\]|]", "".join([facts.fill(scene.of), *filled]))


def test_whom_it_is_for_and_what_it_is_of_come_from_the_scene(monkeypatch, read):
    """Nobody greets an office by its name."""
    (mail, office, review) = read(
        "email: Mrs {surname}\nhe is ill => He is ill.\n\n"
        "email: the council\nbins => The bins are full.\n\n"
        "review: the blue kettle\nit drips => It drips.\n"
    )
    for scene, opening in ((mail, r"\w+ Mrs \w+,"), (office, "Hello,"), (review, "")):
        monkeypatch.setattr("training.everyday._played", lambda *_, one=scene: [one])
        rng = Random(1)
        piece = Everyday().piece(common_writer(rng), rng, scene.task)
        assert re.match(opening, piece.text)
    assert "It drips." in piece.text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mail\nit rains => It rains.", "x.txt:1: 'mail' is no kind of text"),
        ("# a word\nreview\ngood => Good.", "x.txt:2: a review of what"),
        ("email\n\npost", "x.txt:1: nothing is asked for"),
        ("\nemail\nit rains", "x.txt:3: nothing says 'it rains'"),
    ],
)
def test_what_is_no_scene_is_refused(text, complaint, read):
    with pytest.raises(ValueError, match=complaint):
        read(text)
