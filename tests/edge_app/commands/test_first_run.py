"""Where no model can run yet, a recorded run answers the sample's request, labelled."""

import threading

import pytest

from decoding_core.errors import ModelError
from edge_app import sample
from edge_app.commands.first_run import LABEL, FirstRun
from edge_app.decoding.events import (
    Finished,
    Notice,
    Received,
    Sent,
    Settled,
    SourcesFound,
    Weighed,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.recording import RecordedService
from edge_app.tui.widgets.title_line import RECORDED
from models.prompts import Request

SAMPLE = WriteRequest(Request(sample.REQUEST, "email", sample.RECIPIENT))


def missing():
    raise ModelError("the file of the model is missing")


def first_run(make=missing):
    return FirstRun(make, lambda _: None)


def test_the_recorded_run_is_said_to_be_one():
    service, events = first_run(), []

    assert service.prepare() == LABEL
    assert LABEL.startswith(RECORDED)
    service.write(SAMPLE, events.append, threading.Event())

    assert isinstance(events[0], Notice)
    assert "recorded run" in events[0].text
    assert "the file of the model is missing" in events[0].text
    assert isinstance(events[-1], Finished)
    kinds = {type(event) for event in events}
    assert {SourcesFound, Settled, Weighed} <= kinds
    assert not {Sent, Received} & kinds, "nothing is sent when it is played"
    service.close()


def test_another_request_is_not_answered_by_it():
    service = first_run()
    service.prepare()

    with pytest.raises(ModelError, match="is missing"):
        service.write(
            WriteRequest(Request("Ask Bo for money.")), print, threading.Event()
        )


def test_the_models_write_as_soon_as_they_can():
    """What was missing is looked for before each text."""
    there: list[RecordedService] = []

    def make():
        return there[0] if there else missing()

    service, events = first_run(make), []
    service.prepare()
    there.append(RecordedService([[Settled(())]], lambda _: None))
    service.write(SAMPLE, events.append, threading.Event())

    assert events == [Settled(())]
    assert service.counts() == {}
    service.close()
    assert there[0].closed
