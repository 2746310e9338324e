"""Every field of every screen, found by itself, with whatever a person may paste."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_tui_terminal import start  # noqa: F401 (a fixture)
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea
from tui_helpers import drafted, gated_service, make_app, play, until

from edge_app.tui.app import DRAWERS, SpecSteerApp
from edge_app.tui.journal import JournalFolder
from tests.hostile import HOSTILE, MARK, dangers, dangers_in_terminal

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


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 36), (40, 12)])
@pytest.mark.parametrize("name", STRINGS)
def test_no_field_falls_over_any_string(tmp_path, name, size):
    assert walk_through(tmp_path, STRINGS[name], size)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=400))
def test_no_field_falls_over_random_text(tmp_path_factory, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("random"))
        walk_through(Path.cwd(), text)


STEPS = """
from test_tui_fields import fields, screens
from textual.binding import Binding
from textual.widgets import Input

def every_field():
    "One field after the other, focused and empty."
    yield from fields(app)
    for name, show in screens(app).items():
        show()
        yield None
        for number in range(len(fields(app))):
            if app.screen is app.page:
                show()
                yield None
            yield fields(app)[number]
        while app.screen is not app.page:
            app.screen.dismiss()
            yield None

class NextField:
    def __init__(self):
        self.fields, self.count = every_field(), 0
    def step(self):
        self.count += 1
        try:
            field = next(self.fields)
        except StopIteration:
            self.fields, field, name = every_field(), None, "end"
        else:
            shown = type(app.screen).__name__
            name = "none" if field is None else f"{shown} {field.id}"
        if field is not None:
            app.screen.set_focus(field)
            field.clear() if isinstance(field, Input) else field.select_all()
        # Said behind all that was pasted before, which is drawn by then.
        app.call_after_refresh(
            lambda: Path("at").write_text(f"{self.count} {name}")
        )

following = NextField()
async def hand_on(event, before=app._keys._hand_on):
    if getattr(event, "key", "") == "f12":  # when all before it is done
        following.step()
    else:
        await before(event)
app._keys._hand_on = hand_on
"""
F12, END, BACKSPACE, ENTER = b"\x1b[24~", b"\x1b[F", b"\x7f", b"\r"


def fill_in_terminal(start, folder, texts) -> tuple[str, set[str]]:  # noqa: F811
    """What the app wrote to a terminal while each text was pasted into every field, and
    the fields' names."""
    terminal = start(STEPS, size=(100, 30))
    terminal.until("own server")
    terminal.send(b"\x0a")
    terminal.until("edit anything")
    place, names, step = folder / "at", set(), 0
    for text in texts:
        name = ""
        while name != "end":
            step += 1
            terminal.send(F12)
            terminal.until(
                lambda step=step: (
                    place.exists() and place.read_text().startswith(f"{step} ")
                )
            )
            name = place.read_text().partition(" ")[2]
            if name not in ("none", "end"):
                names.add(name)
                # A terminal takes the end of a paste out of what is pasted.
                terminal.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")
                terminal.send(END + b"x" + BACKSPACE + ENTER)
    terminal.send(b"\x11")
    assert terminal.end() == 0
    return terminal.output.decode(errors="replace"), names


@pytest.mark.slow
def test_nothing_that_is_pasted_steers_the_terminal(start, tmp_path):  # noqa: F811
    """As bytes through a pseudo-terminal, and what comes back byte for byte."""
    output, names = fill_in_terminal(start, tmp_path, [ALL])
    assert {"Page request", "Page editor", "SaveDialog path"} <= names
    assert output.count(MARK) > 3
    assert dangers_in_terminal(output) == []


@pytest.mark.slow
def test_no_string_steers_the_terminal(start, tmp_path):  # noqa: F811
    output, _ = fill_in_terminal(start, tmp_path, STRINGS.values())
    assert dangers_in_terminal(output) == []
