"""What is not ours, on the screens: it steers nothing and is no markup."""

import asyncio

from textual.geometry import Region
from textual.widgets import DataTable, Static
from tui_helpers import drafted, gated_service, make_app, play, said, until
from tui_tapes import SOURCES, letter_recording, token_id

from edge_app.decoding.events import (
    Finished,
    Notice,
    Sent,
    Settled,
    SourcesFound,
    Statistics,
    Token,
)
from models.prompts import Request
from tests.hostile import HOSTILE, MARK, dangers
from tests.waiting import PATIENCE

TRAP = f"[/x][@click=app.quit]{HOSTILE}"
IPV6 = "http://[::1]:8765/v1/sessions"


def screen(app):
    """The letters that go to the terminal, row by row."""
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip) for strip in rows)


def hostile_service():
    """Letters, a server and a text that are all hostile."""
    made = gated_service()
    texts = ["Dear", f" {TRAP}", "\x1b", "[2J", "\tthe", " end"]
    titled = [
        SOURCES[0].__class__(7, TRAP, 2.0, {"words": 1.0}, f"{TRAP}\r\n{HOSTILE}"),
        SOURCES[1].__class__(8, f"email to {TRAP}, 2024-08-19: x", 1.0, {}, TRAP),
    ]
    made.recordings = [
        [
            SourcesFound(tuple(titled)),
            Sent(1e9, f"{IPV6}{HOSTILE}", TRAP, 9, (), HOSTILE.encode()),
            Notice(TRAP),
            *(Settled((Token(token_id(text), text, "accepted"),)) for text in texts),
            Finished("end", Statistics()),
        ],
        letter_recording(),
    ]
    made.server = TRAP
    return made


def test_every_screen_is_calm(tmp_path):
    """Cards, drawers, toasts, the editor; all rows that the terminal is given."""
    app = make_app(
        hostile_service(), tmp_path, first_request=Request(TRAP, "email", TRAP)
    )

    async def steps(pilot):
        await drafted(pilot)
        await until(pilot, lambda: "the end" in screen(app))
        seen = [screen(app)]
        for key in (
            "f2",
            "f3",
            "f4",
            "f9",
            "f12",
            "alt+r",
            "ctrl+l",
            "ctrl+o",
            "ctrl+p",
        ):
            await pilot.press(key)
            seen.append(screen(app))
            if key == "f3":
                app.screen.query_one(DataTable).move_cursor(row=0)
                await pilot.press("enter")
                assert IPV6 in said(app, "#text"), "brackets are no markup"
                seen.append(screen(app))
            if key == "ctrl+p":
                await pilot.press("escape")
        assert [dangers(rows) for rows in seen] == [[]] * len(seen)
        assert sum(MARK in rows for rows in seen) >= 4

    play(app, steps, size=(120, 36))


def test_a_path_with_brackets(tmp_path):
    """In the drawer for letters, the dialog to save, and what is said afterwards."""
    path = f"[/x]{HOSTILE}".replace("\r", "")
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("ctrl+o")
        app.screen.query_one("#path").value = str(tmp_path / path)
        await pilot.press("enter")
        shown = str(app.screen.query_one("#result", Static).render())
        assert "there is no" in shown
        assert path[:4] in shown
        await pilot.press("escape", "ctrl+s")
        app.screen.query_one("#path").value = str(tmp_path / path)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.page)
        message = [note.message for note in app._notifications][-1]
        assert message.startswith("saved to ")
        assert path[:4] in message
        assert dangers(message) == []

    play(app, steps)
    assert (tmp_path / path).read_text().startswith("Dear")


def test_a_notification_is_never_markup(tmp_path):
    """Whoever sends it: the app, a screen, a widget."""
    app = make_app(gated_service(), tmp_path)

    async def steps():
        async with app.run_test(size=(120, 60), notifications=True) as pilot:
            for sender in (app, app.page, app.page.pane):
                sender.notify(TRAP, timeout=PATIENCE)
            sender.notify(TRAP, markup=True, timeout=PATIENCE)
            await until(pilot, lambda: screen(app).count("[/x]") == 4)
            assert not any(note.markup for note in app._notifications)
            assert dangers(screen(app)) == []

    try:
        asyncio.run(steps())
    finally:
        app.writing.close()


def test_the_gate_keeps_the_width_of_a_row(tmp_path):
    """A character that takes no cell gives way to none, so that nothing is moved."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        shown = Static(f"é\u200d日本{HOSTILE}end", markup=False)
        await app.page.mount(shown)
        await pilot.pause()
        for strip in shown.render_lines(Region(0, 0, *shown.size)):
            assert strip.cell_length == shown.size.width
            copy = type(strip)(list(strip))  # measures its text anew
            assert copy.cell_length == strip.cell_length
            assert dangers(strip.text) == []

    play(app, steps)


def test_what_is_copied_or_saved_is_no_command(tmp_path):
    """Pasted into a shell, an escape sequence would be one; what the page could not
    show is in no file either."""
    app = make_app(hostile_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("alt+c")
        assert "the end" in app.clipboard
        assert MARK in app.clipboard
        assert dangers(app.clipboard) == []
        app.copy_to_clipboard(HOSTILE)  # as from a field that is selected
        assert dangers(app.clipboard) == []
        await pilot.press("ctrl+s")
        app.screen.query_one("#path").value = str(tmp_path / "letter.txt")
        await pilot.press("enter")

    play(app, steps)
    text = (tmp_path / "letter.txt").read_bytes().decode()
    assert "\ufffd[2J\tthe end" in text
    assert dangers(text) == []


def test_every_kind_of_line_end(tmp_path):
    """A text area knows more of them than there are; the page must not fall."""
    made = gated_service()
    text = "one\rtwo\r\nthree\u2028four\x0bfive\x85six\x1cseven"
    settled = Settled((Token(1, text, "accepted"),))
    made.recordings = [[settled, Finished("end", Statistics())]]
    app = make_app(made, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await until(pilot, lambda: "seven" in screen(app))
        assert app.page.pane.editor.text.startswith("one\ntwo\nthree\nfour\ufffd")

    play(app, steps)
