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
_NOT_WORD = re.compile(r"\W+")
# Of ASCII alone, as most texts are, a table is several times faster than a pattern.
_ASCII_TERMS = {code: " " for code in range(128) if not chr(code).isalnum()}
_ASCII_WORDS = {code: " " for code in _ASCII_TERMS if chr(code) != "_"}

Shingles = frozenset[tuple[str, ...]]


def tokens(text: str) -> list[str]:
    """Lower-cased words of a text; runs of unspaced script as overlapping pairs."""
    if text.isascii():
        return text.lower().translate(_ASCII_TERMS).split()
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
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
    both = len(one & other)
    union = len(one) + len(other) - both
    return both / union if union else 0.0


def normalised(text: str) -> str:
    """Words only, lower-case: for asking whether two texts say the same.

    Part of the keys of records: its results must never change.
    """
    if text.isascii():
        return " ".join(text.lower().translate(_ASCII_WORDS).split())
    plain = unicodedata.normalize("NFKC", text)
    return _NOT_WORD.sub(" ", plain).strip().casefold()
