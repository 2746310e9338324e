"""The language of a request by its script or its commonest words, and a notice if the
model writes another.

It is a guess, made to be silent if it is not sure: a short text, a mixed one, a
language that stands in no list.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

from decoding_core.errors import ModelError
from models.files import locate
from models.gguf_header import read_layout

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
NAMES: dict[str, str] = _TABLE["names"]
_SCRIPTS: dict[str, str] = _TABLE["scripts"]
_WORDS = {code: frozenset(words.split()) for code, words in _TABLE["words"].items()}
_LEAST = 3  # how many common words tell a language, with fewer of any other
_LONGEST = 2000  # letters that are looked at


def language_of(text: str) -> str | None:
    """The code of the language of a text; None if that is not clear."""
    text = text[:_LONGEST].casefold()
    letters = [letter for letter in text if letter.isalpha()]
    scripts = Counter(
        unicodedata.name(letter, "").split(" ")[0] for letter in letters if letter > "ʯ"
    )
    if scripts:
        found = {_SCRIPTS.get(script.split("-")[0]) for script in scripts}
        foreign = sum(scripts.values())
        if 2 * foreign > len(letters):
            if "ja" in found:  # with Chinese signs, too
                return "ja"
            return _SCRIPTS.get(scripts.most_common(1)[0][0].split("-")[0])
    words = re.findall(r"[^\W\d_]+", text)
    counts = Counter(
        {code: sum(word in common for word in words) for code, common in _WORDS.items()}
    )
    (first, most), (_, second) = counts.most_common(2)
    return first if most >= _LEAST and most > second else None


def languages_of(model: Path) -> frozenset[str] | None:
    """The codes of the languages that a model writes; None if it does not say."""
    if model == locate("specialist"):
        return frozenset(["en"])
    try:
        said = read_layout(model).values.get("general.languages")
    except (ModelError, OSError):
        return None
    return frozenset(map(str, said)) if isinstance(said, list) and said else None


def word_on_languages(model: Path, request: str) -> str | None:
    """A sentence if the request is in a language that the model does not write."""
    asked = language_of(request)
    if asked in (None, "en"):
        return None
    writes = languages_of(model)
    if writes is None or asked in writes:
        return None
    known = " and ".join(sorted(NAMES.get(code, code) for code in writes))
    return (
        f"your request seems to be in {NAMES[str(asked)]}: the small model writes "
        f"{known}; 'specsteer models' finds others"
    )
