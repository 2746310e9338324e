"""Closing a service that is busy: nobody waits for a model that is loading."""

import threading
from dataclasses import replace

import pytest

from decoding_core.errors import DecodingError, StoppedError
from edge_app.service.service import WritingService
from models.engines.llama_cpp import LlamaModel


@pytest.fixture
def busy(config, monkeypatch):
    """A service whose model is held while it loads, the gate, and what came of it."""
    loading, gate, outcomes = threading.Event(), threading.Event(), []
    load = LlamaModel.__init__

    def held(self, *arguments):
        loading.set()
        gate.wait()
        load(self, *arguments)

    monkeypatch.setattr(LlamaModel, "__init__", held)
    service = WritingService(replace(config, server=""))

    def prepare():
        try:
            outcomes.append(service.prepare())
        except DecodingError as error:
            outcomes.append(error)

    thread = threading.Thread(target=prepare)
    thread.start()
    loading.wait()
    yield service, gate, outcomes, thread
    gate.set()
    thread.join()
    service.close()


def test_a_service_is_closed_while_its_model_is_held(busy):
    """The child is gone at once; the held thread gives up and frees when it can. A
    closed service begins nothing."""
    service, gate, outcomes, thread = busy
    child = service._child
    service.close()
    assert not outcomes
    assert child.ended
    gate.set()
    thread.join()
    (outcome,) = outcomes
    assert isinstance(outcome, StoppedError)
    assert service._model is None
    assert service._child is None
    with pytest.raises(StoppedError):
        service.prepare()
    assert service._child is None
