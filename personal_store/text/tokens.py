"""Text to search terms, and to words for asking whether two texts say the same."""

import re
import unicodedata
from collections.abc import Sequence

# Scripts written without spaces: kana, Han, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

_FEW_MARKS = 64

Shingles = frozenset[tuple[str, ...]]


def tokens(text: str) -> list[str]:
    """Lower-cased words of a text; runs of unspaced script as overlapping pairs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    characters = set(folded)
    if not _UNSPACED_RUN.search("".join(characters)):
        # Some replacements of one character are several times faster than one pattern.
        marks = [mark for mark in characters if not mark.isalnum()]
        if len(marks) <= _FEW_MARKS:
            for mark in marks:
                folded = folded.replace(mark, " ")
            return folded.split()
    return _by_runs(folded)


def _by_runs(folded: str) -> list[str]:
    found: list[str] = []
    for run in _RUN.findall(folded):
        if len(run) > 1 and _UNSPACED_RUN.match(run):
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.append(run)
    return found


def shingles(terms: Sequence[str], width: int = 3) -> Shingles:
    """Every run of `width` terms; a shorter text is one shingle."""
    last = max(1, len(terms) - width + 1)
    return frozenset(tuple(terms[i : i + width]) for i in range(last))


def overlap(one: Shingles, other: Shingles) -> float:
    """Jaccard similarity of two sets of shingles, 0 to 1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


_NOT_WORD = re.compile(r"\W+")
_SHARP_S = "ß"


def normalised(text: str) -> str:
    """Words only, lower-case: for asking whether two texts say the same.

    Part of the keys of records: its results must never change.
    """
    return _of_latin(text) or _of_any(text)


def _of_latin(text: str) -> str:
    """What `_of_any` gives, in a fifth of the time, for most texts in the letters of
    western Europe; empty if it cannot say."""
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
    if len(odd) > _FEW_MARKS:
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
