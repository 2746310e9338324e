"""Every screen by the bytes of a terminal without modern keyboard protocols: Alt is ESC
before the key, arrows come in two forms, and what belongs together comes at once."""

import pytest
from test_tui_terminal import ctrl, draft
from test_tui_terminal import start as start
from tui_helpers import SECOND

from edge_app.tui.keys import ACTIONS, APP_ACTIONS

ESC, ENTER, DELETE = "\x1b", "\r", "\x1b[3~"
UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
KEYPAD_DOWN, KEYPAD_RIGHT, KEYPAD_LEFT = "\x1bOB", "\x1bOC", "\x1bOD"
F7, F9, F12 = "\x1b[18~", "\x1b[20~", "\x1b[24~"

MAIL = (
    "From - Sat Mar 02 10:00:00 2024\nFrom: Tess <tess@example.org>\n"
    "To: Ana <ana@example.org>\nSubject: tea\nX-Gmail-Labels: Sent\n\nTea is up.\n"
)


def alt(letter: str) -> str:
    """What Alt makes of a letter."""
    return ESC + letter


TABLE = [
    ("tone", F12, "How it is written"),
    ("another tone", KEYPAD_RIGHT * 2 + LEFT, "‹ warm ›"),
    ("a slider", DOWN * 2 + UP + KEYPAD_RIGHT, "closer to the checker"),
    ("preview", "p", "Struck: as it stands"),
    ("as it was", "r", "‹ as you write ›"),
    ("closed", ESC, "not How it is written"),
    ("typed", "Bye", "I will come.Bye"),
    ("compare", F9, "right: what was drafted"),
    ("with another", KEYPAD_LEFT, "right: version 1 · 5 differences"),
    ("take", " ", "4 differences"),
    ("put back", "u", "5 differences"),
    ("closed", ESC, "not 5 differences"),
    ("why", alt("w"), "Why this word"),
    ("other words", LEFT * 20 + RIGHT + KEYPAD_RIGHT, "│ thank "),
    ("closed", ESC, "not Why this word"),
    ("settings", alt("s"), "kept in "),
    ("search", "/ascii" + ENTER, "Draw borders"),
    ("change", ENTER, "ascii is true"),
    ("default", DELETE, "ascii is false"),
    ("closed", ESC, "not ascii is false"),
    ("keys", alt("k"), "enter another key"),
    ("wait", ENTER, "press a key for Draft"),
    ("a key", ctrl("b").decode(), "Draft has ^B"),
    ("the usual", DELETE, "Draft has ^J"),
    ("closed", ESC, "not enter another key"),
    ("library", ctrl("l").decode(), "Your drafts"),
    ("find", "photos weekend", "1 of 1 drafts have these words"),
    ("none", " xyzzy", "0 of 1 drafts have these words"),
    ("closed", ESC, "not drafts have these words"),
    ("reply", alt("r"), "No letter by others is here"),
    ("closed", KEYPAD_DOWN + DELETE, "not No letter by others is here"),
    ("import", ctrl("o").decode(), "file or folder"),
    ("looks", "sent.mbox" + ENTER, "enter reads this"),
    ("reads", ENTER, "10 letters of sent.mbox read"),
    ("closed", ESC, "not file or folder"),
    ("new", ctrl("n").decode() + "Another thing", "Another thing"),
    ("both", ctrl("l").decode(), "(2 versions)"),  # they are read in a thread
    ("and back", KEYPAD_DOWN + ENTER, "version 2 of 2"),
    ("earlier", F7, "version 1 of 2"),
]


def test_alt_with_any_key_types_nothing(start):
    """Those without an action do nothing at all; B and F move by a word, as in a shell;
    a digit takes another kind of text."""
    terminal = start()
    terminal.until("drafts it")
    bound = {key for one in (*ACTIONS, *APP_ACTIONS) for key in one.keys.split(",")}
    free = [one for one in map(chr, range(33, 127)) if f"alt+{one}" not in bound]
    others = "".join(alt(one) for one in free if one not in "bf[O")
    terminal.send(others + alt("2"))
    terminal.until("of Ana")
    terminal.send(alt("1") + " ten" + alt("b") + "At " + alt("f") + "!")
    terminal.until("14th. At ten!")
    terminal.send(ctrl("q"))
    assert terminal.end() == 0


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


def test_a_phone_shows_the_brief_its_hint_and_the_keys_of_a_dialog_whole(
    start, tmp_path
):
    """From the first picture on; and a toast leaves the keys of a dialog free."""
    (tmp_path / "sent.mbox").write_text(MAIL)
    terminal = start("fake.reading.set()", size=(45, 30))
    terminal.until("drafts it")
    terminal.until("Thank Ana for the photos. Say yes to the")
    assert terminal.screen.find("These are Tess's")[0] == 4
    terminal.send(ctrl("j"))
    terminal.until("edit anything")
    terminal.until("your letters")
    terminal.send(ctrl("o"))
    terminal.until("file or folder")
    terminal.send("sent.mbox" + ENTER)
    terminal.until("enter reads this")
    terminal.send(ENTER)
    terminal.until("▌ 10 letters of sent.mbox read")
    terminal.until("enter looks, then reads")
    terminal.until("reading goes on")
    terminal.send(ESC + ctrl("q").decode())
    assert terminal.end() == 0


@pytest.mark.slow
def test_every_screen_works_by_legacy_keys(start, tmp_path):
    """Row by row: the keys, and what they bring to the screen, or take from it."""
    (tmp_path / "sent.mbox").write_text(MAIL)
    terminal = start("fake.reading.set()", size=(120, 36))
    draft(terminal)
    terminal.send(ctrl("r"))
    terminal.until("version 2 of 2")
    terminal.until(SECOND[-11:])
    for _, keys, seen in TABLE:
        terminal.send(keys)
        if seen.startswith("not "):
            terminal.gone(seen.removeprefix("not "))
        else:
            terminal.until(seen)
    terminal.send(ctrl("q"))
    assert terminal.end() == 0
