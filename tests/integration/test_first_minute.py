"""A new person's first minute: the real program, the real pair, a pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge_app.tui.journal import JournalFolder
from tests.terminals import Terminal, ctrl

PROGRAM = """
import sys
from edge_app.cli import main
sys.argv = ["specsteer"]
main()
"""
ESC, ENTER, F3, F7, F9 = b"\x1b", b"\r", b"\x1bOR", b"\x1b[18~", b"\x1b[20~"


@pytest.mark.slow
def test_the_first_minute(home, tmp_path, monkeypatch):
    """The page with a filled brief; a letter, edited; another version beside the first;
    what left; where one's own letters go; saved; nothing lost when it is killed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPECSTEER_THREADS", "1")
    terminal = Terminal(PROGRAM, beside=Path(__file__), size=(120, 36))
    try:
        terminal.until("Thank Ana for the photos. Say yes to the weekend of the 14th.")
        terminal.until("Tess's sample letters")
        terminal.until("^J drafts it")
        terminal.send(ctrl("j"))
        terminal.until("edit anything")
        terminal.until("drafted on this device")
        terminal.send("P.S. Zanzibar.")
        terminal.until("Zanzibar")
        terminal.send(ctrl("r"))
        terminal.until("version 2 of 2")
        terminal.until("F7/F8 flip versions")
        terminal.send(F9)
        terminal.until("Compare")
        terminal.send(ESC)
        terminal.gone("Compare ─")
        terminal.send(F7)
        terminal.until("version 1 of 2")
        terminal.until("Zanzibar")
        terminal.send(F3)
        terminal.until("What left this device")
        terminal.until("drafted words")
        terminal.until("your request")
        terminal.send(ESC)
        terminal.gone("What left this device")
        terminal.send(ctrl("o"))
        terminal.until("Your letters ─")
        terminal.send(ESC)
        terminal.gone("Your letters ─")
        terminal.send(ctrl("s"))
        terminal.until("enter saves")
        terminal.send(ENTER)
        terminal.until("saved to")
    finally:
        terminal.close()  # as kill -9 does
    (saved,) = tmp_path.glob("email-ana*")
    assert "Zanzibar" in saved.read_text()
    ((kept,), problems) = JournalFolder(home / "drafts").kept()
    assert not problems
    assert len(kept.draft.variants) == 2
    assert "Zanzibar" in kept.draft.variants[0].text
    again = Terminal(PROGRAM, beside=Path(__file__), size=(120, 36))
    try:
        again.until("Zanzibar")
        again.until("version 1 of 2")
        again.send(ctrl("q"))
        assert again.end() == 0
    finally:
        again.close()
