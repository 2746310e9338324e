"""Strings that attack a terminal, and a look at what reached it.

What counts as an attack is said here by Unicode's categories, apart from the code.
"""

from __future__ import annotations

import re
import unicodedata

CLIPBOARD = "\x1b]52;c;SE9TVElMRQ==\x07"
TITLE = "\x1b]0;HOSTILE\x07"
CURSOR = "\x1b[13;37H"
BLANK = "\x1b[2J"
C1 = "\x9b13;37H\x9d52;c;SE9TVElMRQ==\x9c"
OVERWRITE = "\rFORGED\x08\x08"
REORDER = "\u202eFORGED\u202c\u2066\u2067FORGED\u2069"
UNSEEN = "\ufeff\U000e0041\u2064"
MARK = "HOSTILE"
"""Stands beside each attack, so that a test knows that the string was shown."""

ATTACKS = (
    CLIPBOARD, TITLE, CURSOR, BLANK, C1, OVERWRITE, REORDER, UNSEEN,
    "\x7f", "\x05", "\x0e", "\u2028",
)  # fmt: skip
HOSTILE = MARK + "".join(f"{attack}{MARK}" for attack in ATTACKS)

_FORMATS = "\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2061, 0x2070), *range(0xE0000, 0xE0080)))
)


def dangers(text: str, *, terminal: bool = False) -> list[str]:
    """Pieces of `text` that steer, reorder or hide, with what stands around them.

    `terminal`: a terminal's driver writes each new line as CR LF.
    """
    if terminal:
        text = text.replace("\r\n", "\n")
    return [
        repr(text[max(0, at - 20) : at + 20])
        for at, letter in enumerate(text)
        if is_danger(letter)
    ]


def is_danger(letter: str) -> bool:
    if letter in "\n\t":
        return False
    return unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in (
        _FORMATS
    )


_OURS = re.compile(
    r"\x1b\[[0-9;]*m"  # looks
    r"|\r?\x1b\[[0-9]*;?[0-9]*[ABCDEFGHK]"  # moves of the cursor, erasing a line
    r"|\x1b\[\?[0-9]+(?:[hl]|\$p)"  # modes of the terminal
    r"|\x1b\[[<>][0-9]*u"  # the keyboard's
    r"|\x1b\]22;[a-z]*\x07"  # the shape of the mouse's pointer
)
"""What click, rich and Textual write by themselves."""


def dangers_in_terminal(text: str) -> list[str]:
    """As `dangers`, but for what our own programs' looks and moves of the cursor are
    written with. The numbers of an attack are never ours."""
    attacks = [attack for attack in (CLIPBOARD, CURSOR, BLANK, C1) if attack in text]
    return [*map(repr, attacks), *dangers(_OURS.sub("", text), terminal=True)]
