"""A service whose server runs a generalist of another vocabulary: what is said of the
base, which methods say no, and tokens that turn out to be others."""

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import InvalidSettingsError, MessageError
from decoding_core.settings import MethodSettings
from decoding_core.verifier import ByteEngineVerifier
from edge_app.decoding.events import Finished, Notice, Settled
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.transport import client
from models.chat import prompt_ids
from models.files import locate
from models.prompts import Message, Request
from models.running.interface import bytes_of
from models.running.loading import load_model
from models.running.settings import EngineSettings

REQUEST = WriteRequest(Request("Thank her", recipient="Ana"), max_tokens=12)


@pytest.fixture
def large():
    """The embedded generalist, which speaks bytes alone here."""
    settings = EngineSettings(threads=1)
    with (
        closing(load_model(locate("generalist"), settings)) as model,
        closing(model.open(1, 512)) as slots,
    ):
        yield model, slots.sequence()


@pytest.fixture
def server(large, monkeypatch):
    """Takes the place of the client of a server."""

    class Client(ByteEngineVerifier):
        url, lies, forgotten, rounds = "http://127.0.0.1:1", False, 0, 0

        def __init__(self, *_, **__):
            model, engine = large

            def prompt_of(messages):
                said = [Message(*one) for one in messages]
                return prompt_ids(model.vocabulary.tokenize, model.chat_template, said)

            super().__init__(engine, bytes_of(model), prompt_of)

        def attach(self, emit, stop):
            pass

        def reach(self):
            pass

        def forget_vocabulary(self):
            type(self).forgotten += 1

        def verify(self, block):
            """From the third block on its tokens are others, if it lies."""
            type(self).rounds += 1
            if self.lies and self.rounds == 3:
                pieces = list(reversed(self._vocabulary.pieces))
                self._vocabulary.pieces[:] = ByteVocabulary(pieces, []).pieces
            return super().verify(block)

    monkeypatch.setattr(client, "CloudVerifier", Client)
    return Client


@pytest.fixture
def service(config, server):
    with closing(WritingService(config)) as service:
        yield service


def written(service, **changes):
    """What a text is made of."""
    events = []
    service.write(replace(REQUEST, **changes), events.append, threading.Event())
    return events


def notices(events):
    return [one.text for one in events if isinstance(one, Notice)]


def test_that_the_base_runs_here_is_said_once_to_whoever_named_the_server(service):
    assert not notices(written(service))
    (said,) = notices(written(service, names_base=True))
    assert "so the base runs on this device" in said
    events = written(service, names_base=True)
    assert not notices(events)
    assert isinstance(events[-1], Finished)


def test_methods_that_need_one_vocabulary_say_so(service, config):
    with pytest.raises(InvalidSettingsError, match="'generalist_with_history' needs"):
        written(service, settings=MethodSettings(method="generalist_with_history"))
    contrast = MethodSettings(candidate_rule="contrast")
    with pytest.raises(InvalidSettingsError, match="have different vocabularies"):
        written(service, settings=contrast)


def test_a_server_whose_tokens_are_others_ends_the_text_in_a_sentence(service, server):
    """What is written by then stays, and its tokens are asked for again."""
    server.lies, events = True, []
    settings = MethodSettings(draft_length=2, window=1)
    request = replace(REQUEST, settings=settings, max_tokens=60)
    with pytest.raises(MessageError, match="choose another with --server"):
        service.write(request, events.append, threading.Event())
    assert server.forgotten == 1
    assert any(isinstance(one, Settled) for one in events)
