"""Files that a person names, drafts that are kept, versions that stay."""

from __future__ import annotations

import errno
import os
import threading

import pytest
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
from edge_app.tui import saving
from edge_app.tui.journal import JournalFolder
from edge_app.tui.saving import PathError, TakenError, propose, save, typed_path
from edge_app.tui.screens.page import next_step
from edge_app.tui.writing import Writing
from models.prompts import Request
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


@pytest.mark.parametrize(
    "recipient", ["n" * 300, "語" * 300, "/", "..", "a\0b", "\ud800"]
)
def test_a_name_is_proposed_for_every_recipient(tmp_path, recipient):
    for number in (1, 2):
        path = propose(tmp_path, Request("", "email", recipient))
        assert path.parent == tmp_path
        save(path, f"text {number}")
    assert len(list(tmp_path.iterdir())) == 2


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


def test_there_is_no_patience_with_a_load():
    """The service is called at once, however long others would be waited for."""
    gate, called = threading.Event(), threading.Event()

    class Held(GatedService):
        def prepare(self):
            gate.wait()
            return self.server

        def close(self):
            called.set()

    writing = Writing(Held([]), MethodSettings())
    writing.prepare()
    background, close = writing.background, writing.service.close
    closing = threading.Thread(target=background.close, args=(close, 10_000.0))
    closing.start()
    try:
        assert called.wait(PATIENCE)
    finally:
        gate.set()
        closing.join()
