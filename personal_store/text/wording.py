"""Texts as words, for asking whether two of them say the same."""

import re
import unicodedata

_NOT_WORD = re.compile(r"\W+")
_MANY_ODD = 64
_SHARP_S = "ß"


def normalised(text: str) -> str:
    """Words only, lower-case: for asking whether two texts say the same.

    Part of the keys of records: its results must never change.
    """
    return _of_latin(text) or _of_any(text)


def _of_latin(text: str) -> str:
    """What `_of_any` gives, in a fifth of the time, for most texts in the letters of
    western Europe; empty where it cannot tell."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return ""
    if len(data.translate(None, _TELLS_MORE)) < len(data):
        return ""
    words = b" ".join(data.translate(_LATIN).split()).decode("latin-1")
    return words.replace(_SHARP_S, "ss")


def _of_any(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    odd = {char for char in set(text) if not (char.isalnum() or char == "_")}
    if len(odd) > _MANY_ODD:
        return _NOT_WORD.sub(" ", text).strip().casefold()
    for char in odd:  # some of these are several times faster than one pattern
        text = text.replace(char, " ")
    return " ".join(text.split()).casefold()


_SINGLE = {code: _of_any(chr(code)) or " " for code in range(256)}
"""What becomes of each character of Latin-1; most become one of it again."""
_TELLS_MORE = bytes(
    code
    for code, becomes in _SINGLE.items()
    if not (becomes == "ss" or (len(becomes) == 1 and ord(becomes) < 256))
)
_LATIN = bytes(
    ord(becomes) if len(becomes) == 1 and ord(becomes) < 256 else code
    for code, becomes in _SINGLE.items()
)
