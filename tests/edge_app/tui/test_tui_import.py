"""Reading letters: paths as they are dropped, what is found first, pause and resume."""

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Button, Input, Select
from tui_helpers import gated_service, make_app, play, said, until
from tui_tapes import REQUEST

from decoding_core.errors import StoppedError
from edge_app.service.requests import ServiceConfig
from edge_app.service.service import WritingService
from edge_app.tui.screens.widgets import dropped
from personal_store.ingest.unfinished import Unfinished
from tests.waiting import wait_until

MAIL = (
    "From - Sat Mar 02 10:00:00 2024\nFrom: Tess <tess@example.org>\n"
    "To: Ana <ana@example.org>\nSubject: tea {n}\nMessage-ID: <{n}@example.org>\n"
    "Date: Sat, 2 Mar 2024 10:00:0{n} +0000\n\nHullo Ana, the tea number {n} is ready "
    "and stands on the piano in the hall.\n\nTess\n\n"
)


def mailbox(folder: Path) -> Path:
    path = folder / "My Mail's box" / "Sent.mbox"
    path.parent.mkdir()
    path.write_text("".join(MAIL.format(n=n) for n in range(3)))
    (path.parent / "holiday.jpg").write_bytes(b"\xff\xd8")
    return path


def test_a_dropped_path_is_the_path_it_means(tmp_path):
    """As terminals paste what is dropped on them."""
    path = mailbox(tmp_path)
    plain = str(path)
    escaped = plain.replace(" ", "\\ ").replace("'", "\\'")

    for pasted in (
        plain,
        escaped,
        f"{escaped} {tmp_path}/other\\ one",
        f'"{plain}"',
        "'{}'".format(plain.replace("'", "'\\''")),
        path.as_uri(),
        f"{path.as_uri()}\r\n",
        f"  {plain}\n",
        path.as_uri().replace("file://", "file://localhost"),
    ):
        assert dropped(pasted) == plain, pasted
    assert dropped("file://elsewhere/x") is None
    assert dropped("a word") is None
    assert dropped("") is None


def test_what_is_there_is_said_before_it_is_read(tmp_path):
    path = mailbox(tmp_path)
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        field = app.screen.query_one("#path", Input)
        field.post_message(events.Paste(f"'{tmp_path}'"))
        await until(pilot, lambda: field.value == str(tmp_path))
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        assert "mbox  1 file" in said(app, "#plan")
        assert "mbox: 3 mails" in said(app, "#plan")
        assert "taking tess@example.org for you, because" in said(app, "#plan")
        assert "not read: holiday.jpg" in said(app, "#plan")
        assert not fake.imported
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.writing.imported))
        field.value = str(path.with_name("holiday.jpg"))
        app.screen.query_one("#kind", Select).value = "auto"
        await pilot.press("enter")
        await until(pilot, lambda: "choose its kind" in said(app, "#result"))
        await pilot.press("enter")
        assert len(fake.imported) == 1

    play(app, steps)
    assert fake.imported == [("auto", tmp_path, [])]


def test_whose_letters_they_are_is_asked_before_they_are_read(tmp_path):
    """Where the mail does not tell, and anew when anything is changed; then the page
    has no request of the sample any more."""
    box = tmp_path / "both.mbox"
    ours = (f"{name} <{name}@example.org>" for name in ("tess", "ana"))
    turned = "".join(
        MAIL.format(n=n).replace("Tess <tess@example.org>", who)
        for n, who in enumerate([*ours] * 2)
    )
    box.write_text(turned.replace("To: Ana <ana@example.org>", "To: x@example.org"))
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        app.screen.query_one("#path", Input).value = str(box)
        await pilot.press("enter")
        await until(pilot, lambda: "address is yours: say so" in said(app, "#result"))
        await pilot.press("enter")
        assert not fake.imported
        app.screen.query_one("#me", Input).value = "tess@example.org"
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        assert "taking tess@example.org for you, as you say" in said(app, "#plan")
        assert not fake.imported
        assert app.page.brief.request == REQUEST
        await pilot.press("enter")
        await until(pilot, lambda: "10 letters" in said(app, "#result"))
        assert app.page.brief.request.text == ""
        assert not app.writing.samples

    play(app, steps)
    assert fake.imported == [("mbox", box, ["tess@example.org"])]


def test_a_brief_of_ones_own_stays_when_the_samples_go(tmp_path):
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("x")
        app.writing.import_letters("mbox", tmp_path, [])
        await until(pilot, lambda: bool(app.writing.imported))
        assert app.page.brief.request.text == REQUEST.text + "x"

    play(app, steps)


def test_an_import_is_paused_and_goes_on(tmp_path):
    class Pausing(type(gated_service())):
        def import_letters(self, kind, path, me, progress):
            self.imported.append((kind, path, me))
            if len(self.imported) == 1:
                wait_until(lambda: progress(3, 10), "for the pause")
            return "10 letters read."

    fake = Pausing([])
    fake.ready.set()
    app = make_app(fake, tmp_path)
    box = mailbox(tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        app.screen.query_one("#path", Input).value = str(box)
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        await pilot.press("enter")
        await until(pilot, lambda: app.writing.importing is not None)
        button = app.screen.query_one(Button)
        await until(pilot, lambda: str(button.label) == "Pause")
        button.press()
        await until(pilot, lambda: str(button.label) == "Go on")
        assert "paused" in said(app, "#result")
        assert app.writing.samples, "it is not the person's own yet"
        button.press()
        await until(pilot, lambda: str(button.label) == "Read them")
        assert "10 letters read" in said(app, "#result")

    play(app, steps)
    assert fake.imported == [("mbox", box, [])] * 2


def test_what_an_earlier_sitting_began_is_offered(tmp_path):
    """It says where that stopped, goes on with the same, and can be told not to."""

    class Begun(type(gated_service())):
        left = None

        def unfinished_import(self):
            return None if self.left else was

        def leave_import(self, asked):
            self.left = asked

    was = Unfinished("auto", tmp_path / "All mail", ("a@b.org",), done=4, total=10)
    fake = Begun([])
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.paused is not None)
        (news,) = app._notifications
        assert f"reading {was.path} stopped at 40 %" in news.message
        assert "^O goes on there" in news.message
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen.query(Button)) == 2)
        assert said(app, "#result") == f"reading {was.path} stopped at 40 %"
        read, leave = app.screen.query(Button)
        assert (str(read.label), leave.display) == ("Go on", True)
        read.press()
        await until(pilot, lambda: app.writing.importing is not None)
        await until(pilot, lambda: not leave.display)
        app.writing.pause_import()
        fake.reading.set()
        await until(pilot, lambda: leave.display)
        leave.press()
        await until(pilot, lambda: fake.left is not None)
        await until(pilot, lambda: str(read.label) == "Read them")

    fake.ready.set()
    play(app, steps)
    assert fake.imported == [("auto", was.path, ["a@b.org"])]
    assert fake.left.is_same(was)


def test_the_service_reads_whatever_it_finds(tmp_path):
    """And an import that was stopped goes on where it was."""
    path = mailbox(tmp_path)
    nowhere = tmp_path / "none.gguf"
    service = WritingService(
        ServiceConfig(nowhere, nowhere, tmp_path / "store.db", nowhere)
    )
    told = []

    def stop(done, total):
        told.append((done, total))
        raise StoppedError("stopped")

    with pytest.raises(StoppedError):
        service.import_letters("auto", path.parent, ["tess@example.org"], stop)
    sentence = service.import_letters(
        "auto", path.parent, ["tess@example.org"], lambda *_: None
    )
    assert "3" in sentence
    assert service.counts()["own"] == 3
    service.close()
