"""The page at every size: a measure that reads well, cards beside it or one line."""

from __future__ import annotations

import pytest
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.color import Color
from tui_helpers import drafted, gated_service, make_app, play, said, until

from edge_app.tui import preferences as themes

SIZES = [(200, 55), (120, 36), (100, 30), (80, 24), (60, 20), (45, 30), (40, 12)]


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(size, marks=[] if size[0] in (100, 40) else pytest.mark.slow)
        for size in SIZES
    ],
    ids=str,
)
def test_the_page_folds(tmp_path, size):
    """The letter has 68 to 76 columns where there are 80; the rail needs 100; no line
    of a card or of the page is wider than its place; a drawer works at any size."""
    width, height = size
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        sheet, rail = app.query_one("#sheet").region, app.query_one("#rail")
        measure = app.page.pane.editor.wrap_width
        assert rail.display is (width >= 100)
        assert app.query_one("#strip").display is (width < 100)
        if width >= 80:
            assert 68 <= measure <= 76
        else:
            assert measure >= width - 6
        room = width - (rail.region.width if rail.display else 0)
        assert abs(sheet.x - (room - sheet.right)) <= 1, "it stands in the middle"
        assert app.page.pane.region.height >= min(6, height - 7)
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is not app.page)
        box = app.screen.query_one("#box").region
        if width < 100:
            assert (box.width, box.height) == size
        else:
            assert box.x >= sheet.right - 25
            assert app.page.pane.region.x < box.x
        assert "2 stock phrases, 0 facts" in said(app, ".note")
        await pilot.press("escape", "f2", "down", "x", "escape")
        assert len(app.writing.excluded) == 1

    play(app, steps, size=size)


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
