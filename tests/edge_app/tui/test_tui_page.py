"""The page, as a person uses it."""

from __future__ import annotations

import asyncio
import threading
from itertools import count, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
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

from edge_app.tui import preferences as themes
from edge_app.tui.app import DRAWERS
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.page import next_step
from edge_app.tui.screens.pane import DraftView, rows_after
from edge_app.tui.text import STATES
from models.prompts import Request
from tests.waiting import until_true


def test_the_first_minute(tmp_path):
    """Draft, edit, another version, flip, compare, copy, save, overwrite."""
    fake = gated_service()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        assert app.page.pane.editor.text == LETTER
        assert "edit anything" in next_step(app.writing, samples=True)
        await pilot.press("!", "ctrl+r")
        await until(pilot, lambda: len(fake.requests) == 2 and app.page.pane.editing)
        assert app.page.pane.editor.text == SECOND
        await pilot.press("f7")
        assert app.page.pane.editor.text == LETTER + "!"
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


def test_esc_leaves_only_settled_words_at_once(tmp_path):
    fake = gated_service(hold=HOLD + 7)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: " The" in app.page.pane.view.texts)
        app.page.action_stop()
        assert app.page.pane.editor.text == FIRST_BLOCK
        assert app.writing.service_busy, "nobody waited for the service"
        await until(pilot, lambda: not app.writing.service_busy)
        assert app.writing.variant.text == FIRST_BLOCK

    play(app, steps)


def test_a_typed_letter_ends_the_writing_and_stands_in_the_text(tmp_path):
    fake = gated_service(hold=HOLD)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > HOLD)
        await pilot.press("O", "k")
        assert app.page.pane.editor.text == FIRST_BLOCK + "Ok"
        assert app.writing.variant.edited == [(FIRST_BLOCK, "kept"), ("Ok", "typed")]

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
        assert app.page.pane.editor.text == LETTER
        assert "offline" in str(app.query_one("#server", Static).render())

    play(app, steps)
    assert fake.requests[0].brief == Request("hi", "email", "Bo")
    assert fake.requests[0].offline


def test_the_editor_keeps_where_words_came_from():
    """Through typing, deleting, pasting and undoing."""
    runs = [("Dear Ana,\n\nat", "kept"), (" Whitby", "replaced"), (" we met", "kept")]

    class EditorApp(App):
        def compose(self):
            yield DraftEditor("editor")

    async def edit():
        app = EditorApp()
        async with app.run_test(size=(40, 12)) as pilot:
            editor = app.query_one(DraftEditor)
            editor.show_runs(runs)
            assert editor.runs() == runs
            editor.move_cursor((0, 4))
            await pilot.press(*"st")
            assert editor.runs()[1] == ("st", "typed")
            editor.delete((0, 8), (2, 0))
            assert editor.runs()[-2:] == runs[1:]
            await pilot.press(*["ctrl+z"] * 3)
            assert editor.text == "".join(text for text, _ in runs)
            assert runs[1] in editor.runs()

    asyncio.run(edit())


def test_a_long_text_stays_where_it_was_read_when_it_ends(tmp_path):
    """The view follows the writing until the person scrolls; so does the editor."""
    fake = gated_service()
    fake.recordings = [plain_recording("It was a long walk. " * 150)]
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        editor = app.page.pane.editor
        await until(pilot, lambda: editor.scroll_y == editor.max_scroll_y > 20)
        await scroll_up(pilot)

    async def scroll_up(pilot):
        view, editor = app.page.pane.view, app.page.pane.editor
        fake.gates = {500: threading.Event()}
        await pilot.press("ctrl+r")
        await until(pilot, lambda: view.following and view.scroll_y > 10)
        await until(pilot, lambda: fake.played > 500)
        await pilot.press("pageup")
        row = view.scroll_y
        assert row < view.max_scroll_y
        fake.gates[500].set()
        await until(pilot, lambda: app.page.pane.editing)
        await until(pilot, lambda: editor.scroll_y == row)

    play(app, steps)


SIZES = [(200, 55), (120, 36), (100, 30), (80, 24), (60, 20), (45, 30), (40, 12)]


def test_the_brief_grows_to_what_it_needs(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        brief = app.query_one("#request")
        await until(pilot, lambda: brief.size.height == 1)
        brief.text = "Say this. " * 30
        await until(pilot, lambda: brief.size.height == 4)
        brief.text = "Say this. " * 300
        await until(pilot, lambda: brief.size.height == 8)
        brief.text = ""
        await until(pilot, lambda: brief.size.height == 1)

    play(app, steps, size=(120, 36))


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


PIECES = [
    " a",
    " letter",
    "ing",
    ".\n\n",
    " 漢字",
    "漢字漢",
    " ",
    "unbreakably" * 4,
    "",
]
texts = st.lists(st.sampled_from(PIECES), max_size=60)


class ViewApp(App):
    CSS = "DraftView { overflow-y: scroll; }"

    def compose(self):
        yield DraftView("view")


def rows_of(pieces, starts):
    """The rows as strings."""
    places = [*starts, (len(pieces), 0)]
    flat = [(w, o, c) for w, text in enumerate(pieces) for o, c in enumerate(text)]
    return [
        "".join(c for w, o, c in flat if first <= (w, o) < last)
        for first, last in pairwise(places)
    ]


@given(texts, st.integers(4, 30))
def test_rows_fit_and_make_up_the_text(pieces, width):
    rows = rows_of(pieces, [(0, 0), *rows_after(pieces, (0, 0), width)])

    assert "".join(rows) == "".join(pieces)
    assert all(cell_len(row.rstrip()) <= width for row in rows)


@given(texts, texts, st.integers(4, 30))
def test_wrapping_on_from_the_last_row_equals_wrapping_all(before, after, width):
    starts = [(0, 0), *rows_after(before, (0, 0), width)]

    starts += rows_after(before + after, starts[-1], width)

    assert starts == [(0, 0), *rows_after(before + after, (0, 0), width)]


def test_random_rewriting_equals_drawing_all():
    """Rows, strips and states are the same as in a view that got all at once."""

    async def fuzz():
        random = Random(1)
        app = ViewApp()
        async with app.run_test(size=(40, 12)) as pilot:
            view = app.query_one(DraftView)
            for step in range(100):
                if step % 50 == 0:
                    await pilot.resize_terminal(random.randint(12, 60), 12)
                    await pilot.pause()
                rewrite(view, random)
                check(view)
                if step % 10 == 0:
                    await pilot.pause()

    def rewrite(view, random):
        first = random.randint(max(0, len(view.texts) - 10), len(view.texts))
        kept = list(zip(view.texts[first:], view.states[first:], strict=True))
        kept = [
            (text, random.choice(STATES)) for text, _ in kept[: random.randint(0, 9)]
        ]
        pieces = random.choices(PIECES, k=random.randint(0, 9))
        view.rewrite(first, kept + [(text, random.choice(STATES)) for text in pieces])

    def check(view):
        starts = list(view._starts)
        drawn = [view.render_line(y) for y in range(12)]
        view._wrap(0)
        assert view._starts == starts
        assert [view.render_line(y) for y in range(12)] == drawn

    asyncio.run(fuzz())


def test_the_editor_breaks_lines_where_the_view_did():
    """The text does not jump when the view is swapped for the editor."""
    text = "The quick brown fox jumps over the lazy dog again and again. " * 20

    class Both(App):
        CSS = """DraftView, DraftEditor { height: 1fr; padding: 0; overflow-y: scroll; }
                 DraftView, DraftEditor { scrollbar-size-vertical: 1; }"""

        def compose(self):
            yield DraftView("view")
            yield DraftEditor("editor")

    async def look():
        app = Both()
        for width in (30, 37):
            async with app.run_test(size=(width, 60)) as pilot:
                app.query_one(DraftView).rewrite(0, [(text, "kept")])
                app.query_one(DraftEditor).show_runs([(text, "kept")])
                view, editor = app.query_one(DraftView), app.query_one(DraftEditor)
                both = (view, editor)
                await until(pilot, lambda both=both: all(one.size for one in both))
                rows = rows_of(view.texts, view._starts)
                wrapped = editor.wrapped_document.get_sections(0)
                assert [row.rstrip() for row in rows if row.strip()] == [
                    row.rstrip() for row in wrapped if row.strip()
                ]
            app = Both()

    asyncio.run(look())


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


@pytest.mark.parametrize("name", DRAWERS)
def test_a_drawer_that_is_not_mounted_yet_is_told_nothing(tmp_path, name):
    """What came is applied meanwhile, and shown when it is mounted."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        app.action_drawer(name)
        assert app.screen is not app.page
        app.writing.background.post(lambda: None)
        app.page.tick()
        await pilot.press("escape")

    play(app, steps)
