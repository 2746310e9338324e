"""Where no model can run yet, a recorded run answers the sample's request, labelled."""

import threading

import pytest

from decoding_core.errors import ModelError
from edge_app import sample
from edge_app.commands.app import LABEL, FirstRun
from edge_app.decoding import events
from edge_app.service import service as service_module
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui.writing import RECORDED
from models.prompts import Request

SAMPLE = WriteRequest(Request(sample.REQUEST, "email", sample.RECIPIENT))


def missing():
    raise ModelError("the file of the model is missing")


def test_the_recorded_run_is_said_to_be_one():
    """And any other request is answered by what is missing."""
    service, told = FirstRun(missing, lambda _: None), []
    assert service.prepare() == LABEL
    assert LABEL.startswith(RECORDED)
    service.write(SAMPLE, told.append, threading.Event())
    assert isinstance(told[0], events.Notice)
    assert "recorded run" in told[0].text
    assert "the file of the model is missing" in told[0].text
    assert isinstance(told[-1], events.Finished)
    kinds = {type(event) for event in told}
    assert {events.SourcesFound, events.Settled, events.Alternatives} <= kinds
    assert not {events.Sent, events.Received} & kinds, "nothing is sent now"
    with pytest.raises(ModelError, match="is missing"):
        service.write(WriteRequest(Request("x")), told.append, threading.Event())
    service.close()


def test_the_models_write_as_soon_as_they_can(monkeypatch):
    """What was missing is looked for before each text."""
    made, there, told = [], [], []

    def start(_):
        made.append(RecordedService([[events.Settled(())]], lambda _: None))
        return made[0]

    monkeypatch.setattr(service_module, "WritingService", start)
    service = FirstRun(lambda: None if there else missing(), lambda _: None)
    service.prepare()
    there.append(True)
    service.write(SAMPLE, told.append, threading.Event())
    assert told == [events.Settled(())]
    assert service.counts() == {}
    service.close()
    assert made[0].closed
