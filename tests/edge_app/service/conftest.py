"""A service with a real specialist and a scripted server."""

import json

import pytest

from edge_app.config.settings import Settings
from edge_app.service import kept_states
from edge_app.service.requests import ServiceConfig
from edge_app.transport import client as cloud
from models.engines.llama_cpp import LlamaContext
from models.files import locate
from models.running.settings import EngineSettings
from personal_store import Store, import_source
from tests.edge_app.service.scripted import URL, FakeConnection


@pytest.fixture
def connections(monkeypatch):
    """Those that the client opened."""
    made = []

    def connect(*arguments):
        made.append(FakeConnection(*arguments))
        return made[-1]

    monkeypatch.setattr(cloud, "Connection", connect)
    return made


@pytest.fixture
def read(monkeypatch):
    """How many tokens the device's model read, call by call; no state is kept."""
    monkeypatch.setattr(kept_states, "_WORTH", 10_000)
    counts, evaluate = [], LlamaContext.evaluate

    def counted(self, readings):
        counts.extend(len(reading.token_ids) for reading in readings)
        return evaluate(self, readings)

    monkeypatch.setattr(LlamaContext, "evaluate", counted)
    return counts


@pytest.fixture
def config(tmp_path):
    letters = tmp_path / "letters.jsonl"
    text = "Hullo Ana, the pier photos came out well; the tea was cold. Best, Tess"
    letters.write_text(json.dumps({"text": text}))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", letters)
    return ServiceConfig(
        locate("specialist"),
        locate("generalist"),
        tmp_path / "store.db",
        tmp_path / "ledger.jsonl",
        settings=Settings(server=URL, ledger_days=0.0),
        engine=EngineSettings(extra_buffers=False),
    )
