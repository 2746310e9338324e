"""Settings and keys: what the file says, what it cannot say, and the screens."""

import pytest
from textual.command import CommandList
from textual.widgets import Input, OptionList
from tui_helpers import drafted, gated_service, make_app, play, said, until

from edge_app.config.settings import Settings, read_settings
from edge_app.tui.keys import (
    ACTIONS,
    how_to_leave,
    key_of,
    resolved,
    use_keymap,
    ways_out,
    why_no_key,
)
from edge_app.tui.preferences import Preferences
from edge_app.tui.terminal import plain


@pytest.fixture(autouse=True)
def usual_keys():
    yield
    use_keymap({})


def test_a_key_goes_to_who_asks_and_who_loses_it_is_named():
    keymap, problems = resolved({"draft": "ctrl+r"})

    assert keymap == {"draft": "ctrl+r", "again": "f6"}
    assert problems == ["^R is the key of Draft now"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"draft": "ctrl+q", "again": "ctrl+c"},
        {"quit": "hyper+x", "leave": "ctrl+shift+y"},
        {"quit": "f3", "sent": "f3,ctrl+q", "leave": "super+q", "palette": "hyper+p"},
    ],
)
def test_a_key_always_leaves(wanted):
    """One that every terminal sends, whatever the file says."""
    keymap, problems = resolved(wanted)
    assert "ctrl+q" in keymap.get("quit", "ctrl+q").split(",")
    assert "ctrl+q" not in ",".join(v for k, v in keymap.items() if k != "quit")
    assert "^Q stays a key of Quit" in problems[-1]
    assert how_to_leave(keymap).split(" leaves")[0].split(" or ")[-1] == "^Q"
    assert ways_out(resolved({"quit": "f11", "leave": "hyper+x"})[0]) == ["f11"]


def test_the_keys_that_come_first_can_be_others_too(tmp_path):
    """They are caught, and do not leave meanwhile; how to leave is said."""
    settings = tmp_path / "settings.toml"
    app = make_app(
        gated_service(), tmp_path, preferences=Preferences(Settings(), settings)
    )

    async def steps(pilot):
        await pilot.press("alt+k", "end", "up", "enter", "ctrl+c")
        assert "^C is the key of Leave: give that another first" in said(app, "#result")
        await pilot.press("enter", "ctrl+p", "enter", "f11")
        assert said(app, "#result") == (
            "Quit has F11; ^C or F11 leaves, and Quit in ^P does"
        )
        await pilot.press("escape", "ctrl+q")
        assert app.is_running
        assert app.return_code is None
        await pilot.press("f11")
        assert app.return_code == 0

    play(app, steps)
    assert read_settings(settings).keys["quit"] == "f11"


def test_keys_can_be_swapped():
    keymap, problems = resolved({"draft": "ctrl+r", "again": "ctrl+j"})

    assert keymap["draft"], keymap["again"] == ("ctrl+r", "ctrl+j")
    assert problems == []


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"fly": "ctrl+b"}, "names no action 'fly'"),
        ({"draft": "b"}, "b is a letter of a text"),
        ({"draft": "ctrl+bogus"}, "there is no key 'ctrl+bogus'"),
        ({"draft": "enter"}, "Enter is needed for writing"),
        ({"draft": "f8", "again": "f8"}, "F8 is already the key of Draft"),
        ({"again": "f1,f5"}, "F1 is the key of Again now; Help has none"),
    ],
)
def test_what_cannot_be_is_said(wanted, sentence):
    assert sentence in "; ".join(resolved(wanted)[1])


def test_no_two_actions_share_a_key_and_each_could_be_bound():
    keymap, problems = resolved({one.id: one.keys for one in ACTIONS})

    assert (keymap, problems) == ({}, [])
    assert why_no_key("ctrl+enter") == ""


def test_another_key_works_and_every_word_names_it(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('[keys]\ndraft = "f9"\ncompare = "ctrl+b"\n')
    fake = gated_service()
    app = make_app(fake, tmp_path, preferences=Preferences(read_settings(path), path))

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        assert "F9 drafts it" in said(app, "#hint")
        await pilot.press("ctrl+j")
        assert not fake.requests
        await pilot.press("f9")
        await until(pilot, lambda: app.page.pane.editing)
        await pilot.press("alt+k")
        keys = app.screen.query_one(OptionList)
        keys.highlighted = [one.id for one in ACTIONS].index("again")
        await pilot.press("enter", "f9")
        assert "F9 is the key of Draft" in said(app, "#result")
        await pilot.press("enter", "ctrl+b")
        assert "^B is the key of Compare" in said(app, "#result")
        await pilot.press("enter", "ctrl+y")
        await pilot.pause()
        assert "Again has ^Y" in said(app, "#result")
        await pilot.press("escape", "ctrl+r")
        await pilot.press("f2", "escape")
        assert "^Y again" in said(app, "#hint")
        app.page.brief.focus_text()

    play(app, steps)
    assert read_settings(path).keys["again"] == "ctrl+y"
    assert key_of("again") == "^Y"
    assert len(fake.requests) == 1


def test_settings_are_changed_checked_and_kept(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("# mine\n")
    app = make_app(gated_service(), tmp_path, preferences=Preferences(path=path))

    def choose(name):
        options = app.screen.query_one(OptionList)
        names = [one and one.name for one in app.screen._listed]
        options.highlighted = names.index(name)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("alt+s")
        choose("method.strength")
        await pilot.press("enter")
        field = app.screen.query_one(Input)
        field.value = "much"
        await pilot.press("enter")
        assert "must be a number, not 'much'" in said(app, "#result")
        field.value = "1.5"
        await pilot.press("enter")
        assert "method.strength is 1.5" in said(app, "#result")
        assert app.writing.settings.strength == 1.5
        choose("ascii")
        await pilot.press("enter")
        assert app.preferences.ascii
        choose("reranker")
        await pilot.press("enter")
        field.value = "~/r.gguf"
        await pilot.press("enter")
        assert "from the next start on" in said(app, "#result")
        await pilot.press("delete", "slash", *"guard", "enter")
        shown = {one.name for one in app.screen._listed if one}
        assert {"guard", "guard_region"} <= shown
        headings = [one for one in app.screen._listed if one is None]
        assert len(headings) == len({one.group for one in app.screen._listed if one})
        await pilot.press("escape")
        assert app.screen is app.page
        app.theme = "nord"
        await pilot.pause()

    play(app, steps, (80, 24))
    assert path.read_text().startswith("# mine\n")
    settings = read_settings(path)
    assert (settings.method.strength, settings.ascii) == (1.5, True)
    assert (settings.reranker, settings.theme) == ("", "nord")


def test_a_theme_that_is_not_there_gives_way(tmp_path):
    app = make_app(
        gated_service(), tmp_path, preferences=Preferences(Settings(theme="gone"))
    )

    assert app.theme == "specsteer"


def test_signs_are_as_wide_in_ascii():
    signs = "╭─╮│ Löwe… “so” · ● → ▁▄█ ✗"

    assert plain(signs) == '+-+| Löwe. "so" - * >  ## x'
    assert len(plain(signs)) == len(signs)


def test_a_click_on_a_card_opens_its_drawer(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        for name in ("sources", "sent", "numbers"):
            await pilot.click(f"#{name}")
            assert name == app.screen.NAME
            await pilot.press("escape")

    play(app, steps, (100, 30))


def test_the_palette_names_the_keys(tmp_path):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        commands = list(app.get_system_commands(app.screen))
        assert "^J: write what the brief asks for" in [one.help for one in commands]
        titles = [one.title for one in commands]
        assert len(titles) == len(set(titles))
        await pilot.pause()

    play(app, steps)


def titles(commands):
    return [str(one.hit.text) for one in commands.options]


@pytest.mark.parametrize("behind", ["enter", "esc"])
def test_the_palette_runs_one_command_whatever_comes_behind_it(tmp_path, behind):
    """In the same moment, before the palette has done what it was told."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+p", *"Help")
        commands = app.screen.query_one(CommandList)
        await until(pilot, lambda: "Help" in titles(commands))
        commands.highlighted = titles(commands).index("Help")
        commands.action_select()
        if behind == "enter":
            commands.action_select()
        else:
            app.screen.dismiss()
        await pilot.pause()
        opened = len(app.screen_stack)
        assert opened == (2 if behind == "enter" else 1)
        assert app.screen_stack[0] is app.page

    play(app, steps)
