"""Words as the guard compares them, and which of them many writers use.

A word is a run of letters and digits, without case and accents, so that `ANA`, `Ana's`
and `Ána` share one. Scripts without blanks, such as Japanese and Thai, have runs of
many words; one ends where another script begins.

Common words and phrases were counted in the texts that the embedded pair was trained
on: a word in at least 12 of them, mostly in lower case, so that names are left out; a
phrase of four words that at least 8 writers use. As those texts hold no modern letters,
formulas of these were written down by hand (`courtesies.txt`). A dictionary, as CRC-32
of each word in `dictionary.bin`, has 21,000 rarer words: in 3 of the texts and more,
mostly in lower case.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from math import log2

import numpy as np

RUN = 4  # words of the shortest phrase that is looked at
NO_BLANKS = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
    r"\u17d7\u17dc\u17dd\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ef\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U0003ffff"
)
"""Letters of scripts without blanks: Thai, Lao, Burmese, Khmer, kana and Han."""
_MARKS = "\xad\ufeff" + "".join(
    char
    for char in map(chr, range(0x300, 0xFE30))
    if unicodedata.category(char) in ("Mn", "Mc", "Cf")
)
"""What stands within a word beside letters: accents, vowel signs, soft hyphens."""
_WORD = re.compile(
    rf"[^\W_{NO_BLANKS}](?:[^\W_{NO_BLANKS}]|[{_MARKS}])*"
    rf"|[{NO_BLANKS}](?:[{NO_BLANKS}]|[{_MARKS}])*"
)
_UNSPACED = re.compile(f"[{NO_BLANKS}]")
_OTHER: dict[int, str | int | None] = {
    ord("þ"): "th",
    ord("æ"): "ae",
    ord("œ"): "oe",
    # Letters that differ by keyboard or by their place in a word; katakana.
    **str.maketrans("øłđðıךםןףץىیکة", "olddiכמנפציيكه", "ـ"),
    **{code: code - 0x60 for code in range(0x30A1, 0x30F7)},
}
_WEAK, _FAMILIAR = 150, 5_000
"""A phrase says nothing of its writer by itself if all its words but one are among the
150 commonest, and that one among the 5,000 commonest."""
_GUESSED = 6.0
"""Bits of a word that whoever writes a sentence has guessed anyway: what is commoner
than about the sixth of all words tells nothing."""
_PLACE_OF_NAME, _PLACE_OF_KNOWN, _PLACE_OF_RARE = 1_200, 20_000, 60_000
"""By frequency, of what the list of common words has no place for."""
_BITS_OF_DIGIT = log2(10)
_CLITICS = frozenset(("i", "m", "s", "t", "d", "ll", "ve", "re"))
"""Words so common that they tell nothing, which the list has in other forms."""
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "est", "ness")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text and where it stands."""

    start: int
    end: int
    text: str  # as it is written
    folded: str  # as it is compared


@lru_cache(20_000)
def fold(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold()).translate(_OTHER)
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char
        for char in parts
        if not unicodedata.combining(char) and unicodedata.category(char) != "Cf"
    )


def is_unspaced(word: str) -> bool:
    """Whether a word is a run of letters of a script that has no blanks."""
    return not word.isascii() and _UNSPACED.match(word) is not None


_PARTICLES = fold(
    "이가 이는 이를 이랑 이도 이의 가 이 은 는 을 를 와 과 랑 하고 도 만 의 에게 "
    "에게서 한테 한테서 께 께서 에 에서 야 아 여 씨 님 네 로 으로 보다 처럼 까지 부터 "
    "조차 마저 "
    "입니다 이에요 예요 라고 라는 군 양 선생님"
).split()
_BEFORE = re.compile(r"[והבלמשכ]{1,3}|[وف]?(?:[بكلس]|[بك]?ال|لل)|[وف]")
_BEHIND = re.compile(
    rf"(?:{'|'.join(_PARTICLES)}){{1,2}}"
    r"|(?<=[а-я]{2})(?:ами|ями|ого|ому|ои|еи|ом|ем|ым|им|ых|ов|ев|[аяуюыиеоь])"
    r"|(?<=[α-ω]{3})(?:ους|οσ|ου|ον|ασ|ησ|εσ|ων|[οαηειυ])"
)


@lru_cache(20_000)
def stems_of(word: str) -> tuple[str, ...]:
    """A folded word without what is written together with it: prepositions and
    articles of Hebrew and Arabic, Korean particles, Slavic and Greek endings."""
    if word.isascii():
        return ()
    sizes = range(1, min(len(word), 10) - 1)
    return (
        *(word[size:] for size in sizes if _BEFORE.fullmatch(word, 0, size)),
        *(word[:-size] for size in sizes if _BEHIND.fullmatch(word, len(word) - size)),
    )


def words_of(text: str, start: int = 0) -> list[Word]:
    """The words of a text from `start` on, in its order."""
    return [
        Word(found.start(), found.end(), found[0], fold(found[0]))
        for found in _WORD.finditer(text, start)
    ]


@cache
def common_words() -> dict[str, int]:
    """Words that many writers use, and their places by frequency."""
    place: dict[str, int] = {}
    for line in _data("common_words.txt").decode().split():
        for part in line.split("'"):
            place.setdefault(part, len(place))
    return place


@cache
def known_names() -> frozenset[str]:
    """Proper names of no person: days, countries, cities, feasts, makers."""
    return frozenset(fold(word) for word in _data("known_names.txt").decode().split())


@cache
def _hashes(name: str) -> frozenset[int]:
    """The CRC-32 in a file."""
    return frozenset(np.frombuffer(_data(name), "<u4").tolist())


@cache
def given_names() -> frozenset[str]:
    """First names that are common words too."""
    return frozenset(_data("given_names.txt").decode().split())


@lru_cache(20_000)
def is_common(word: str) -> bool:
    """Whether many writers use this folded word, or one that it is a form of."""
    common = common_words()
    if word in common or word in known_names():
        return True
    return any(
        word.endswith(ending)
        and len(word) - len(ending) > 3  # of shorter ones too much is a form
        and (word[: -len(ending)] in common or word[: -len(ending)] + "e" in common)
        for ending in _ENDINGS
    )


def is_in_dictionary(word: str) -> bool:
    """Whether some writers use this folded word: not made up, hardly a name."""
    return is_common(word) or zlib.crc32(word.encode()) in _hashes("dictionary.bin")


@lru_cache(20_000)
def bits_of(word: str) -> float:
    """Bits that a folded word tells, by Zipf's law: the word in place r has the share
    1/10r; 0 for what anybody would have guessed."""
    if word in _CLITICS:
        return 0.0
    if word.isdigit():
        return _BITS_OF_DIGIT * len(word)
    place = common_words().get(word)
    if place is None and word in known_names():
        place = _PLACE_OF_NAME
    if place is None:
        place = _PLACE_OF_KNOWN if is_in_dictionary(word) else _PLACE_OF_RARE
    return max(0.0, log2(10 * (place + 1)) - _GUESSED)


@cache
def _courtesies() -> frozenset[tuple[str, ...]]:
    """Every `RUN` words of the formulas of letters."""
    found: set[tuple[str, ...]] = set()
    for line in _data("courtesies.txt").decode().splitlines():
        words = [word.folded for word in words_of(line)]
        found.update(zip(*(words[i:] for i in range(RUN)), strict=False))
    return frozenset(found)


def is_common_phrase(phrase: Sequence[str]) -> bool:
    """Whether many writers use these `RUN` folded words in this order."""
    if tuple(phrase) in _courtesies():
        return True
    places = sorted(common_words().get(word, _FAMILIAR) for word in phrase)
    if places[-1] < _FAMILIAR and places[-2] < _WEAK:
        return True
    return zlib.crc32(" ".join(phrase).encode()) in _hashes("common_phrases.bin")


def _data(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()


# ruff: noqa: E501 (tables of words)


def _topic(name: str) -> re.Pattern[str]:
    """A pattern of whole words in all languages; a blank in one is any gap."""
    languages = tomllib.loads(_data("topics.toml").decode())[name]
    words = " ".join(languages.values()).split()
    pattern = rf"\b(?:{'|'.join(words).replace('_', '[ -]?')})\b"
    return re.compile(pattern, re.IGNORECASE)


MONEY = _topic("money")
BIRTH = _topic("birth")
OPENS = _topic("opens")
_IS = (
    r"(?:[:=]|\b(?:is|was|are|be|remains|reads|says|lautet|ist|hei(?:ß|ss)t|war|est|[ée]tait|es|era|è|é|foi|"
    r"luidt|jest|brzmi|(?<=has[łl]o )to))"
)
_SAID_BEHIND = re.compile(
    rf"{OPENS.pattern}(?:[ ]+[\w'’\-]+){{0,6}}?[ ]*{_IS}[\s\"“”„«'‘]*"
    r"(?P<said>[^\W_]+(?:[ \-][^\W_]+){0,5})",
    re.IGNORECASE,
)
_SAID_BEFORE = re.compile(
    r"(?P<said>[^\W_]+(?:[ \-][^\W_]+){0,3})[\"”“»'’]? (?:is|was|remains|ist|est|es|è|é|jest|to) "
    rf"(?:[\w'’]+ ){{1,3}}?{OPENS.pattern}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„«‘]([^\W_]+(?:[ \-][^\W_]+){0,5})[\"”“»’]")
_GOES_ON = re.compile(
    r"(?: |^)(?:and|but|so|please|if|when|because|as|which|for|at|in|on|und|aber|bitte|et|mais|y|pero|e|ma|mas|en|maar|i|ale|proszę)(?: .*|$)",
    re.IGNORECASE | re.DOTALL,
)
ILL = _topic("ill")
_ILLNESS = re.compile(
    r"(?:\w*(?:krebs|kanker)|cancer|cancro|rak[ai]?|tumou?r|tumeur|\w*[ck]ar[cz]inom|melanom|l[iy](?:m|n)(?:ph|f)om|"
    r"leu[ck]a?em|leukam|bialaczk|diab[e]?t|cukrzyc|zucker?krank|epilep|padaczk|asth?ma|demen[tcz]|alzheimer|parkinson|"
    r"depress|depresj|bipolar|(?:e?s[ck]|sk)h?izo|autis|ad[hd]{2}|anore[xk]|bulimi|hiv|aids|sida|[h]?epatit|arth?rit|"
    r"artret|rh?eumat|(?:e?s[ck]l?|sk)eros|esclero|sclero|stroke|schlaganfall|ictus|beroert|infar[ck]t|zawal|angina|"
    r"th?rombo|embol|anaemi|anemi|[h]?[iy]pertens|bluthochdruck|nadcisnien|migr[ae]|emicran|ulcer|geschwur|wrzod|colitis|"
    r"colite|crohn|co?eliac|zoliak|celiach|h[iy]poth?[iy]r|schilddrus|tarczyc|psoria|luszczyc|e[ck]z[ec]m|glau[ck]om|cataract|katarakt|"
    r"endometrio|miscarr|fehlgeburt|aborto|poron|pregnan|schwanger|enceinte|embaraz|incinta|gravid|zwanger|ciaz|"
    r"p?neumon|lungenentz|polmonit|tuber[ck]ul|lupus|fibrom|osteop|[cz]irr?h?o[sz]|gallst|insulin|ch[ei]mi?o|quimio|"
    r"kemoth|disorder|syndrom|gout|gicht|gotta|clots?|dial[yi]s|dializ|biops|herpes|[ck]hlamyd|s[iy](?:ph|f)il|gonor|al[ck]oh?oli|ptsd|fertil|infertil|ivf|\w{3,}(?:osis|itis|idos[ei]))\w{0,8}"
)
NEAR = 45  # characters between a word that tells and what it tells of
_WORDS_NEAR = 12
_SENTENCES = re.compile(r"[^.!?…\n]+")
_USUAL = 5.0  # bits of a word that says nothing of an illness beside it


def is_illness(folded: str) -> bool:
    """Whether a word names an illness, a treatment or a pregnancy."""
    return _ILLNESS.fullmatch(folded) is not None


def secret_words(text: str) -> Iterator[list[str]]:
    """Folded words that a private text says open something, also in quotes beside."""
    if not OPENS.search(text):
        return
    said = [
        found["said"]
        for one in (_SAID_BEHIND, _SAID_BEFORE)
        for found in one.finditer(text)
    ]
    for sentence in _SENTENCES.finditer(text):
        if OPENS.search(sentence[0]):
            said += _QUOTED.findall(sentence[0])
    for stretch in said:
        words = [word.folded for word in words_of(_GOES_ON.sub("", stretch))]
        if any(map(bits_of, words)):
            yield words


def of_illness(text: str) -> Iterator[list[str]]:
    """Stretches of folded words beside one of illness, without everyday words."""
    for sentence in _SENTENCES.finditer(text):
        words = words_of(sentence[0])
        cues = {
            at
            for at, word in enumerate(words)
            if ILL.fullmatch(word.text) or is_illness(word.folded)
        }
        run: list[str] = []
        for at, word in enumerate(words):
            near = any(abs(at - cue) <= _WORDS_NEAR for cue in cues)
            tells = bits_of(word.folded) >= _USUAL or word.folded.isdigit()
            known = word.folded in known_names() or ILL.fullmatch(word.text)
            if near and tells and not known:
                run.append(word.folded)
            elif run:
                yield run
                run = []
        if run:
            yield run
