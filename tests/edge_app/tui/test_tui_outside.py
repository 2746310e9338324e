"""The app and the machine around it: suspending, the editor, the clipboard."""

from __future__ import annotations

import base64
import os
import signal
from pathlib import Path

import pytest
from test_tui_terminal import ctrl, draft, kept
from test_tui_terminal import start as start
from textual.events import Key
from tui_helpers import drafted, gated_service, make_app, play, until

from edge_app.tui import outside as editor
from edge_app.tui.outside import hand_to_programs, osc52, programs
from edge_app.tui.screens.page import Page
from edge_app.tui.screens.save import SaveDialog


@pytest.mark.slow
def test_suspended_and_back_the_whole_page_is_painted(start):
    """What the shell wrote meanwhile is gone, and keys are read again."""
    terminal = start()
    draft(terminal)

    def stopped() -> bool:
        state = Path(f"/proc/{terminal.process.pid}/stat").read_text()
        return state.rpartition(")")[2].split()[0] == "T"

    terminal.send(ctrl("z"))
    terminal.until(stopped)
    terminal.screen.feed("\x1b[2J" + "\r\nshell$ " * 20)
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.until("Love,")
    terminal.gone("shell$")
    terminal.send("x" + ctrl("z").decode() * 4)
    terminal.until("edit anything")
    assert not stopped(), "who undoes on and on stays in the app"
    terminal.send(ctrl("q"))
    assert terminal.end() == 0


@pytest.mark.slow
def test_what_an_editor_leaves_alone_keeps_its_origin(start, home, tmp_path):
    script = tmp_path / "ed.sh"
    script.write_text(
        '#!/bin/sh\nstat -c %a "$1" > mode\necho EDITING\nsed -i s/yellow/green/ "$1"\n'
        'sed -i "s/Whitby made/Whitby really made/" "$1"\n'
    )
    script.chmod(0o700)
    terminal = start(EDITOR=f"{script}")
    draft(terminal)
    terminal.send(b"\x1be")
    terminal.until("really")
    terminal.send(ctrl("q"))
    assert terminal.end() == 0
    assert (tmp_path / "mode").read_text().strip() == "600"
    assert not list(home.glob("edit-*"))
    variant = kept(home).variant
    states = {text.strip(): state for text, state in variant.runs()}
    assert states["really"] == "typed"
    assert "replaced" in states.values()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Dear Ana,\n\nbye", "Dear Ana,\n\nhello and bye"),
        ("one two three", "three two"),
        ("", "new\n"),
        ("all of it", ""),
        ("grüße 👋🏽 an", "grüße 👋🏽 an dich"),
    ],
)
def test_edits_make_the_one_text_the_other(before, after):
    text = before
    for first, end, inserted in editor.changes(before, after):
        text = text[:first] + inserted + text[end:]

    assert text == after


def test_an_editor_that_cannot_be_is_said(tmp_path, home):
    with pytest.raises(editor.EditorError, match="there is no editor 'gone-ed'"):
        editor.editor_command({"EDITOR": "gone-ed -w"})
    with pytest.raises(editor.EditorError, match="cannot be read"):
        editor.editor_command({"EDITOR": "'"})
    with pytest.raises(editor.EditorError, match="ended with 1; the text is as it was"):
        editor.edited("text", ["false"])
    assert editor.edited("text", ["true"]) == "text"
    assert [path for path in home.iterdir() if path.name.startswith("edit-")] == []


def test_every_way_to_the_clipboard_is_taken(tmp_path):
    plain = osc52("Grüße", {})
    assert base64.b64decode(plain[7:-1]).decode() == "Grüße"
    wrapped = osc52("Grüße" * 100, {"STY": "1"})
    pieces = wrapped.removesuffix("\x1b\\").split("\x1b\\")
    assert "".join(piece.removeprefix("\x1bP") for piece in pieces) == osc52(
        "Grüße" * 100, {}
    )
    every = {"TMUX": "1", "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}
    assert [one[0] for one in programs(every, str)] == ["tmux", "wl-copy"]
    only = {"xsel": "/usr/bin/xsel"}
    assert programs({"DISPLAY": ":0"}, only.get) == [("xsel", "-ib")]
    assert programs({}, only.get) == []
    out = tmp_path / "copied"
    command = ("sh", "-c", f"cat > {out}")
    hand_to_programs("Grüße", [("gone-copy",), command]).join()
    assert out.read_text() == "Grüße"


def test_ctrl_z_undoes_before_it_suspends(tmp_path):
    app = make_app(gated_service(), tmp_path)
    suspended = []
    app.action_suspend_process = lambda: suspended.append(True)

    async def steps(pilot):
        await drafted(pilot)
        text = app.page.pane.editor.text
        await pilot.press("x", "ctrl+z", "ctrl+z")
        assert app.page.pane.editor.text == text
        assert not suspended
        await pilot.press("left", "ctrl+z")
        assert suspended == [True]

    play(app, steps)


def test_keys_that_come_together_act_one_after_the_other(tmp_path):
    """As a slow line sends them: what moves the cursor, opens a drawer or a dialog, and
    what is typed behind it."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        def send(*keys):
            for key in keys:
                letter = key if len(key) == 1 else None
                app.post_message(Key(key, letter))

        await drafted(pilot)
        editor = app.page.pane.editor
        text = editor.text
        send("left", "x", "left", "backspace", "y", "ctrl+s", "z", "q")
        await until(pilot, lambda: isinstance(app.screen, SaveDialog))
        path = app.screen.query_one("#path")
        await until(pilot, lambda: path.value.endswith("zq"))
        assert editor.text == text[:-2] + "yxn"
        send("escape", "right", "left", "left", "enter", "right", "escape", "up", "!")
        await until(pilot, lambda: "!" in editor.text)
        assert isinstance(app.screen, Page)
        assert "!Love,\nByxn" in editor.text

    play(app, steps)


def test_nothing_is_given_to_an_editor_before_there_is_a_text(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("alt+e")
        assert "write something first" in [n.message for n in app._notifications][-1]

    play(app, steps)


@pytest.mark.slow
def test_enter_on_a_word_asks_about_it_in_a_terminal(start):
    """With the bytes that a terminal sends, while the rail gives way to the panel."""
    terminal = start(size=(120, 36))
    draft(terminal)
    terminal.send(b"\x1b[D")
    terminal.send(b"\r")
    terminal.until("Why this word")
    terminal.until("kept by the checker")
    terminal.send(b"\x1b")
    terminal.gone("Why this word")
