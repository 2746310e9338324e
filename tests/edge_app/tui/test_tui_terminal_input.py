"""What a terminal sends, cut anywhere: none of a paste is a key; Alt types nothing."""

import string

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from edge_app.tui.keys import ACTIONS, APP_ACTIONS
from edge_app.tui.screens.save import SaveDialog
from edge_app.tui.terminal import put_right

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


@pytest.mark.parametrize(
    ("sent", "key", "typed"),
    [
        ("\x1b[49;3u", "alt+1", None),
        ("\x1b[49;3;49u", "alt+1", None),
        ("\x1b[97;3;229u", "å", "å"),  # what a Mac composes is a text
        ("\x1b[49;;49u", "1", "1"),
        ("\x1b\r", "alt+enter", None),
        ("\x1b\x7f", "alt+backspace", None),
        ("\x1b[1;3D", "alt+left", None),
        ("\x1bOP", "f1", None),
    ],
)
def test_keys_of_the_newer_protocol_and_longer_ones(sent, key, typed):
    """What begins with ESC and is more than Alt with a character stays what it is."""
    assert [(one.key, one.character) for one in keys_of(sent)] == [(key, typed)]


def test_every_alt_key_of_the_app_comes_from_a_terminal():
    """An action whose key no older terminal can send has none there."""
    bound = {key for one in (*ACTIONS, *APP_ACTIONS) for key in one.keys.split(",")}
    bound |= {key for one in SaveDialog.BINDINGS for key in one.key.split(",")}
    characters = [*map(chr, range(32, 127)), "\r"]
    sent = {keys_of(f"\x1b{character}")[0].key for character in characters}

    assert {key for key in bound if key.startswith("alt+")} <= sent
