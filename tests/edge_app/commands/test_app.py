"""The service that is imported late, and the recorded run if no model can run yet."""

import subprocess
import sys
import threading

import pytest

from decoding_core.errors import ModelError, StoppedError
from edge_app import sample
from edge_app.commands.app import LABEL, FirstRun, LazyService
from edge_app.decoding import events
from edge_app.service import service as service_module
from edge_app.service.requests import ServiceConfig, WriteRequest
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
    there, told = [], []
    made = RecordedService([[events.Settled(())]], lambda _: None)
    monkeypatch.setattr(service_module, "WritingService", lambda _: made)
    service = FirstRun(lambda: None if there else missing(), lambda _: None)
    service.prepare()
    there.append(True)
    service.write(SAMPLE, told.append, threading.Event())
    assert told == [events.Settled(())]
    assert service.counts() == {}
    service.close()
    assert made.closed


HEAVY = {
    *("numpy", "sqlite_utils", "dateutil", "ctypes", "importlib.resources"),
    *("cryptography", "httpcore", "pydantic", "jinja2", "tomlkit", "huggingface_hub"),
    *("markdown_it", "pygments", "tree_sitter", "textual.widgets._markdown"),
    *("decoding_core.messages", "edge_app.decoding.loop", "edge_app.privacy.budget"),
    *("edge_app.service.service", "edge_app.privacy.guard.gate"),
    *(f"edge_app.tui.screens.{name}" for name in ("compare", "library", "style")),
    *(f"edge_app.tui.screens.{name}" for name in ("import_letters", "sent", "sources")),
    *("edge_app.tui.screens.why", "personal_store.cleaning.cleaning"),
    *("personal_store.search.index", "personal_store.store", "chardet", "httpx"),
    *("importlib.metadata", "llama_cpp", "rich.traceback", "transformers"),
}
"""What no first paint needs: most of it is imported by the thread that loads models, or
with the drawer that is opened."""
UNTIL_PAINTED = """
import sys
from edge_app import cli
from edge_app.commands import app

def run_app(made):
    def prepare():  # comes behind the first paint
        print(made.focused.id, len(made.query("FooterKey")), *made.page.classes)
        print(*sys.modules)
        made.exit()
    made.writing.prepare = prepare
    made.run(headless=True)

app.run_app = run_app
app.open_app()
"""


def test_the_page_is_painted_without_what_comes_later(home):
    done = subprocess.run(
        [sys.executable, "-P", "-c", UNTIL_PAINTED],
        capture_output=True,
        text=True,
        check=True,
    )
    page, modules = done.stdout.split("\n", 1)
    assert page.split()[:2] == ["request", "9"], "the cursor, and the keys"
    assert {"-mid", "-high"} <= set(page.split())
    imported = set(modules.split())
    assert "edge_app.tui.screens.page" in imported
    assert not HEAVY & imported


@pytest.mark.parametrize("used", [True, False])
def test_a_service_is_made_once_and_closed_at_any_time(tmp_path, used):
    """One that was closed first is closed when it is made, as a thread asks for it that
    came too late."""
    nowhere = tmp_path / "nowhere"
    config = ServiceConfig(nowhere, nowhere, tmp_path / "store.db", nowhere)
    late = LazyService(lambda: config)
    assert not late.server_ended()
    if used:
        assert late.counts()["own"] == 0
        made = late._service
        assert late.search("pier") == []
        assert late._service is made
    late.close()
    with pytest.raises(StoppedError):
        late.prepare()
