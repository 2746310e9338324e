"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

Change = Literal["same", "gone", "new"]


def differences(before: str, after: str) -> list[tuple[str, Change]]:
    """Pieces that make up both texts: without `new` the first, without `gone` the
    second."""
    old, new = _words(before), _words(after)
    pieces: list[tuple[str, Change]] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(("".join(new[j1:j2]), "same"))
            continue
        pieces += [("".join(old[i1:i2]), "gone"), ("".join(new[j1:j2]), "new")]
    return [(text, change) for text, change in pieces if text]


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)
