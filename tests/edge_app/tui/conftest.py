"""Keys of Pilot are waited for by facts."""

from pathlib import Path

import pytest
from textual._compositor import Compositor
from tui_helpers import settled

from tests.terminals import Terminal

SCRIPT = """
import sys
from pathlib import Path
from tui_helpers import gated_service, make_app
from edge_app.tui.app import run_app
from edge_app.tui.journal import JournalFolder
from models.folders import state_folder
fake = gated_service({service})
app = make_app(fake, Path("."), journals=JournalFolder(state_folder() / "drafts"))
{more}
sys.exit(run_app(app))
"""


@pytest.fixture(autouse=True)
def pilot_waits_for_facts(monkeypatch):
    """Textual takes a process that gets no core for one that is idle."""
    monkeypatch.setattr("textual.app.wait_for_idle", settled)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)


@pytest.fixture
def drawn_when_asked(monkeypatch):
    """Nothing is drawn but what a test looks at: a third of the time of an app without
    a terminal goes into frames that nobody sees."""

    def no_frame(compositor, *_, **__):
        compositor._dirty_regions.clear()

    monkeypatch.setattr(Compositor, "render_update", no_frame)


@pytest.fixture
def start(home, tmp_path, monkeypatch):
    """Starts the app, with more lines of script where a test needs them."""
    started = []
    monkeypatch.chdir(tmp_path)

    def run(more: str = "", service: str = "", **options) -> Terminal:
        script = SCRIPT.format(service=service, more=more)
        started.append(Terminal(script, beside=Path(__file__), **options))
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()
