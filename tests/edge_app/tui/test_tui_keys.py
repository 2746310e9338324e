"""What a terminal sends, cut anywhere: none of a paste is a key; Alt types nothing."""

from __future__ import annotations

import string

import pytest
from textual._xterm_parser import XTermParser
from textual.command import CommandList
from textual.events import Key, Paste
from textual.widgets import Input, OptionList
from tui_helpers import gated_service, make_app, play, said, until

from edge_app.config.settings import read_settings
from edge_app.tui.keys import ACTIONS, APP_ACTIONS, key_of, resolved, use_keymap
from edge_app.tui.preferences import Preferences
from edge_app.tui.screens.save import SaveDialog
from edge_app.tui.terminal import put_right
from tests.terminals import ctrl

pytestmark = pytest.mark.usefixtures("drawn_when_asked")

SENT = (
    "a\x1b[200~red \x1b[31m" + "and a line of more than thirty letters\n\x11\x1b\x13"
    "\x1b[20\x1b\x1b[201~b\x1b[D\x1b[200~x\x1b[201~"
)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 7, 1000])
def test_none_of_a_paste_is_a_key(length):
    """Textual reads what stands behind an ESC in it as keys, such as Ctrl-Q."""
    put_right()
    parser = XTermParser()
    pieces = [SENT[at : at + length] for at in range(0, len(SENT), length)]

    events = [event for piece in pieces for event in parser.feed(piece)]

    assert [one.key for one in events if isinstance(one, Key)] == ["a", "b", "left"]
    first, second = (one.text for one in events if isinstance(one, Paste))
    assert first.startswith("red \ufffd[31mand a line")
    assert first.endswith("letters\n\x11\ufffd\x13\ufffd[20\ufffd")
    assert second == "x"


def keys_of(sent):
    """The keys that the bytes of a terminal are read as, once nothing more comes."""
    put_right()
    parser = XTermParser()
    found = [*parser.feed(sent), *parser.feed("")]
    return [event for event in found if isinstance(event, Key)]


@pytest.mark.parametrize("character", [*map(chr, range(32, 127)), *"§é€ß"])
def test_alt_types_nothing(character):
    """ESC and a character is Alt with its key, whatever Textual's table says."""
    (key,) = keys_of(f"\x1b{character}")

    assert key.key.startswith("alt+")
    assert not key.is_printable
    if character not in "[O§é€ß":  # behind the others the rest of a sequence may come
        typed = string.ascii_letters * 2
        behind = keys_of(f"\x1b{character}{typed}")
        assert behind[0].key == key.key
        assert "".join(one.character for one in behind[1:]) == typed


def test_every_alt_key_of_the_app_comes_from_a_terminal():
    """An action whose key no older terminal can send has none there."""
    bound = {key for one in (*ACTIONS, *APP_ACTIONS) for key in one.key.split(",")}
    bound |= {key for one in SaveDialog.BINDINGS for key in one.key.split(",")}
    characters = [*map(chr, range(32, 127)), "\r"]
    sent = {keys_of(f"\x1b{character}")[0].key for character in characters}

    assert {key for key in bound if key.startswith("alt+")} <= sent


ESC, DELETE = "\x1b", "\x1b[3~"


def test_typing_is_taken_wherever_the_cursor_is_and_dialogs_show_their_keys(start):
    """On an empty page what is typed into the text goes into the brief; on a narrow
    screen the keys of a dialog stand whole below it, and the palette's key is shown;
    Del throws a draft away from behind the words that were searched for."""
    terminal = start(size=(46, 30))
    terminal.until("drafts it")
    terminal.until("^P palette")
    terminal.send("\tAt ten")
    terminal.until("14th.At ten")
    terminal.send(ctrl("p") + b"Screenshot")
    terminal.until("No matches found")
    terminal.send(ESC)
    terminal.gone("No matches found")
    terminal.send(ctrl("n") + b"Another thing")
    terminal.until("Another thing")
    terminal.send(ctrl("l"))
    terminal.until("throws it away")
    terminal.until("email · Ana")
    terminal.send("weekend")
    terminal.until("1 of 2 drafts")
    terminal.send(DELETE)
    terminal.until("del once more")
    terminal.send(DELETE)
    terminal.until("0 of 1 drafts")
    terminal.send(ESC + ctrl("q").decode())
    assert terminal.end() == 0


@pytest.fixture(autouse=True)
def usual_keys():
    yield
    use_keymap({})


def test_a_key_goes_to_who_asks_and_who_loses_it_is_named():
    keymap, problems = resolved({"draft": "ctrl+r"})

    assert keymap == {"draft": "ctrl+r", "again": "f6"}
    assert problems == ["^R is the key of Draft now"]


def test_a_key_always_leaves():
    """One that every terminal sends, whatever the file says."""
    for wanted in (
        {"draft": "ctrl+q", "again": "ctrl+c"},
        {"quit": "hyper+x", "leave": "ctrl+shift+y"},
        {"quit": "f3", "sent": "f3,ctrl+q", "leave": "super+q", "palette": "hyper+p"},
    ):
        keymap, _ = resolved(wanted)
        assert "ctrl+q" in keymap.get("quit", "ctrl+q").split(",")
        assert "ctrl+q" not in ",".join(v for k, v in keymap.items() if k != "quit")
    assert resolved({"quit": "f11"})[0] == {"quit": "f11,ctrl+q"}


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"fly": "ctrl+b"}, "names no action 'fly'"),
        ({"draft": "b"}, "b is a letter of a text"),
        ({"draft": "ctrl+bogus"}, "there is no key 'ctrl+bogus'"),
        ({"draft": "ctrl+q"}, "^Q is already the key of Quit"),
        ({"draft": "enter"}, "Enter is needed for writing"),
        ({"draft": "f8", "again": "f8"}, "F8 is already the key of Draft"),
        ({"again": "f1,f5"}, "F1 is the key of Again now; Help has none"),
    ],
)
def test_what_cannot_be_is_said(wanted, sentence):
    assert sentence in "; ".join(resolved(wanted)[1])


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
        await until(pilot, lambda: app.page.editor.editing)
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
        options.highlighted = options.get_option_index(name)

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
        options = app.screen.query_one(OptionList).options
        assert {"guard", "guard_region"} <= {one.id for one in options}
        assert sum(one.disabled for one in options) == 1, "a heading for the group"
        await pilot.press("escape")
        assert app.screen is app.page
        app.theme = "nord"
        await pilot.pause()

    play(app, steps, (80, 24))
    assert path.read_text().startswith("# mine\n")
    settings = read_settings(path)
    assert (settings.method.strength, settings.ascii) == (1.5, True)
    assert (settings.reranker, settings.theme) == ("", "nord")


def titles(commands):
    return [str(one.hit.text) for one in commands.options]


def test_the_palette_runs_one_command_whatever_comes_behind_it(tmp_path):
    """In the same moment, before the palette has done what it was told."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        for behind in ("esc", "enter"):
            await pilot.press("ctrl+p", *"Help")
            commands = app.screen.query_one(CommandList)
            await until(pilot, lambda of=commands: "Help" in titles(of))
            commands.highlighted = titles(commands).index("Help")
            commands.action_select()
            if behind == "enter":
                commands.action_select()
            else:
                app.screen.dismiss()
            await pilot.pause()
            assert len(app.screen_stack) == (2 if behind == "enter" else 1)
            assert app.screen_stack[0] is app.page

    play(app, steps)
