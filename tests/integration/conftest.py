import json
import threading
from contextlib import closing

import pytest

from edge_app.config.settings import store_path
from edge_app.transport.child_server import ChildServer
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.running.machine import probe
from models.running.settings import EngineSettings
from personal_store import Store, import_source


@pytest.fixture
def letters(home, tmp_path):
    """Two own texts in the store; the sample's hundred make a long prompt to read."""
    path = tmp_path / "letters.jsonl"
    texts = (
        "Hullo Ana, the pier photos came out well. Best, Tess",
        "Thank you for the train times, Ana; the tea was cold.",
    )
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    with Store.open(store_path()) as store:
        import_source(store, "jsonl", path)


@pytest.fixture
def same_kernels(monkeypatch):
    """As the server's and the reference's."""
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    probe.cache_clear()
    yield
    probe.cache_clear()


@pytest.fixture(scope="session")
def exact():
    """Blocks and single steps give the same bits."""
    return EngineSettings(extra_buffers=False, exact=True)


@pytest.fixture(scope="session")
def specialist(exact):
    model = LlamaModel(locate("specialist"), exact)
    yield model
    model.close()


@pytest.fixture(scope="session")
def generalist(exact):
    model = LlamaModel(locate("generalist"), exact)
    yield model
    model.close()


def _three(specialist, generalist):
    """One context each for the device, the base and the generalist."""
    models = (specialist, specialist, generalist)
    made = [LlamaContext(model, 1, 1024) for model in models]
    yield made
    for context in made:
        context.close()


@pytest.fixture(scope="session")
def contexts(specialist, generalist):
    yield from _three(specialist, generalist)


@pytest.fixture(scope="session")
def reference_contexts(specialist, generalist):
    """Contexts of their own: in a shared one, the other text moves the cells, and the
    bits with them."""
    yield from _three(specialist, generalist)


@pytest.fixture(scope="session")
def server(tmp_path_factory, exact):
    """A real server process with the embedded pair; a block of one token is read with
    the bits of a longer one."""
    patch = pytest.MonkeyPatch()
    patch.setenv("SPECSTEER_HOME", str(tmp_path_factory.mktemp("server")))
    patch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    with closing(
        ChildServer(locate("generalist"), locate("specialist"), exact)
    ) as child:
        child.wait(threading.Event())
        yield child
    patch.undo()
