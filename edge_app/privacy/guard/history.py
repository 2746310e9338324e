"""What the private texts of one text hold, indexed once so that a draft is compared
with it quickly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from edge_app.privacy.guard import names
from edge_app.privacy.guard.formats import Kind, amounts_like, digits_of, spans_of
from edge_app.privacy.guard.words import (
    ILL,
    OPENS,
    RUN,
    Word,
    bits_of,
    common_words,
    fold,
    given_names,
    is_common,
    is_common_phrase,
    is_illness,
    is_in_dictionary,
    is_unspaced,
    of_illness,
    secret_words,
    stems_of,
    words_of,
)
from models.prompts import Request
from personal_store import Passage, Store

MOST_WORDS = 12  # words of the longest literal that is looked for
_HABIT = 3  # own texts with a phrase that make it a habit, which tells nothing
_OWN_TEXTS = 200  # how many of the newest own texts habits are counted in
_FEW = 20  # with this many own texts or fewer, two are enough for a habit
_OPENING_WORDS, _CLOSING_WORDS, _NAME_WORDS = 10, 12, 3
"""Words at most of the line that a text opens with, of those that close it, and of the
last of these, which is a name."""
_MOST_LETTERS = 80  # of a literal: an encoded picture is none
LEAST_LETTERS = 4  # letters of the shortest uncommon word that is looked for
SHINGLE = 8  # letters of an uncommon word that are looked for inside others
LEAST_DIGITS = 5  # digits of a number that are looked for inside others
_CLEAR_OF_NAMES = 3000  # so common a word is no name where a sentence begins
_RARE, _FIRST_OF_TWO, _CODE_WORD = 8.5, 6.0, 6.0
"""Bits of a word that is looked for beside one of illness, of the rarer one of two that
are looked for together, and of a code word that is looked for anywhere."""
_YEAR_OF_BIRTH = re.compile(r"(?:['’]|\b19)(\d\d)\b")
_APOSTROPHE = re.compile(r"['’]\Z")
ENDS_SENTENCE = re.compile(r"[.!?…\n]")  # between two words of two sentences, or lines
_ACRONYM = re.compile(r"[A-Z]{2,4}s?")
_SENTENCE = re.compile(r"(?:\A|[.!?:;\n\"“”‘(\[•*>-]|\d[.)])[\s\"'“‘(]*\Z")


def starts_sentence(text: str, at: int) -> bool:
    """Whether a word at this place has a capital letter for its place alone."""
    return _SENTENCE.search(text[max(0, at - 6) : at]) is not None


Row = tuple[str, ...]


def _rows(words: Sequence[str]) -> list[Row]:
    """Every `RUN` folded words in a row."""
    return list(zip(*(words[i:] for i in range(RUN)), strict=False))


def _rows_of_one_sentence(text: str, words: Sequence[Word]) -> set[Row]:
    """The rows of a text that no end of a sentence or line parts."""
    rows, first = set(), 0
    for at, word in enumerate(words):
        last = at + 1 == len(words)
        if last or ENDS_SENTENCE.search(text[word.end : words[at + 1].start]):
            rows.update(_rows([one.folded for one in words[first : at + 1]]))
            first = at + 1
    return rows


class PrivateIndex:
    """Literals, phrases and numbers of private texts that the request does not hold.

    A word is folded; a literal is its words joined; a row is `RUN` words in a row.
    """

    def __init__(self, region: str = "") -> None:
        self.region = region  # whose national telephone numbers are known
        self.literals: dict[str, Kind] = {}  # names, addresses, uncommon words
        self.begun: set[str] = set()  # all beginnings of literals
        self.proper: dict[str, Kind] = {}  # common words that are names if capital
        self.told: dict[str, tuple[re.Pattern[str] | None, Kind]] = {}
        """Common words that name an illness or open something, with the cue that must
        stand before them; None: anywhere."""
        self.inner: dict[str, Kind] = {}  # names inside runs of letters without blanks
        self.inner_begun: set[str] = set()  # beginnings of these, and of their shingles
        self.longest_inner = 0  # letters of the longest of them
        self.shingles: set[str] = set()  # every `SHINGLE` letters of uncommon words
        self.digits: set[str] = set()  # every `LEAST_DIGITS` digits; shorter numbers
        self.words: set[str] = set()
        self.phrases: set[Row] = set()
        self.weak: set[Row] = set()  # of many writers, or of two sentences
        self.usual: set[str] = set()  # of several texts: each tells half as much
        self.follow: dict[Row, set[str]] = {}  # words behind the first ones of a row
        self.public: set[str] = set()  # words and joined stretches of the request
        self.said = ""  # the request, folded, for names inside it

    def is_public(self, joined: str) -> bool:
        """Whether the request holds these words, joined, or the person allowed them."""
        if joined in self.public:
            return True
        return not joined.isascii() and any(
            stem in self.public for stem in stems_of(joined)
        )

    def bits_of(self, words: Iterable[str]) -> float:
        """About how many bits these folded words tell, in the order of the texts."""
        return sum(
            bits_of(word) / (2 if word in self.usual else 1)  # heard before
            for word in words
        )

    def allow(self, text: str) -> None:
        """Take what the request or the person says as known to the server."""
        words = [word.folded for word in words_of(text)]
        self.said += "\n" + "\n".join(words)
        for first in range(len(words)):
            self.public.update(stems_of(words[first]))
            joined = ""
            for word in words[first : first + MOST_WORDS]:
                joined += word
                self.public.add(joined)
                if joined.endswith("s"):
                    self.public.add(joined[:-1])
        self.phrases.difference_update(_rows(words))


@dataclass(frozen=True, slots=True)
class _Habits:
    """What a writer says again and again, as their own texts show it."""

    frames: frozenset[str]  # paragraphs that open or close a text
    rows: frozenset[Row]  # words in a row that stand in several texts
    words: frozenset[str]  # words that stand in several texts

    @classmethod
    @lru_cache(2)  # a history changes seldom, and to read it takes 50 ms
    def of(cls, own: Sequence[str]) -> _Habits:
        """The habits that own texts show; of few, two that are no copies make one."""
        own = list(dict.fromkeys(text.strip() for text in own))
        frames = {frame for text in own for frame in _frames(text)}
        counts: Counter[Row] = Counter()
        often: set[Row] = set()
        bodies: list[set[Row]] = []
        used: Counter[str] = Counter()
        for text in own:
            body = "\n\n".join(p for p in _paragraphs(text) if p not in frames)
            words = [word.folded for word in words_of(body)]
            rows = set(_rows(words))
            counts.update(rows)
            used.update(set(words))
            for other in bodies if len(own) <= _FEW else ():
                shared = rows & other
                if 2 * len(shared) <= min(len(rows), len(other)):
                    often |= shared
            bodies.append(rows)
        often.update(row for row, count in counts.items() if count >= _HABIT)
        usual = frozenset(word for word, count in used.items() if count >= _HABIT)
        return cls(frozenset(frames), frozenset(often), usual)

    def rows_beside(self, text: str, words: Sequence[Word]) -> set[Row]:
        """The rows of a text in which no word is part of a habit."""
        spans, position = [], 0
        for paragraph in _paragraphs(text):
            begin = text.index(paragraph, position)
            position = begin + len(paragraph)
            if paragraph in self.frames:
                spans.append((begin, position))
        usual = [any(a <= word.start < b for a, b in spans) for word in words]
        rows = _rows([word.folded for word in words])
        for at, row in enumerate(rows):
            if row in self.rows:
                usual[at : at + RUN] = [True] * RUN
        return {row for at, row in enumerate(rows) if not any(usual[at : at + RUN])}


def _paragraphs(text: str) -> list[str]:
    """What stands between blank lines."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _frames(text: str) -> list[str]:
    """The short paragraphs that open and close a text, such as `Hello again Ana,`,
    without digits and addresses; names in them are looked for as everywhere."""
    paragraphs = _paragraphs(text)
    if len(paragraphs) < 2:
        return []
    frames = []
    opening, closing = paragraphs[0], paragraphs[-1]
    if (
        "\n" not in opening
        and opening.endswith((",", "!", ":", "-", "–", "—", "…", "..."))
        and len(words_of(opening)) <= _OPENING_WORDS
    ):
        frames.append(opening)
    *lines, name = closing.splitlines()
    if (
        lines
        and len(words_of(name)) <= _NAME_WORDS
        and len(words_of(closing)) <= _CLOSING_WORDS
    ):
        frames.append(closing)
    return [frame for frame in frames if not re.search(r"[\d@]|://|www\.", frame)]


def _framing_words(text: str, names: Set[str]) -> set[str]:
    """Words of a text's opening and closing that are no names: before the name of
    somebody written to, and in lower case above the writer's own."""
    found: set[str] = set()
    for frame in _frames(text):
        lines = frame.splitlines()
        words = words_of(lines[0])
        if len(lines) == 1:
            named = [at for at, word in enumerate(words) if word.folded in names]
            found.update(word.folded for word in words[: min(named, default=0)])
        elif text != text.lower():
            above = (word for line in lines[:-1] for word in words_of(line))
            found.update(word.folded for word in above if word.text.islower())
    return found


def index_of(
    texts: Iterable[str],
    request: str,
    *,
    correspondents: Iterable[tuple[str, str]] = (),
    allowed: Sequence[str] = (),
    region: str = "",
    own: Iterable[str] = (),
) -> PrivateIndex:
    """The index of a history's texts, less what the request or `allowed` phrases say.

    `correspondents` are names and addresses. `region` is the country of national
    telephone numbers (ISO 3166); empty: that of the international ones in the texts.
    The writer's `own` texts show their habits, which are not private.
    """
    texts = list(texts)
    index = PrivateIndex(region or _region_of(texts))
    for text in (request, *allowed):
        index.allow(text)
    asked = digits_of(request)
    own, correspondents = tuple(own), list(correspondents)
    habits = _Habits.of(own)
    index.usual.update(habits.words)
    for name in (*_signatures(texts), *_signed(own)):
        index.allow(name)
    people = {word.folded for name, _ in correspondents for word in words_of(name)}
    for text in own:
        index.public.update(_framing_words(text, people) - people)
    rows: set[Row] = set()
    whole: set[Row] = set()
    for text in texts:
        words = words_of(text)
        index.words.update(word.folded for word in words)
        _add_spans(index, text, asked)
        for name in names.names_in(text):
            _add_inner(index, name, "person")
        _add_told(index, text)
        _add_words(index, text, words)
        rows |= habits.rows_beside(text, words)
        whole |= _rows_of_one_sentence(text, words)
    public = [[w.folded for w in words_of(text)] for text in (request, *allowed)]
    known = {row for words in public for row in _rows(words)}
    for row in rows - known:
        if sum(word.isalpha() for word in row) < 2:
            continue
        if row not in whole or is_common_phrase(row):
            index.weak.add(row)
            index.follow.setdefault(row[:-1], set()).add(row[-1])
            continue
        index.phrases.add(row)
        for size in range(1, RUN):
            index.follow.setdefault(row[:size], set()).add(row[size])
    for name, address in correspondents:
        _add_person(index, name, address)
    for literal in [one for one in index.literals if len(one) > _MOST_LETTERS]:
        del index.literals[literal]  # its letters and digits are known by their parts
    for literal in index.literals:
        index.begun.update(literal[:size] for size in range(1, len(literal) + 1))
    index.longest_inner = max(map(len, index.inner), default=0)
    for name in index.inner:
        index.inner_begun.update(name[:size] for size in range(1, len(name) + 1))
    return index


def index_of_store(
    store: Store,
    passages: Iterable[Passage],
    request: Request,
    *,
    notes: Iterable[str] = (),
    allowed: Sequence[str] = (),
    region: str = "",
) -> PrivateIndex:
    """The index of a store's `passages`, with their recipients and subjects, and of
    private `notes`."""
    return index_of(
        [*(f"{p.recipient}\n\n{p.subject}\n\n{p.text}" for p in passages), *notes],
        f"{request.recipient}\n{request.text}",
        correspondents=store.correspondents(),
        allowed=allowed,
        region=region,
        own=(passage.text for passage in store.recent(limit=_OWN_TEXTS)),
    )


def _add_spans(index: PrivateIndex, text: str, asked: str) -> None:
    """Literals that their form gives away, and the digits of numbers."""
    for span in spans_of(text, index.region, eager=True):
        shown = text[span.start : span.end]
        words = [word.folded for word in words_of(shown)]
        joined = "".join(words)
        year = _YEAR_OF_BIRTH.search(shown) if span.kind == "date" else None
        if year and not any(map(index.is_public, (year[1], f"19{year[1]}"))):
            _add_literal(index, f"19{year[1]}", "date")
            index.told[year[1]] = (_APOSTROPHE, "date")
        if index.is_public(joined) or len(joined) < 3:
            continue
        if len(words) <= MOST_WORDS:
            _add_literal(index, joined, span.kind)
        if span.kind == "amount":
            forms = amounts_like(shown)
            if not any(map(index.is_public, forms)):
                for form in forms:
                    _add_literal(index, form, "amount")
        if span.kind == "email":
            _add_address(index, shown)
        digits = digits_of(joined)
        if len(digits) >= LEAST_LETTERS and digits not in asked:
            if len(digits) < LEAST_DIGITS:
                index.digits.add(digits)
            index.digits.update(
                digits[i : i + LEAST_DIGITS]
                for i in range(len(digits) - LEAST_DIGITS + 1)
            )


def _add_address(index: PrivateIndex, address: str) -> None:
    """An email address as written and as said, and its local part."""
    local, _, domain = address.partition("@")
    spoken = f"{local} at {domain.replace('.', ' dot ')}"
    for form in (address, spoken, local):
        joined = "".join(word.folded for word in words_of(form))
        if len(joined) >= LEAST_LETTERS:
            _add_literal(index, joined, "email")


def _add_literal(index: PrivateIndex, joined: str, kind: Kind) -> None:
    """Look for a literal from now on, unless it is an everyday word or known."""
    if joined and not index.is_public(joined) and not is_common(joined):
        index.literals.setdefault(joined, kind)


def _add_told(index: PrivateIndex, text: str) -> None:
    """Words beside a cue: two anywhere, a rare one behind the cue, illnesses."""
    said: list[tuple[list[str], re.Pattern[str], Kind, float]] = [
        *((words, OPENS, "id", 1.0) for words in secret_words(text)),
        *((words, ILL, "word", _RARE) for words in of_illness(text)),
    ]
    for words, cue, kind, least in said:
        for word in words:
            if is_illness(word):
                index.told[word] = (None, "word")
            elif kind == "id" and len(words) == 1 and bits_of(word) >= _CODE_WORD:
                index.told[word] = (None, kind)
            elif bits_of(word) >= least:
                index.told.setdefault(word, (cue, kind))
        for size in (2, len(words)):
            for at in range(len(words) - size + 1):
                part = words[at : at + size]
                if len(part) > 1 and max(map(bits_of, part)) >= _FIRST_OF_TWO:
                    _add_literal(index, "".join(part), kind)


def _add_words(index: PrivateIndex, text: str, words: Sequence[Word]) -> None:
    """Uncommon words, and names."""
    for one, other in pairwise(words):
        # A name of which each part is a common word, such as Grace Long.
        if (
            one.folded in given_names()
            and text[one.end : other.start] == " "
            and one.text[0].isupper()
            and other.text[0].isupper()
            and not index.is_public(one.folded + other.folded)
        ):
            index.literals.setdefault(one.folded + other.folded, "person")
    for number, word in enumerate(words):
        if word.folded[0].isdigit() or index.is_public(word.folded):
            continue
        capital = word.text[0].isupper()
        inside = capital and not starts_sentence(text, word.start)
        if (
            (
                not inside
                and is_in_dictionary(word.folded)
                and not is_common(word.folded)
            )
            or text[: word.start].endswith("#")  # a label for all to read
            or _is_acronym(words, number)
        ):
            continue
        if is_unspaced(word.folded):
            _add_run(index, word)
        elif not is_common(word.folded):
            if len(word.folded) >= LEAST_LETTERS or (inside and len(word.folded) > 1):
                kind: Kind = "person" if capital else "word"
                index.literals.setdefault(word.folded, kind)
                for stem in stems_of(word.folded):
                    least = LEAST_LETTERS - inside  # of a name a letter less is enough
                    if len(stem) >= least and not index.is_public(stem):
                        index.literals.setdefault(stem, kind)
            if len(word.folded) >= SHINGLE:
                index.shingles.update(
                    word.folded[i : i + SHINGLE]
                    for i in range(len(word.folded) - SHINGLE + 1)
                )
        elif capital and word.folded in given_names():
            index.proper.setdefault(word.folded, "person")


def _add_run(index: PrivateIndex, word: Word) -> None:
    """A run of letters without blanks, its shingles and its words in Han; not a habit,
    nor hiragana alone."""
    run = word.folded
    if run in index.usual or names.HIRAGANA.fullmatch(word.text):
        return
    if len(run) >= LEAST_LETTERS:
        index.literals.setdefault(run, "word")
    for at in range(len(run) - SHINGLE + 1):
        shingle = run[at : at + SHINGLE]
        if shingle not in index.said:
            index.shingles.add(shingle)
            index.inner_begun.update(shingle[:size] for size in range(1, SHINGLE))
    has_kana = names.KANA.search(word.text)
    for found in names.HAN_WORD.findall(word.text if has_kana else ""):
        _add_inner(index, found, "word")


def _add_inner(index: PrivateIndex, name: str, kind: Kind) -> None:
    """Look for a name inside runs of letters, or as a word if its script has blanks."""
    joined = fold("".join(word.text for word in words_of(name)))
    if len(joined) < 2 or joined in index.said:
        return
    # A Korean name of two syllables is a part of too many words.
    if is_unspaced(joined) or names.FULL_KOREAN.match(name):
        index.inner.setdefault(joined, kind)
    if not is_unspaced(joined):
        index.literals.setdefault(joined, kind)


def _is_acronym(words: Sequence[Word], number: int) -> bool:
    """Whether a word is in capitals and those beside it are not."""
    beside = (*words[max(0, number - 1) : number], *words[number + 1 : number + 2])
    return bool(_ACRONYM.fullmatch(words[number].text)) and not any(
        word.text.isupper() and len(word.text) > 1 for word in beside
    )


def _add_person(index: PrivateIndex, name: str, address: str) -> None:
    """Names and address of somebody of the letters."""
    parts = [word.folded for word in words_of(name) if not word.folded.isdigit()]
    for part in parts:
        if index.is_public(part) or len(part) < 2:
            continue
        if part in common_words():
            index.proper[part] = "person"
        else:
            index.literals[part] = "person"
    joined = "".join(parts)
    if len(parts) > 1 and not index.is_public(joined):
        index.literals.setdefault(joined, "person")
    for word in words_of(name):
        if not word.text.isascii():
            for shown in names.parts_of(word.text):
                _add_inner(index, shown, "person")
    _add_address(index, address)


def is_name_here(index: PrivateIndex, text: str, word: Word) -> Kind | None:
    """The kind of a capital common word that is somebody's name; None: no name."""
    kind = index.proper.get(word.folded)
    if kind is None or not word.text[0].isupper() or index.is_public(word.folded):
        return None
    begins = starts_sentence(text, word.start)
    if begins and common_words().get(word.folded, 0) < _CLEAR_OF_NAMES:
        return None
    return kind


def _signatures(texts: Sequence[str]) -> list[str]:
    """Names under most of the texts: the writer's own, which the server may read."""
    last: Counter[str] = Counter()
    for text in texts:
        lines = [line.strip(" -,.") for line in text.strip().splitlines()]
        if len(lines) > 1 and 0 < len(lines[-1].split()) <= _NAME_WORDS:
            last[lines[-1]] += 1
    most = max(2, len(texts) / 2)
    return [name for name, count in last.items() if count >= most]


def _signed(own: Sequence[str]) -> list[str]:
    """Names under own texts, below a line that ends with a comma."""
    found = []
    for text in own:
        lines = [line.strip() for line in text.strip().splitlines()[-2:]]
        if len(lines) == 2 and lines[0].endswith(",") and len(lines[0]) < len(text) / 2:
            found += [lines[1]] if 0 < len(lines[1].split()) <= _NAME_WORDS else []
    return found


def _region_of(texts: Sequence[str]) -> str:
    """The country of most international telephone numbers; empty if there is none."""
    regions: Counter[str] = Counter()
    for text in texts:
        for found in re.findall(r"(?<!\d)(?:\+|00)\d[\d \t().\-/]{6,18}\d", text):
            import phonenumbers  # takes 50 ms to load

            try:
                shown = re.sub(r"\A00", "+", found)
                number = phonenumbers.parse(shown)
            except phonenumbers.NumberParseException:
                continue
            region = phonenumbers.region_code_for_number(number)
            if region:
                regions[region] += 1
    return max(regions, key=lambda region: regions[region], default="")
