"""The page, as a person uses it."""

from __future__ import annotations

import asyncio
import threading
from itertools import count
from random import Random

import pytest
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.app import App
from textual.color import Color
from textual.widgets import Input, Static
from tui_helpers import (
    FIRST_BLOCK,
    HOLD,
    SECOND,
    drafted,
    gated_service,
    make_app,
    play,
    said,
    until,
)
from tui_tapes import LETTER, REQUEST, plain_recording

from edge_app.service.requests import WriteRequest
from edge_app.tui import preferences as themes
from edge_app.tui.app import DRAWERS
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.page import next_step
from edge_app.tui.text import STATES, joined
from edge_app.tui.variant import Variant
from models.prompts import Request
from tests.waiting import until_true


def test_the_first_minute(tmp_path):
    """Draft, edit, another version, flip, compare, copy, save, overwrite."""
    fake = gated_service()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        assert app.page.editor.text == LETTER
        assert "edit anything" in next_step(app.writing)
        await pilot.press("!", "ctrl+r")
        await until(pilot, lambda: len(fake.requests) == 2 and app.page.editor.editing)
        assert app.page.editor.text == SECOND
        await pilot.press("f7")
        assert app.page.editor.text == LETTER + "!"
        assert app.writing.variant.edited[-1] == ("!", "typed")
        await compare(pilot)
        await pilot.press("alt+c")
        assert app.clipboard == LETTER + "!"
        await save(pilot)

    async def compare(pilot):
        await pilot.press("f9")
        assert "right: what was drafted" in said(app, ".note")
        await pilot.press("right")
        assert "left: version 1 · right: version 2" in said(app, ".note")
        await pilot.press("escape")

    async def save(pilot):
        await pilot.press("ctrl+s", "enter")
        assert (tmp_path / "email-ana.txt").read_text() == LETTER + "!\n"
        await pilot.press("f8", "ctrl+s")
        path = app.screen.query_one("#path", Input)
        assert path.value == str(tmp_path / "email-ana-2.txt")
        path.value = str(tmp_path / "email-ana.txt")
        await pilot.press("enter")
        assert "exists" in said(app, "#problem")
        await pilot.press("enter")

    play(app, steps)
    assert (tmp_path / "email-ana.txt").read_text() == SECOND + "\n"
    assert fake.requests[0].brief == REQUEST


def test_esc_or_a_typed_letter_ends_the_writing_at_once(tmp_path):
    """Only settled words stay; the letter stands behind them. Nobody waits for the
    service."""
    fake = gated_service(hold=HOLD + 7)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        editor = app.page.editor
        for way in ("stop", "Ok"):
            await pilot.press("ctrl+j")
            await until(pilot, lambda: fake.played > HOLD + 7)
            fake.recordings = [fake.recordings[0]]
            await until(pilot, lambda: " The" in editor.text)
            if way == "stop":
                app.page.action_stop()
                assert app.writing.service_busy
                assert editor.text == FIRST_BLOCK
            else:
                await pilot.press(*way)
                assert editor.text == FIRST_BLOCK + way
            await until(pilot, lambda: not app.writing.service_busy)
        edited = app.writing.variant.edited
        assert edited == [(FIRST_BLOCK, "kept"), ("Ok", "typed")]
        assert [one.text for one in app.writing.variants] == [
            FIRST_BLOCK,
            FIRST_BLOCK + "Ok",
        ]

    play(app, steps)


def test_an_empty_brief_is_not_sent_and_problems_become_toasts(tmp_path):
    fake = gated_service()
    fake.problem = "The model [file] is broken: download it again."
    app = make_app(fake, tmp_path, first_request=None)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        assert not app.writing.variants
        await pilot.press(*"hi", "ctrl+t")
        app.query_one("#recipient", Input).value = "Bo"
        await drafted(pilot)
        assert fake.problem in [toast.message for toast in app._notifications]
        assert app.page.editor.text == LETTER
        assert "offline" in str(app.query_one("#server", Static).render())
        # The reason stays on the page until the next action.
        await pilot.press("a")
        assert app.page.editor.text == LETTER + "a"
        assert said(app, "#reason") == fake.problem
        assert app.query_one("#reason", Static).display
        await pilot.press("escape")
        assert not app.query_one("#reason", Static).display

    play(app, steps)
    assert fake.requests[0].brief == Request("hi", "email", "Bo")
    assert fake.requests[0].offline


def test_a_long_text_stays_where_it_was_read_when_it_ends(tmp_path):
    """The view follows the writing until the person scrolls; so does the editor."""
    fake = gated_service()
    fake.recordings = [plain_recording("It was a long walk. " * 150)]
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        editor = app.page.editor
        await until(pilot, lambda: editor.scroll_y == editor.max_scroll_y > 20)
        await scroll_up(pilot)

    async def scroll_up(pilot):
        view = editor = app.page.editor
        fake.gates = {500: threading.Event()}
        await pilot.press("ctrl+r")
        await until(pilot, lambda: view.following and view.scroll_y > 10)
        await until(pilot, lambda: fake.played > 500)
        await pilot.press("pageup")
        row = view.scroll_y
        assert row < view.max_scroll_y
        fake.gates[500].set()
        await until(pilot, lambda: app.page.editor.editing)
        await until(pilot, lambda: editor.scroll_y == row)

    play(app, steps)


SIZES = [(200, 55), (120, 36), (100, 30), (80, 24), (60, 20), (45, 30), (40, 12)]


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda t: t.name)
def test_colours_are_the_same_with_256(theme):
    """Each is an entry of the palette; Rich takes for some greys the one beside it."""
    for name in ("primary", "secondary", "accent", "warning", "error", "success",
                 "foreground", "background", "surface", "panel"):  # fmt: skip
        wanted = Color.parse(getattr(theme, name))
        shown = TerminalColor.parse(wanted.hex).downgrade(ColorSystem.EIGHT_BIT)
        pairs = zip(shown.get_truecolor(), wanted.rgb, strict=True)
        away = [one - other for one, other in pairs]
        assert len(set(away)) == 1, name
        assert abs(away[0]) <= 10, name


def test_a_terminal_that_says_it_is_light_is_believed():
    light, dark = themes.LIGHT.name, themes.DARK.name
    assert themes.fitting({"COLORFGBG": "0;15"}) == light
    assert themes.fitting({"COLORFGBG": "0;default;15"}) == light
    for said_so in ({}, {"COLORFGBG": "15;0"}, {"COLORFGBG": "x"}):
        assert themes.fitting(said_so) == dark


PIECES = [" a", " letter", "ing", ".\n\n", " 漢字", " ", "unbreakably" * 4, "\t", ""]


class EditorApp(App):
    CSS = "DraftEditor { height: 12; border: none; }"

    def compose(self):
        yield DraftEditor(lambda *_: None)


def version(runs):
    made = Variant(WriteRequest(REQUEST))
    made.edited = runs
    return made


def test_words_that_come_are_drawn_as_if_all_had_come_at_once():
    """Rows and looks, whatever gives way to what."""

    async def fuzz():
        random, app, known = Random(1), EditorApp(), []
        async with app.run_test(size=(40, 12)) as pilot:
            editor = app.query_one(DraftEditor)
            for step in range(40):
                if step % 20 == 0:
                    await pilot.resize_terminal(random.randint(12, 60), 12)
                kept = known[: random.randint(max(0, len(known) - 9), len(known))]
                more = random.choices(PIECES, k=random.randint(0, 9))
                known = kept + [(piece, random.choice(STATES)) for piece in more]
                editor._rewrite(known)
                assert editor.runs() == joined(known)
                rows = editor.wrapped_document.lines
                drawn = [editor.render_line(y) for y in range(12)]
                editor.wrapped_document.wrap(editor.wrap_width, editor.indent_width)
                editor._line_cache.clear()
                assert editor.wrapped_document.lines == rows
                assert [editor.render_line(y) for y in range(12)] == drawn

    asyncio.run(fuzz())


def test_a_frame_comes_however_late_its_timer_is_looked_at(tmp_path, monkeypatch):
    """On a busy machine more than a frame passes between two lines of Textual's timer,
    which then takes the only call for one that is to be skipped."""
    app, done = make_app(gated_service(), tmp_path), []

    async def steps(pilot):
        late = count(step=0.04)
        with monkeypatch.context() as patch:
            patch.setattr("textual.timer._time.get_time", lambda: next(late))
            app.writing.background.post(lambda: done.append(app.screen))
            await until_true(lambda: bool(done), "for the frame")

    play(app, steps)


def test_a_drawer_that_is_not_mounted_yet_is_told_nothing_and_closes_once(tmp_path):
    """What came is applied meanwhile, and shown when it is mounted; a choice that comes
    late, behind the key that closed it, ends no app."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        for name in DRAWERS:
            app.action_drawer(name)
            drawer = app.screen
            assert drawer is not app.page
            app.writing.background.post(lambda: None)
            app.page.tick()
            await pilot.pause()
            drawer.dismiss()
            drawer.dismiss()
            await until(pilot, lambda: app.screen is app.page)

    play(app, steps)
