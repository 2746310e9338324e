"""The language of a text by its script or its commonest words.

It is a guess, made to be silent if it is not sure: a short text, a mixed one, a
language that stands in no list.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
NAMES: dict[str, str] = _TABLE["names"]
"""The English name of each language by its code."""
_SCRIPTS: dict[str, str] = _TABLE["scripts"]
COMMON: dict[str, list[str]] = {}
"""In which languages a common word stands."""
for _code, _words in _TABLE["words"].items():
    for _word in dict.fromkeys(_words.split()):
        COMMON.setdefault(_word, []).append(_code)
_LEAST = 3  # how many common words tell a language, with fewer of any other
_LONGEST = 2000  # letters that are looked at
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str | None:
    """The code of the language of a text; None if that is not clear."""
    text = text[:_LONGEST].casefold()
    scripts = Counter(
        unicodedata.name(letter, "").split(" ")[0]
        for letter in ("" if text.isascii() else text)
        if letter > "ʯ" and letter.isalpha()
    )
    if scripts:
        found = {_SCRIPTS.get(script.split("-")[0]) for script in scripts}
        foreign = sum(scripts.values())
        if 2 * foreign > sum(letter.isalpha() for letter in text):
            if "ja" in found:  # with Chinese signs, too
                return "ja"
            return _SCRIPTS.get(scripts.most_common(1)[0][0].split("-")[0])
    counts = Counter[str]()
    for word in _WORD.findall(text):
        for code in COMMON.get(word, ()):
            counts[code] += 1
    (first, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first if most >= _LEAST and most > second else None
