"""Keys of Pilot are waited for by facts."""

import pytest
from tui_helpers import settled


@pytest.fixture(autouse=True)
def pilot_waits_for_facts(monkeypatch):
    """Textual takes a process that gets no core for one that is idle."""
    monkeypatch.setattr("textual.app.wait_for_idle", settled)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)
