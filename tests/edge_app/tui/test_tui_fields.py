"""Every field of every screen, found by itself, with whatever a person may paste."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.events import Paste
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static, TextArea
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
from edge_app.tui.app import DRAWERS, SpecSteerApp
from edge_app.tui.journal import JournalFolder
from models.prompts import Request
from tests.hostile import HOSTILE, MARK, dangers
from tests.waiting import PATIENCE

pytestmark = pytest.mark.usefixtures("drawn_when_asked")

STRINGS = {
    "a folder of nobody": "~x/",
    "a closing tag": "[/b]",
    "a tag that does something": "[@click=app.quit]x[/][/x]",
    "300 letters": "n" * 300,
    "lines": "one\ntwo\r\nthree\rfour\n\n",
    "control characters": HOSTILE,
    "a zero byte": "a\0b",
    "right to left": "שלום عليكم \u200fabc\u200e (x) שלום",
    "wide": "日本語のテキスト" * 20,
    "combining": "e\u0301\u0323\u0308" * 60,
    "joined": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪" * 8,
    "nothing to see": "\u200b\u200d\u2060\ufeff\u0301",
    "a path out": "../../../../etc/passwd",
    "patterns": "*?[a-z]{0}%s%(x)s$HOME`ls`\\",
    "a search": '" OR NEAR( AND -- ; DROP',
    "a number": "-1e999",
    "quotes": "'\"“”«»",
    "tabs": "\ta\tb\t",
}
ALL = "".join(STRINGS.values())
"""All of them in one paste."""


@pytest.fixture(autouse=True)
def saved_here(tmp_path, monkeypatch):
    """What is typed where a path is asked for may be one."""
    monkeypatch.chdir(tmp_path)


def screens(app: SpecSteerApp) -> dict[str, object]:
    """What opens each screen that lies over the page, by its name."""
    return {
        **{name: lambda name=name: app.action_drawer(name) for name in DRAWERS},
        "save": app.page.action_save,
        "palette": app.action_command_palette,
    }


def fields(app: SpecSteerApp) -> list[Input | TextArea]:
    """Fields of the top screen that take a paste."""
    found = app.screen.query("Input, TextArea").results(Input | TextArea)
    return [one for one in found if one.visible and one.can_focus and not one.disabled]


def drawn(app: SpecSteerApp) -> str:
    """The letters that go to the terminal, row by row."""
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip) for strip in rows)


async def fill(pilot: Pilot, text: str, *, field: Input | TextArea) -> None:
    """Paste a text in the place of what a field holds, type on, and press Enter, as
    fast as a terminal may send it."""
    app = pilot.app
    field.focus()
    await pilot.pause()
    if isinstance(field, Input):
        field.clear()
    else:
        field.select_all()
    app.post_message(Paste(text))
    for key in ("left", "x", "backspace", "end", "backspace", "enter"):
        app.simulate_key(key)
    await pilot.pause()
    assert dangers(drawn(app)) == [], field


async def walk(pilot: Pilot, text: str) -> list[str]:
    """Fill every field of every screen; their names."""
    app, filled = pilot.app, []
    for field in fields(app):
        await fill(pilot, text, field=field)
        filled.append(f"page {field.id}")
    for name, show in screens(app).items():
        show()
        await pilot.pause()
        for number in range(len(fields(app))):
            if app.screen is app.page:  # what was entered has closed it
                show()
                await pilot.pause()
            field = fields(app)[number]
            filled.append(f"{name} {field.id}")
            await fill(pilot, text, field=field)
        while app.screen is not app.page:
            app.screen.dismiss()
            await pilot.pause()
    assert not app.page.writing.problem
    return filled


def walk_through(folder, text: str, size=(80, 24)) -> list[str]:
    """The fields that took a text in an app of their own."""
    journals = JournalFolder(folder / "drafts")
    app = make_app(gated_service(), folder, journals=journals)
    filled: list[str] = []

    async def steps(pilot: Pilot) -> None:
        await drafted(pilot)
        filled.extend(await walk(pilot, text))
        await until(pilot, lambda: app.writing.ready)

    play(app, steps, size=size)
    assert app.return_code in (None, 0)
    return filled


def test_no_field_falls_over_a_paste(tmp_path):
    """The brief, the recipient, the text, every drawer's and dialog's field."""
    filled = walk_through(tmp_path, ALL)
    wanted = {"page request", "page recipient", "page editor", "save path"}
    assert wanted | {"sources search", "import path"} <= set(filled)


TRAP = f"[/x][@click=app.quit]{HOSTILE}"
IPV6 = "http://[::1]:8765/v1/sessions"


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


def test_every_screen_is_calm_and_what_is_copied_is_no_command(tmp_path):
    """Cards, drawers, toasts, the editor; all rows that the terminal is given. Pasted
    into a shell, an escape sequence would be a command. Brackets are no markup."""
    path = tmp_path / f"[/x]{HOSTILE}".replace("\r", "")
    app = make_app(
        hostile_service(), tmp_path, first_request=Request(TRAP, "email", TRAP)
    )

    async def steps(pilot):
        await drafted(pilot)
        await until(pilot, lambda: "the end" in drawn(app))
        seen = [drawn(app)]
        for key in [
            "f2",
            "f3",
            "f4",
            "f9",
            "f12",
            "alt+r",
            "ctrl+l",
            "ctrl+o",
            "ctrl+p",
        ]:
            await pilot.press(key)
            seen.append(drawn(app))
            if key == "f3":
                app.screen.query_one(DataTable).move_cursor(row=0)
                await pilot.press("enter")
                assert IPV6 in said(app, "#text"), "brackets are no markup"
                seen.append(drawn(app))
            if key == "ctrl+p":
                await pilot.press("escape")
        assert [dangers(rows) for rows in seen] == [[]] * len(seen)
        assert sum(MARK in rows for rows in seen) >= 4
        await pilot.press("escape", "alt+c")
        assert "the end" in app.clipboard
        assert MARK in app.clipboard
        assert dangers(app.clipboard) == []
        app.copy_to_clipboard(HOSTILE)  # as from a field that is selected
        assert dangers(app.clipboard) == []
        await pilot.press("ctrl+s")
        app.screen.query_one("#path").value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.page)
        message = [note.message for note in app._notifications][-1]
        assert message.startswith("saved to ")
        assert "[/x]" in message
        assert dangers(message) == []

    play(app, steps, size=(120, 36))
    text = path.read_bytes().decode()
    assert "\ufffd[2J\tthe end" in text
    assert dangers(text) == []


def test_the_gate_keeps_the_width_of_a_row_and_no_notification_is_markup(tmp_path):
    """A character that takes no cell gives way to none, so that nothing is moved;
    whoever notifies, no markup is read."""
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
        for sender in (app, app.page, app.page.editor):
            sender.notify(TRAP, timeout=PATIENCE, markup=True)
        await pilot.pause()
        assert [note.markup for note in app._notifications] == [False] * 3
        assert not any(dangers(note.message) for note in app._notifications)

    play(app, steps)


@pytest.mark.slow
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([*STRINGS.values()])
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=400),
    st.sampled_from([(120, 36), (80, 24), (40, 12)]),
)
def test_no_field_falls_over_any_text(tmp_path_factory, text, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("random"))
        walk_through(Path.cwd(), text, size)
