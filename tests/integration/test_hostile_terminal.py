"""Both programs in a real terminal: each escape sequence that reaches it is one that
the program makes by itself."""

import base64
import json
import re
from pathlib import Path

import pytest
from hostile_world import NAME, fill

from edge_app.config.settings import settings_path
from tests.hostile import HOSTILE, MARK, dangers, dangers_in_terminal
from tests.mailboxes import ME
from tests.terminals import Terminal


def python(script, *arguments, steps=()):
    """What a script writes to a terminal, and its exit status; each step is a text to
    wait for, in what was written since the last step, and the keys that answer it."""
    terminal = Terminal(script, *arguments, beside=Path(__file__))
    seen = 0
    try:
        for wanted, keys in steps:
            terminal.until(lambda: wanted.encode() in terminal.output[seen:])  # noqa: B023
            seen = len(terminal.output)
            terminal.send(keys)
        status = terminal.end()
    finally:
        terminal.close()
    return terminal.output.decode("utf-8", "surrogateescape"), status


COMMANDS = """
import json, sys
from edge_app import cli
from edge_app.service import service
from edge_app.commands import texts as status
from hostile_world import HostileDesk
from edge_app.config.settings import settings_path
from tests.hostile import HOSTILE

service.WritingService = HostileDesk
for arguments in json.loads(sys.argv[1]):
    print("AT", arguments[0], flush=True)
    sys.argv[1:] = arguments
    try:
        cli.main()
    except SystemExit as end:
        print("EXIT", end.code)
status.summarise = lambda *_: {}[HOSTILE]  # a fault that nobody expects
sys.argv[1:] = ["status"]
cli.main()
"""


@pytest.fixture
def names(tmp_path, monkeypatch):
    """Hostile files, and a home with a hostile name."""
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path / "home" / NAME))
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "home").mkdir()
    return fill(tmp_path)


def test_commands_in_a_terminal(names):
    """With colours, bars and questions; both are of our own making."""
    commands = [
        ["import", "auto", names["zip"], "--me", ME],
        ["search", "photos", "--explain"],
        ["show", "1", "--raw"],
        ["status"],
        ["write", "x"],
        ["store", "export", "-"],
        ["store", "backup"],
        ["store", "restore"],
        ["forget", "--words", "photos"],
        ["me", "suggest"],
        ["import", "imap", HOSTILE, "--server", HOSTILE.replace("\r", "")],
        ["doctor"],
        [HOSTILE],
        ["status"],
    ]
    settings_path().parent.mkdir(exist_ok=True)
    model = json.dumps(names["gguf"])
    settings_path().write_text(f"specialist = {model}\nserver = {model}\n")
    steps = [
        ("Import this as your own", "y\n"),
        ("Replace the store", "n\n"),
        ("forgotten for good?", "n\n"),
        ("yours?", "n\n"),
        ("Password of", "no\n"),
    ]
    shown, status = python(COMMANDS, json.dumps(commands), steps=steps)
    assert status == 1
    assert "KeyError" in shown, "the traceback of the last"
    assert dangers_in_terminal(shown) == []
    for part in shown.split("\nAT ")[1:]:
        assert MARK in part.upper(), part
    assert "\x1b[1m" in shown, "headings are bold in a terminal"
    assert "\x1b[4m" in shown, "and words that were replaced underlined"


APP = """
import asyncio, sys
from pathlib import Path
from textual.events import Paste
from hostile_world import HostileDesk
from edge_app.tui.app import SpecSteerApp
from edge_app.tui.journal import JournalFolder
from models.folders import state_folder
from models.prompts import Request
from edge_app.config.settings import settings_path
from tests.hostile import BLANK, CLIPBOARD, HOSTILE, MARK
from tests.waiting import until_true

folder = Path(sys.argv[1])
app = SpecSteerApp(
    HostileDesk(),
    save_folder=folder,
    first_request=Request(HOSTILE, "email", HOSTILE),
    journals=JournalFolder(state_folder() / "drafts"),
)

async def steps(pilot):
    async def until(true):
        await until_true(true)
        await pilot.pause()

    await until(lambda: app.writing.ready)
    for key in ("ctrl+j", "ctrl+r"):
        await pilot.press(key)
        await until(lambda: not app.writing.service_busy and app.page.editor.editing)
    for key in "f2 f3 f4 f1 f9 f12 alt+r ctrl+l alt+s ctrl+o".split():
        await pilot.press(key, "down")
    await pilot.press("escape", "ctrl+s")
    field = app.screen.query_one("#path")
    field.value = ""
    app.post_message(Paste(str(folder / f"[/x]{MARK}{BLANK}{CLIPBOARD}")))
    await until(lambda: field.value)
    await pilot.press("enter")
    await until(lambda: app.screen is app.page)
    await pilot.press("alt+c", "ctrl+q")

app.run(auto_pilot=steps)
app.writing.close()
sys.exit(app.return_code)
"""


@pytest.mark.slow
def test_the_app_in_a_terminal(names):
    """Every drawer and dialog; what is pasted into them is hostile, too."""
    shown, status = python(APP, names["folder"])
    assert status == 0, shown[-3000:]
    copied = re.findall(r"\x1b\]52;c;([^\x07]*)\x07", shown)
    text = base64.b64decode(copied.pop()).decode()
    assert copied == [], "nothing is copied but by the person's key"
    assert MARK in text
    assert dangers(text) == []
    shown = re.sub(r"\x1b\]52;c;[^\x07]*\x07", "", shown)
    assert dangers_in_terminal(shown) == []
    assert shown.count(MARK) > 50
