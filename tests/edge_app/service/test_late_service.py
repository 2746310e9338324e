"""The service that is imported late: nothing before the first paint, and it can be
closed at any time."""

import subprocess
import sys

import pytest

from decoding_core.errors import StoppedError
from edge_app.commands.app import LazyService
from edge_app.service.requests import ServiceConfig

HEAVY = {
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
    imported = set(done.stdout.split())
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
