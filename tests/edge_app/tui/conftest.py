"""Keys of Pilot are waited for by facts."""

import pytest
from tui_helpers import settled
from tui_terminal import SCRIPT, Terminal


@pytest.fixture(autouse=True)
def pilot_waits_for_facts(monkeypatch):
    """Textual takes a process that gets no core for one that is idle."""
    monkeypatch.setattr("textual.app.wait_for_idle", settled)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)


@pytest.fixture
def start(home, tmp_path):
    """Starts the app, with more lines of script where a test needs them."""
    started = []

    def run(more: str = "", script: str = SCRIPT, **options) -> Terminal:
        script = script.replace("{more}", more)
        started.append(Terminal(script, home, tmp_path, **options))
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()
