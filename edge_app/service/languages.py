"""The language of a text by its script or its commonest words, and a notice if the
model writes another.

It is a guess, made to be silent if it is not sure: a short text, a mixed one, a
language that stands in no list.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

from decoding_core.errors import ModelError
from models.files import locate
from models.gguf_header import read_header

NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "pt": "Portuguese", "nl": "Dutch", "sv": "Swedish", "da": "Danish", "pl": "Polish",
    "ru": "Russian", "el": "Greek", "he": "Hebrew", "ar": "Arabic", "hi": "Hindi",
    "th": "Thai", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
}  # fmt: skip
_COMMON = {
    "en": "the and to of is that for you with have this are not will be please my "
          "your it we can was at from thank",
    "de": "der die das und ist nicht ich du sie wir mit für auf ein eine den dem zu "
          "von bitte danke dass auch wie es im am ihr mir dir schreibe",
    "fr": "le la les et est pas je tu nous vous avec pour dans un une des du que qui "
          "au merci sur mon ma votre bonjour écris",
    "es": "el la los las y es no yo con para por un una que del se su mi gracias muy "
          "hola escribe está usted lo",
    "it": "il lo la gli e è non io con per un una che del di sono mi grazie molto ciao "
          "scrivi della nel si",
    "pt": "o os as e é não eu com para por um uma que do da se meu obrigado muito olá "
          "escreve está você ao",
    "nl": "de het en is niet ik jij wij met voor op een dat van te bedankt ook naar "
          "mijn schrijf aan er",
    "sv": "och att det är inte jag du vi med för på en ett som tack av till skriv",
    "da": "og at det er ikke jeg du vi med for på en et som tak af til skriv",
    "pl": "i w nie jest to się na z do że dziękuję jak dla mój proszę napisz",
}  # fmt: skip
_WORDS = {code: frozenset(words.split()) for code, words in _COMMON.items()}
_SCRIPTS = {
    "CYRILLIC": "ru", "GREEK": "el", "HEBREW": "he", "ARABIC": "ar",
    "DEVANAGARI": "hi", "THAI": "th", "HANGUL": "ko", "HIRAGANA": "ja",
    "KATAKANA": "ja", "CJK": "zh",
}  # fmt: skip
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
        said = read_header(model).get("general.languages")
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
