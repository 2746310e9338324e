"""Where no model can run yet, a recorded run answers the sample's request, labelled."""

import os
import sys
import threading
from pathlib import Path

from decoding_core.errors import ModelError
from decoding_core.settings import MethodSettings
from edge_app import sample
from edge_app.commands.app import LABEL, Arrivals, FirstRun
from edge_app.decoding.events import (
    Alternatives,
    Finished,
    Notice,
    Received,
    Sent,
    Settled,
    SourcesFound,
)
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui.screens.page import next_step
from edge_app.tui.writing import RECORDED, Writing
from models.local import finding as pulled
from models.prompts import Request

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))
from tui_helpers import settle

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
    assert {SourcesFound, Settled, Alternatives} <= kinds
    assert not {Sent, Received} & kinds, "nothing is sent when it is played"
    service.close()


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


def test_a_model_that_is_pulled_meanwhile_is_told_in_words(tmp_path, monkeypatch):
    """How much of it is here, by the files of the pull, and how long it takes; that it
    is checked, or stopped; and nothing once it is done."""
    monkeypatch.setattr(pulled, "machine_folder", lambda: tmp_path)
    folder = pulled.folder_of("org/tea")
    now = [0.0]
    arrivals = Arrivals(clock=lambda: now[0])
    assert arrivals.in_words() == ""
    coming = {"a-1.gguf": 4_000_000, "sub/a-2.gguf": 6_000_000}
    pulled.write_note(folder, pulled.PulledNote("org/tea", coming=coming))
    (folder / "a-1.gguf").write_bytes(bytes(4_000_000))
    part = folder / "sub" / pulled.part_of_pull("a-2.gguf", "ab" * 32)
    part.parent.mkdir()
    told = []
    for seconds, there in (
        (0, 0),
        (100, 2_000_000),
        (130, 5_900_000),
        (131, 6_000_000),
    ):
        now[0] = seconds
        part.write_bytes(bytes(there))
        told.append(arrivals.in_words())
    assert told == [
        "org/tea is on its way: 4.0 MB of 10 MB",
        "org/tea is on its way: 6.0 MB of 10 MB, about 3 min left",
        "org/tea is on its way: 9.9 MB of 10 MB, less than a minute left",
        "org/tea is here, and is being checked",
    ]
    part.write_bytes(b"")
    for one in (part, folder / "a-1.gguf"):
        os.utime(one, (1, 1))
    assert arrivals.in_words() == (
        "the pull of org/tea stopped at 4.0 MB of 10 MB: 'specsteer models pull "
        "org/tea' goes on"
    )
    pulled.write_note(folder, pulled.PulledNote("org/tea"))
    assert arrivals.in_words() == ""


def test_the_page_says_it_and_looks_again_when_it_is_here():
    service = first_run()
    writing = Writing(service, MethodSettings())
    writing.prepare()
    settle(writing, lambda: writing.ready)
    assert writing.without_models
    writing.note_arriving("org/tea is on its way: 1 GB of 2 GB")
    assert next_step(writing, samples=True) == "org/tea is on its way: 1 GB of 2 GB"
    service._make = lambda: RecordedService([])
    writing.note_arriving("")
    settle(writing, lambda: not writing.without_models)
    assert next_step(writing, samples=True) == "^J drafts it"
    writing.close()
