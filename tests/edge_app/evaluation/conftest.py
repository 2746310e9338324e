import json
import lzma
import threading
from contextlib import closing

import pytest

from edge_app.evaluation.pair import Pair
from models.files import locate
from models.running.settings import EngineSettings


@pytest.fixture
def written(tmp_path):
    """Writes lines into a file, packed where its name says so."""

    def write(name, *rows):
        path = tmp_path / name
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        data = "\n".join(lines).encode()
        path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)
        return path

    return write


@pytest.fixture(autouse=True)
def no_probe(monkeypatch):
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")


@pytest.fixture(scope="module")
def pair():
    """The embedded pair, loaded once for a file of tests."""
    settings = EngineSettings(threads=1, extra_buffers=False)
    models = locate("specialist"), locate("generalist")
    with closing(Pair(*models, settings, threading.Event())) as pair:
        yield pair
