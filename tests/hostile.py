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
    r"|\x1b\[\??[0-9;]*[ABCDHJKhlu]"  # the cursor, erasing, modes
)


def dangers_in_terminal(text: str) -> list[str]:
    """As `dangers`, but a program's own looks and moves of the cursor may be there,
    except with the numbers that an attack has."""
    attacks = [attack for attack in ATTACKS if attack in text]
    left = _OURS.sub("", text)
    return [*map(repr, attacks), *dangers(left, terminal=True)]
