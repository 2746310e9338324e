"""A model that is unloaded when nobody has asked for long."""

from dataclasses import replace

import numpy as np
import pytest

from cloud_api import app
from cloud_api.engine.loading import ModelOptions, load_models
from cloud_api.engine.models import Models
from cloud_api.engine.served_model import ServedModel
from cloud_api.errors import ServerError
from decoding_core.protocols import Reading
from models.files import locate
from models.running.settings import EngineSettings
from tests.cloud_api.cloud_fakes import (
    VOCABULARY_ID,
    FakeModel,
    block_after,
    client_of,
    open_session,
    post_block,
    running,
)
from tests.waiting import wait_until


class FakeSlots(FakeModel):
    """As `TextSlots` are: each opening has caches of its own."""

    model = "the model"

    def position(self, slot):
        return len(self.held[slot])


class World:
    def __init__(self, seconds=60.0, vocabularies=(), salt=1):
        self.salt = salt
        self.now, self.opened = 0.0, []
        self.vocabularies = list(vocabularies)
        self.model = ServedModel(self.open(), self.open, seconds, lambda: self.now)

    def open(self):
        names = self.vocabularies.pop(0) if self.vocabularies else VOCABULARY_ID
        self.opened.append(FakeSlots(self.salt, vocabulary=names))
        return self.opened[-1]


def test_a_model_rests_and_reads_on_as_if_it_had_not():
    """What its slots held is read anew, each slot when it is next read in."""
    world, always = World(), World(seconds=None)
    for one in (world, always):
        one.model.evaluate([Reading(0, [1, 2, 3]), Reading(1, [4])])
        one.model.rollback(0, 2)
        one.now = 59.0
        one.model.rest()
        assert one.model.loaded
        one.now = 61.0
        one.model.rest()
    assert (world.model.loaded, always.model.loaded) == (False, True)
    assert world.opened[0].closed
    assert world.model.tokens_held == 3
    world.model.rollback(1, 0)
    always.model.rollback(1, 0)

    asked = [Reading(0, [7, 8], rows=2), Reading(1, [5])]
    rows = [one.model.evaluate_rows(asked) for one in (world, always)]

    for one, other in zip(*rows, strict=True):
        assert np.array_equal(one, other)
    assert len(world.opened) == 2
    assert world.model.counts.loads == 2
    assert world.model.counts.batches == {2: 2}
    assert world.model.counts.tokens == 4 + 5  # two of them once more
    assert world.opened[1].held == [[1, 2, 7, 8], [5]]


def test_a_model_does_not_rest_while_it_is_used():
    world = World()
    with world.model.model() as model:
        world.now = 1000.0
        world.model.rest()
        assert model == "the model"
        assert world.model.loaded
    world.model.rest()  # its last use was only now
    assert world.model.loaded


def test_another_model_in_the_place_of_the_first_is_refused():
    world = World(vocabularies=[VOCABULARY_ID, "w"])
    world.now = 61.0
    world.model.rest()
    with pytest.raises(ServerError, match="another model has taken the place"):
        world.model.evaluate([Reading(0, [1])])
    assert world.opened[1].closed


@pytest.mark.slow
def test_a_real_model_that_rested_gives_the_same_logits():
    """As if it had read the text in one go."""
    settings = EngineSettings(threads=1)
    options = ModelOptions(locate("specialist"), None, 1, 512, settings)
    text = [1 + i % 300 for i in range(400)]
    resting = load_models(replace(options, unload_seconds=0.0))
    resting.generalist.evaluate([Reading(0, text)])
    resting.rest()
    assert not resting.generalist.loaded
    (row,) = resting.generalist.evaluate([Reading(0, [5])])
    resting.generalist.close()

    fresh = load_models(options)
    (expected,) = fresh.generalist.evaluate([Reading(0, [*text, 5])])
    fresh.generalist.close()
    assert np.array_equal(expected, row)


def test_a_server_frees_its_models_and_loads_them_for_the_next_block(monkeypatch):
    """The session goes on where it stood."""
    monkeypatch.setattr(app, "_SWEEP_SECONDS", 0.01)
    worlds = [World(seconds=0.0), World(seconds=0.0)]
    pair = [one.model for one in worlds]
    with running(lambda: Models(*pair)) as server, client_of(server) as client:
        session = open_session(client)
        first = post_block(client, session, block_after([], [1, 2])).json()
        wait_until(lambda: not any(one.loaded for one in pair), "they are not freed")
        assert client.get("/readyz").status_code == 200
        again = block_after([], [1, 2], epoch=1, round_=1)
        second = post_block(client, session, again).json()
    assert {**second, "epoch": 0, "round": 0, "seconds": 0} == {**first, "seconds": 0}
    assert all(one.counts.loads > 1 for one in pair)
