"""The page as a picture: two sizes, with colours and without."""

import asyncio
import time

import pytest
from tui_helpers import gated_service, make_app, still, until
from tui_tapes import REQUEST, letter_recording

from edge_app.tui.picture import picture

SIZES = [(120, 36), (80, 24)]
HELD = 40  # a word is underlined, others wait


@pytest.fixture(autouse=True)
def universal_time(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "size", [SIZES[0], pytest.param(SIZES[1], marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "no_color", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_page_while_drafting(snap_compare, tmp_path, monkeypatch, size, no_color):
    """Replaced words are underlined, waiting ones slanted, refused ones struck."""
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    fake = gated_service(hold=HELD)
    app = make_app(fake, tmp_path, clock=still)

    async def before(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > HELD)
        await until(pilot, lambda: not app.writing.threads.inbox)
        app.page.refresh_all()
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)
    app.writing.close()


def test_page_before_the_first_draft(snap_compare, tmp_path):
    """The brief is filled with a sample, and the page says what to press."""
    app = make_app(gated_service(), tmp_path, clock=still)

    async def before(pilot):
        await until(pilot, lambda: app.writing.ready and bool(app.writing.counts))
        app.page.refresh_all()
        await pilot.pause()

    assert snap_compare(app, terminal_size=(80, 24), run_before=before)
    app.writing.close()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["f2", "f3"])
def test_drawer(snap_compare, tmp_path, key):
    """A drawer over the finished letter, on a small screen."""
    fake = gated_service()
    app = make_app(fake, tmp_path, clock=still)

    async def before(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.page.pane.editing)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(fake.requests) == 2 and app.page.pane.editing)
        await until(pilot, lambda: not app.writing.service_busy)
        if key == "f2":
            await pilot.press("f7")
        app.page.refresh_all()
        await pilot.press(key)
        await pilot.pause()

    assert snap_compare(app, terminal_size=(80, 24), run_before=before)
    app.writing.close()


def test_the_picture_of_a_recording_shows_its_letter():
    drawn = asyncio.run(picture(letter_recording(), REQUEST, (120, 36)))

    assert drawn.startswith("<svg")
    assert "Whitby" in drawn
