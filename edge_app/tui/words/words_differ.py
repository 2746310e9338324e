"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

Change = Literal["same", "gone", "new"]


def differences(before: str, after: str) -> list[tuple[str, Change]]:
    """Pieces that make up both texts: without `new` the first, without `gone` the
    second. One word that two changes have between them changes with them: two sentences
    share an `is`, and word by word neither could be read."""
    old, new = _words(before), _words(after)
    pieces: list[tuple[str, Change]] = []
    gone = come = ""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    codes = matcher.get_opcodes()
    for at, (tag, i1, i2, j1, j2) in enumerate(codes):
        same = "".join(new[j1:j2])
        if tag == "equal" and (at in (0, len(codes) - 1) or len(same.split()) > 1):
            pieces += [(gone, "gone"), (come, "new"), (same, "same")]
            gone = come = ""
            continue
        gone, come = gone + "".join(old[i1:i2]), come + same
    pieces += [(gone, "gone"), (come, "new")]
    return [(text, change) for text, change in pieces if text]


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)
