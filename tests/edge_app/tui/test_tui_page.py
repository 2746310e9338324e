"""The page, as a person uses it."""

import asyncio
import threading

from test_tui_variant import LETTER
from test_tui_writing import FIRST_BLOCK, HOLD
from textual.app import App
from textual.widgets import Input, Static
from tui_helpers import SECOND, drafted, gated_service, make_app, play, said, until
from tui_tapes import REQUEST, plain_recording

from edge_app.tui.keys import ACTIONS
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.page import next_step
from models.prompts import Request


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


def test_keys_can_be_changed_and_every_action_is_in_the_palette(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        app.set_keymap({"draft": "ctrl+g"})
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: app.page.pane.editing)
        commands = {c.title: c for c in app.get_system_commands(app.screen)}
        assert {action.label for action in ACTIONS} <= commands.keys()
        commands["Again"].callback()
        await until(pilot, lambda: len(app.writing.variants) == 2)

    play(app, steps)


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
