"""A model that is unloaded when nobody has asked for long."""

from dataclasses import replace

import numpy as np
import pytest

from cloud_api.engine.models import Models, ServedModel
from cloud_api.engine.scheduler import Round, Scheduler
from cloud_api.errors import ServerError
from decoding_core.messages import Verdict
from tests.cloud_api.cloud_fakes import (
    VOCABULARY_ID,
    FakeModel,
    assert_same,
    block_after,
    client_of,
    open_session,
    running,
    send_block,
)
from tests.waiting import wait_until


class World:
    """As `TextSlots` are, each opening has caches of its own."""

    def __init__(self, salt=1):
        self.salt, self.opened, self.vocabulary = salt, [], VOCABULARY_ID
        self.model = ServedModel(self.open(), self.open)

    def open(self):
        self.opened.append(FakeModel(self.salt, vocabulary=self.vocabulary))
        self.opened[-1].model = "the model"
        return self.opened[-1]


def read(scheduler, session_id, token_ids, rows=1):
    """What the scheduler says to a block, with the rows that it was made of."""
    found = []

    def verify(logits, base):
        found.append((logits, base))
        return Verdict(0, 0, 0, ())

    uses_base = scheduler._models.base is not None
    round_ = Round(session_id, tuple(token_ids), rows, uses_base, verify)
    round_.done = found.append
    scheduler.add(round_)
    scheduler.step()
    return found


def test_models_rest_and_read_on_as_if_they_had_not():
    """What a slot held is read anew when its text has a block again, and counted."""
    worlds = [World(salt=1), World(salt=2)]
    models = Models(*(one.model for one in worlds))
    scheduler, always = Scheduler(models), Scheduler(Models(FakeModel(1), FakeModel(2)))
    for one in (scheduler, always):
        read(one, "a", (1, 2, 3))
        read(one, "b", (4,))
    assert models.counts.generalist.held == models.counts.base.held == 4

    scheduler.rest()
    assert not any(one.model.loaded for one in worlds)
    assert all(one.opened[0].closed for one in worlds)
    assert models.counts.generalist.held == 0
    assert models.counts.evictions == {"rest": 2}
    assert not models.may_rest
    scheduler.step()  # nobody asks
    assert not any(one.model.loaded for one in worlds)

    text = 1, 2, 3, 7, 8
    here, there = (read(one, "a", text, rows=2)[0] for one in (scheduler, always))
    for rows, expected in zip(here, there, strict=True):
        assert np.array_equal(rows, expected)
    assert [one.model.loads for one in worlds] == [2, 2]
    assert sorted(worlds[0].opened[1].held) == [[], [1, 2, 3, 7, 8]]
    assert models.counts.reread == 3
    assert models.counts.generalist.tokens == 4 + 5
    assert models.counts.generalist.batches == {1: 3}


def test_a_model_does_not_rest_while_somebody_needs_it():
    world = World()
    models = Models(world.model)
    scheduler = Scheduler(models)
    with world.model.model() as model:
        assert not models.may_rest
        world.model.rest()
        assert model == "the model"
        assert world.model.loaded
    assert models.may_rest
    scheduler.rest()
    with world.model.model():  # somebody has it loaded, and reads nothing with it
        pass
    assert models.may_rest


def test_another_model_in_the_place_of_the_first_is_refused():
    """Who asks reads so, and the server goes on to ask for the first."""
    world = World()
    scheduler = Scheduler(Models(world.model))
    scheduler.rest()
    world.vocabulary = "w"
    with pytest.raises(ServerError, match="another model has taken the place"):
        world.model.opened()
    assert world.opened[1].closed
    (error,) = read(scheduler, "a", (1,))
    assert isinstance(error, ServerError)
    world.vocabulary = VOCABULARY_ID
    _, answer = read(scheduler, "a", (1,))
    assert isinstance(answer, Verdict)


def test_a_server_frees_its_models_and_loads_them_for_the_next_block():
    """The session goes on where it stood."""
    worlds = [World(), World()]
    pair = [one.model for one in worlds]
    models = Models(*pair, unload_seconds=0.0)
    with running(lambda: models) as server, client_of(server) as client:
        session = open_session(client)
        first = send_block(client, session, block_after([], [1, 2]))
        wait_until(lambda: not any(one.loaded for one in pair), "they are not freed")
        assert client.get("/readyz").status_code == 200
        again = block_after([], [1, 2], epoch=1, round_=1)
        second = send_block(client, session, again)
    assert_same(replace(second, epoch=0, round=0), first)
    assert all(one.loads > 1 for one in pair)
