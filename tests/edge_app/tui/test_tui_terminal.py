"""Nothing is lost: files that a person names, drafts that are kept, and the app as a
process in a terminal, with keys as bytes."""

from __future__ import annotations

import base64
import errno
import os
import signal
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key
from textual.widgets import Input
from tui_helpers import (
    FIRST_BLOCK,
    HOLD,
    SECOND,
    GatedService,
    drafted,
    gated_service,
    make_app,
    play,
    said,
    settle,
    until,
    writing_at,
    written,
)
from tui_tapes import LETTER, REQUEST, letter_recording, plain_recording

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Finished, Opened, Statistics
from edge_app.tui import outside as editor
from edge_app.tui import saving
from edge_app.tui.draft import Draft
from edge_app.tui.journal import JournalFolder
from edge_app.tui.keys import EVERY
from edge_app.tui.outside import hand_to_programs, osc52, programs
from edge_app.tui.saving import PathError, TakenError, save, typed_path
from edge_app.tui.screens.page import Page, next_step
from edge_app.tui.screens.save import SaveDialog
from edge_app.tui.writing import Writing
from tests.terminals import Terminal, ctrl
from tests.waiting import PATIENCE

EMPTY = [Opened("own server", local=False), Finished("end", Statistics())]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("  ", "type the name"),
        ("~of-no-name/a", "no user ~of-no-name"),
        ("a\0b", "zero byte"),
        ("a\ud800", "a character that no file can have"),
    ],
)
def test_what_cannot_be_a_path_is_said(typed, sentence):
    with pytest.raises(PathError, match=sentence):
        typed_path(typed)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "this disk can only be read"),
        (errno.EACCES, "you have no permission"),
        (errno.EIO, "input/output error"),
    ],
)
def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch, code, sentence):
    """The disk says no at the last moment; nothing half-written stays."""
    path = tmp_path / "letter.txt"
    path.write_text("before")
    path.chmod(0o640)
    with pytest.raises(TakenError) as taken:
        save(path, "after")

    def refuse(_file):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(saving.os, "fsync", refuse)
    with pytest.raises(PathError, match=sentence):
        save(path, "after", instead_of=taken.value.found)
    with pytest.raises(PathError, match=sentence):
        save(tmp_path / "new.txt", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]
    assert path.read_text() == "before"

    monkeypatch.undo()
    save(path, "after", instead_of=taken.value.found)
    assert path.read_text() == "after\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_consent_is_for_one_file_as_it_was(tmp_path):
    """Not for another, and not for what somebody has put there since."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    with pytest.raises(TakenError) as taken:
        save(one, "mine")
    with pytest.raises(TakenError):
        save(other, "mine", instead_of=taken.value.found)
    one.write_text("changed since")
    with pytest.raises(TakenError):
        save(one, "mine", instead_of=taken.value.found)
    assert (one.read_text(), other.read_text()) == ("changed since", "2")


def test_a_second_enter_overwrites_only_what_was_asked_about(tmp_path):
    """Warned of one file, then another name, or the same name once more. The dialog
    says who wrote the text, and so does on wish a file beside it, which quotes none."""
    for name in "AB":
        (tmp_path / name).write_text(name)
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("o", "h", "ctrl+s")
        assert "drafted on this device" in said(app, "#who")
        assert "1 typed by you" in said(app, "#who")
        field = app.screen.query_one("#path", Input)
        await pilot.press("f3")
        assert field.value.endswith("ana.md")
        for name in "ABA":
            field.value = ""
            await pilot.pause()
            field.value = str(tmp_path / name)
            await pilot.pause()
            assert not said(app, "#problem")
            await pilot.press("enter")
            assert "this file exists" in said(app, "#problem")
            assert [(tmp_path / name).read_text() for name in "AB"] == ["A", "B"]
        await pilot.press("f4", "enter")

    play(app, steps)
    assert (tmp_path / "A").read_text() == LETTER + "oh\n"
    assert (tmp_path / "B").read_text() == "B"
    report = (tmp_path / "A.authorship.txt").read_text()
    assert "typed by you" in report
    assert "photographs" not in report


def test_a_link_stays_a_link_and_one_that_leads_nowhere_is_not_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(PathError, match="leads nowhere"):
        save(link, "text")
    target.write_text("before")
    with pytest.raises(TakenError) as taken:
        save(link, "text")
    save(link, "text", instead_of=taken.value.found)
    assert link.is_symlink()
    assert target.read_text() == "text\n"


def test_another_version_takes_a_new_seed_after_an_empty_one():
    """And the last good version is shown again, with the reason until the next act."""
    fake = gated_service()
    fake.recordings = [letter_recording(), EMPTY, EMPTY, plain_recording(SECOND)]
    with writing_at(fake, MethodSettings(seed=4)) as writing:
        for write in (writing.draft, writing.again, writing.draft):
            write(REQUEST)
            settle(writing, lambda: not writing.service_busy)
            assert writing.variant.text == LETTER
        assert "no word was written" in writing.reason
        writing.again(REQUEST)
        assert not writing.reason
        settle(writing, lambda: not writing.service_busy)
        assert [known.text for known in writing.variants] == [LETTER, SECOND]
    assert [request.settings.seed for request in fake.requests] == [4, 5, 6, 7]


def toasted(app, words):
    """Whether the app said something with these words."""
    return any(words in toast.message for toast in app._notifications)


@pytest.mark.slow
def test_a_draft_that_cannot_be_kept_is_said_and_leaving_waits(home, tmp_path):
    """Nobody leaves on a promise that was not kept; an unasked end prints the text."""
    (home / "drafts").write_text("a file where the folder should be")
    app = make_app(gated_service(), tmp_path, journals=JournalFolder(home / "drafts"))

    async def steps(pilot):
        await drafted(pilot)
        await until(pilot, lambda: toasted(app, "not kept: a part of this path is a"))
        app.keep_draft()
        assert LETTER in app.last_words
        await pilot.press("ctrl+q", "ctrl+q")
        assert app.is_running
        assert "cannot be kept: a part of this path" in said(app, "#sentence")
        await pilot.press("escape")
        (home / "drafts").unlink()
        await until(pilot, lambda: toasted(app, "is kept again"))
        await pilot.press("ctrl+q")

    play(app, steps)
    assert app.return_code == 0
    ((one,), _) = JournalFolder(home / "drafts").kept()
    assert one.draft.variant.text == LETTER


def test_a_draft_that_was_cut_off_is_gone_on_with(tmp_path):
    """It is marked; the draft key keeps its text and writes on from there."""
    fake, folder = gated_service(hold=HOLD), JournalFolder(tmp_path / "drafts")
    with writing_at(fake, journals=folder) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: fake.played > HOLD and writing.background.idle)
        (path,) = folder.paths()
        left = path.read_bytes()
    path.write_bytes(left)  # as it was while the text was written
    fake = gated_service()
    fake.recordings = [plain_recording(" And more.")]
    with writing_at(fake, journals=folder) as writing:
        assert writing.take_up()
        first = writing.variant
        assert first.text == FIRST_BLOCK
        assert "not finished: it was cut off" in next_step(writing)
        written(writing.draft, REQUEST)
        second = writing.variant
    assert first.unfinished
    assert (first.text, second.text) == (FIRST_BLOCK, FIRST_BLOCK + " And more.")
    assert second.request.before == FIRST_BLOCK
    assert second.request.settings == first.request.settings


ESC, ENTER, SHIFT_LEFT, F3 = b"\x1b", b"\r", b"\x1b[1;2D", b"\x1bOR"


def draft(terminal: Terminal) -> None:
    """Write the letter, and wait for its end."""
    terminal.until("own server")
    terminal.send(ctrl("j"))
    terminal.until("Love,")
    terminal.until("edit anything")


def kept(home) -> Draft:
    """The one draft that is kept."""
    (path,) = (home / "drafts").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    ((one,), problems) = JournalFolder(home / "drafts").kept()
    assert not problems
    return one.draft


def test_keys_and_clicks_as_terminals_send_them(start):
    """Esc stops; Alt is ESC before the key; some bytes are no text at all; Ctrl-C with
    a selection copies; a click switches only where the title says so."""
    terminal = start(more="fake.gates[16] = __import__('threading').Event()")
    terminal.until("own server")
    # Alt with a key without an action does nothing; B and F move by a word, as in a
    # shell; a digit takes another kind of text.
    bound = {key for one in EVERY.values() for key in one.key.split(",")}
    free = [one for one in map(chr, range(33, 127)) if f"alt+{one}" not in bound]
    terminal.send("".join(f"\x1b{one}" for one in free if one not in "bf[O") + "\x1b2")
    terminal.until("of Ana")
    terminal.send(b"\x1b1 ten\x1bbAt \x1bf!")
    terminal.until("14th. At ten!")
    terminal.send(ctrl("j"))
    terminal.until("photographs.")
    terminal.send(ESC)
    terminal.until("edit anything")
    terminal.send(b"\xff" + ESC + b"y")
    terminal.until("photographs.\ufffd")
    terminal.send("Bye")
    terminal.until("Bye")
    terminal.send(ESC + b"c")
    terminal.until("copied")
    terminal.until(lambda: clipboard(terminal) == [FIRST_BLOCK + "\ufffdBye"])

    # Ctrl-T, which is seen, comes behind what selects, which is not.
    terminal.send(SHIFT_LEFT * 3 + ctrl("t"))
    terminal.until("○ offline: this device alone")
    terminal.send(ctrl("c"))
    terminal.until(lambda: clipboard(terminal)[1:] == ["Bye"])

    # Were each of these four a switch, the last would be off again.
    terminal.click("email · Ana")
    terminal.click("email · Ana")
    terminal.click("this device alone")
    terminal.click("^T online")
    terminal.until("own server")
    terminal.send(ESC + ENTER)  # alt-enter
    terminal.until("for the photographs. I will")
    terminal.until("version 2 of 2")
    assert "○ offline" not in terminal.screen.text


def clipboard(terminal: Terminal) -> list[str]:
    """What was sent to the clipboard (OSC 52), oldest first."""
    return [
        base64.b64decode(command.split(";")[2]).decode()
        for command in terminal.screen.commands
        if command.startswith("52;")
    ]


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        signal.SIGKILL,
        pytest.param("hang up", marks=pytest.mark.slow),
    ],
)
def test_a_process_that_is_ended_loses_nothing(start, home, way):
    terminal = start()
    draft(terminal)
    terminal.send(b"Bye")
    terminal.until("Bye")
    if way == "hang up":
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE) == 128 + signal.SIGHUP
    else:
        terminal.process.send_signal(way)
        terminal.end()
    if way == signal.SIGTERM:
        assert "is kept in" in terminal.output.decode()
    (version,) = kept(home).variants
    assert version.text == LETTER + "Bye"
    assert version.edited[-1] == ("Bye", "typed")
    assert [state for _, state in version.edited].count("replaced") == 2

    terminal = start()
    terminal.until("here is what you wrote until")
    terminal.until("Bye")
    # What left is known from the journal, and is the version's own.
    terminal.until("phrases, 0 facts")
    terminal.send(F3)
    terminal.until("drafted words to check")
    terminal.until("specsteer sent")
    terminal.send(ESC)
    terminal.gone("specsteer sent")
    terminal.send(ctrl("n"))
    terminal.until("nothing was sent yet")


def test_an_error_that_nobody_foresaw_keeps_the_draft(start, home):
    """The traceback shows no values: they hold the text. What is said last is where
    the draft is."""
    terminal = start(
        more="""
def broken(self):
    secret = "LOCAL" + "VALUE"
    raise ZeroDivisionError("nobody foresaw this")
type(app).action_offline = broken
"""
    )
    draft(terminal)
    terminal.send(b"Bye" + ctrl("t"))
    assert terminal.end() == 1
    said = terminal.output.decode()
    assert "nobody foresaw this" in said
    assert "LOCALVALUE" not in said
    assert said.index("nobody foresaw this") < said.index("is kept in")
    assert kept(home).variant.text == LETTER + "Bye"


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


words = st.lists(st.sampled_from(["one", "two", " ", "\n", "ü👋🏽", ","])).map("".join)


@given(words, words)
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


def test_keys_that_come_together_act_one_after_the_other(tmp_path):
    """As a slow line sends them: what moves the cursor, opens a drawer or a dialog, and
    what is typed behind it. Ctrl-Z undoes before it suspends."""
    app, suspended = make_app(gated_service(), tmp_path), []
    app.action_suspend_process = lambda: suspended.append(True)

    async def steps(pilot):
        def send(*keys):
            for key in keys:
                letter = key if len(key) == 1 else None
                app.post_message(Key(key, letter))

        await drafted(pilot)
        editor = app.page.editor
        text = editor.text
        await pilot.press("x", "ctrl+z", "ctrl+z")
        assert editor.text == text
        assert not suspended
        await pilot.press("left", "ctrl+z", "right")
        assert suspended == [True]
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


def test_quitting_while_drafting_stops_the_service(tmp_path):
    fake = gated_service(hold=20)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > 20)
        await pilot.press("ctrl+q", "delete")

    play(app, steps)
    app.writing.close()  # the service is still held, and nobody lets it go on
    assert fake.closed
    assert app.return_code == 0


def test_leaving_ends_an_import():
    """At its next word of progress; what it has stored stays stored."""
    called = threading.Event()

    class Importing(GatedService):
        def import_letters(self, kind, path, me, progress):
            while True:
                progress(1, 10)
                called.set()

    writing = Writing(Importing([]), MethodSettings())
    writing.import_letters("mbox", Path("sent.mbox"), [])
    assert called.wait(PATIENCE)
    writing.background.close(writing.service.close, patience=PATIENCE)
    writing.background.apply()
    ((sentence, severity),) = writing.news
    assert severity == "error"
    assert "the same import goes on" in sentence


def test_ctrl_c_leaves_also_from_the_palette(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+p", "ctrl+c")

    play(app, steps)
    assert app.return_code == 130


def test_leaving_waits_for_no_model_that_is_loading(start):
    """What is typed before anything is painted goes into the brief."""
    more = """
import gc
gc.disable()
type(app).last_words = property(lambda _: f"freed: {gc.isenabled()}")
"""
    terminal = start(service="ready=False", more=more)
    terminal.send("Soon.")
    terminal.until("14th.Soon.")
    terminal.until("loading the models")
    terminal.send(ctrl("j"))
    terminal.until("the draft begins by itself")
    terminal.send(ctrl("q"))
    assert terminal.end() == 0
    assert b"freed: True" in terminal.output, "cycles, once it is painted"
