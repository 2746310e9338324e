"""What a terminal sends, cut anywhere: none of a paste is a key."""

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from edge_app.tui.terminal_input import put_right

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
