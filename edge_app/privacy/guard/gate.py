"""The guard: which stretches of a draft must not leave, from where on that is not
clear, and what stands in their place.

A `Scanner` finds the stretches in a text; if the text only grew, it looks at what is
new. `GuardGate` is the gate of a text: from tokens to spans, and back to tokens.
"""

from __future__ import annotations

import codecs
import re
import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

from decoding_core.verifier import common_prefix
from edge_app.config.settings import GuardMode
from edge_app.decoding.events import HeldBack
from edge_app.decoding.loop import Piece
from edge_app.privacy.guard.formats import Kind, Span, digits_of, open_start, spans_of
from edge_app.privacy.guard.history import (
    ENDS_SENTENCE,
    LEAST_DIGITS,
    LEAST_LETTERS,
    MOST_WORDS,
    SHINGLE,
    PrivateIndex,
    is_name_here,
)
from edge_app.privacy.guard.words import (
    NEAR,
    NO_BLANKS,
    RUN,
    Word,
    bits_of,
    fold,
    is_common,
    is_unspaced,
    stems_of,
    words_of,
)
from models.running.interface import Vocabulary

_LONGEST_OPEN = 400  # characters of an open span; a longer one is cut there
_LETTERS = 5  # least letters of an uncommon word that a held word may begin with
_LEAST_TOLD = 18.0
"""Bits that a copied run of words must tell to be held back: what less rare words say
in a row, anybody may have said."""
_SEPARATORS = frozenset(" \t\r\n().-/_:,+#>") | {
    char
    for char in map(chr, range(0x80, 0x3001))
    if unicodedata.category(char) in ("Zs", "Pd", "Cf")
}
_AFTER = re.compile(rf"[\s{NO_BLANKS}。、，！？：；「」『』（）]")
"""What ends what stands before it, though more may follow without a blank."""
BEGINS = "begins what stands in your texts"
_IN_HISTORY = "stands in your texts"
_COPIED = "words in the order of your texts"


@dataclass(frozen=True, slots=True)
class Scan:
    """The spans of a stretch of text."""

    spans: tuple[Span, ...]  # by their start; none overlaps another
    clear: int  # what stands before here stays as it is, whatever follows


class Scanner:
    """Finds the spans of a draft, given what is private.

    It remembers the last text: if the next one begins as that did, words and what was
    found by them are kept, as far as new text cannot change them.
    """

    def __init__(self, index: PrivateIndex) -> None:
        self._index = index
        self._text = ""
        self._words: list[Word] = []
        self._literals: list[tuple[int, list[Span]]] = []
        """For each word the spans that begin with it, and the number of the last word
        that they depend on."""
        self._rows: list[tuple[bool, bool]] = []
        """For each `RUN` words in a row whether they are a phrase of the history, and
        whether they are a weak one."""

    def scan(
        self, text: str, start: int = 0, *, final: bool = False, context: int = 0
    ) -> Scan:
        """The spans of a text from `start` on; what stands before it has left already
        and is read for its meaning alone, its form from `context` on. With `final`,
        nothing follows the text."""
        self._read(text)
        index = self._index
        clear = len(text) if final else self._open(text, start, context)
        if len(text) - max(clear, start) > _LONGEST_OPEN:
            final, clear = True, len(text)
        found = [
            replace(span, start=context + span.start, end=context + span.end)
            for span in spans_of(text[context:], index.region)
            if context + span.end > start
        ]
        found = [
            span
            for span in found
            if not self._is_public(text[span.start : span.end])
            and (span.kind != "person" or self._is_known(text[span.start : span.end]))
        ]
        found += self._literals_from(start, final=final)
        runs = self._copied(start)
        found += [run for run in runs if run.reason]
        merged: list[Span] = []
        for span in sorted(found, key=lambda span: (span.start, -span.end)):
            if span.end <= start:
                continue
            span = replace(span, start=max(span.start, start))
            if merged and span.start < merged[-1].end:
                end = max(span.end, merged[-1].end)
                merged[-1] = replace(merged[-1], end=end)
            elif merged and _joined(merged[-1], span, text):
                merged[-1] = replace(merged[-1], end=span.end)
            else:
                merged.append(span)
        if not final:
            # A span that reaches into what is open is open itself, and so is one that
            # the next word may belong to.
            # A copied run that tells too little may go on and tell more.
            for span in sorted([*merged, *runs], key=lambda one: -one.start):
                grows = span.kind in ("person", "phrase")
                if span.end >= clear or (grows and text[span.end : clear].isspace()):
                    clear = min(clear, span.start)
        whole = (span for span in merged if span.end <= clear)
        spans = tuple(part for span in whole for part in _lines(span, text))
        return Scan(spans, max(clear, start))

    def _read(self, text: str) -> None:
        """Take in a text from where it differs, the last word included."""
        words, same = self._words, _shared(self._text, text)
        while words and words[-1].end >= same:
            words.pop()
        known = len(words)
        words += words_of(text, words[-1].end if words else 0)
        self._text = text
        late = (at for at, (last, _) in enumerate(self._literals) if last >= known)
        del self._literals[next(late, known) :]
        del self._rows[max(0, known - RUN + 1) :]
        folded = [word.folded for word in words[len(self._rows) :]]
        for row in zip(*(folded[i:] for i in range(RUN)), strict=False):
            self._rows.append((row in self._index.phrases, row in self._index.weak))

    def _is_public(self, shown: str) -> bool:
        """Whether the request says what stands in a span."""
        joined = "".join(word.folded for word in words_of(shown))
        return not joined or self._index.is_public(joined)

    def _is_known(self, shown: str) -> bool:
        """Whether the history speaks of somebody with a part of this name."""
        index = self._index
        return any(
            word.folded in index.words and not index.is_public(word.folded)
            for word in words_of(shown)[1:]
        )

    def _open_inside(self, run: Word) -> int:
        """Where begins what more letters of a run may make a name of the history."""
        letters, places = _letters(run)
        begun = self._index.inner_begun
        first = max(0, len(letters) - max(self._index.longest_inner, SHINGLE))
        return next(
            (places[at] for at in range(first, len(letters)) if letters[at:] in begun),
            run.end,
        )

    def _literals_from(self, start: int, *, final: bool) -> Iterator[Span]:
        """Literals of the history that end behind `start`, by their first words."""
        words, known = self._words, self._literals
        while len(known) < len(words):
            known.append(self._literals_at(len(known), final=final))
        first = bisect_right(words, start, key=lambda word: word.end)
        first = max(0, first - MOST_WORDS)
        while first > 0 and _has_digit(words[first]):  # a number has more words
            first -= 1
        for _, found in known[first:]:
            yield from found

    def _literals_at(self, first: int, *, final: bool) -> tuple[int, list[Span]]:
        """The literals that begin with a word, and the last word they depend on."""
        index, text, words = self._index, self._text, self._words
        word, last, found = words[first], first, list[Span]()
        forms: Sequence[str] = ()
        if not word.folded.isascii():
            forms = _forms(word.folded)
        elif word.folded in index.begun:
            forms = (word.folded,)
        elif kind := self._longer(word, word.folded, alone=True):
            found.append(Span(word.start, word.end, kind, _IN_HISTORY))
        for begin in forms:
            read, literals = self._from(first, begin, final=final)
            last, found = max(last, read), [*found, *literals]
        if not word.folded.isascii():
            found += self._inside(word)
        if word.folded in index.told and not index.is_public(word.folded):
            cue, kind = index.told[word.folded]
            before = text[max(0, word.start - NEAR) : word.start]
            if cue is None or cue.search(before):
                found.append(Span(word.start, word.end, kind, _IN_HISTORY))
        proper = word.folded in index.proper
        kind = is_name_here(index, text, word) if proper else None
        if kind is not None:
            found.append(Span(word.start, word.end, kind, "a name of your texts"))
        elif (
            len(word.folded) >= SHINGLE
            and not is_unspaced(word.folded)
            and not is_common(word.folded)
            and not index.is_public(word.folded)
            and any(
                word.folded[i : i + SHINGLE] in index.shingles
                for i in range(len(word.folded) - SHINGLE + 1)
            )
        ):
            reason = "much of a word of your texts"
            found.append(Span(word.start, word.end, "word", reason))
        if _has_digit(word) and not (first and self._one_number(first - 1)):
            read, numbers = self._number(first)
            last, found = max(last, read), [*found, *numbers]
        return last, found

    def _from(self, first: int, begin: str, *, final: bool) -> tuple[int, list[Span]]:
        """Literals from a word on, read as `begin`; the last word looked at."""
        index, words, found = self._index, self._words, list[Span]()
        start, joined = words[first].start, ""
        for last in range(first, first + MOST_WORDS):
            if last == len(words):
                break
            before, folded = joined, begin if last == first else words[last].folded
            joined += folded
            end = words[last].end
            for form in _forms(folded) if last > first else (folded,):
                kind = index.literals.get(before + form)
                if kind is not None and not index.is_public(before + form):
                    found.append(Span(start, end, kind, _IN_HISTORY))
                    break
            if joined not in index.begun:
                # As `Petrovs` goes on behind what is looked for.
                if kind := self._longer(words[last], joined, alone=last == first):
                    found.append(Span(start, end, kind, _IN_HISTORY))
                break
            if (
                final
                and last == len(words) - 1
                and len(joined) >= LEAST_LETTERS
                and joined not in index.literals
                and not is_common(joined)
                and not index.is_public(joined)
            ):
                found.append(Span(start, end, "word", BEGINS))
        return last, found

    def _inside(self, word: Word) -> list[Span]:
        """Names inside a run of letters, and what of it stands in the history."""
        index, found = self._index, list[Span]()
        letters, places = _letters(word)
        copied = is_unspaced(word.folded)
        for at in range(len(letters)):
            for size in range(min(index.longest_inner, len(letters) - at), 1, -1):
                if kind := index.inner.get(letters[at : at + size]):
                    end = places[at + size]
                    found.append(Span(places[at], end, kind, _IN_HISTORY))
                    break
            if copied and letters[at : at + SHINGLE] in index.shingles:
                end = places[at + SHINGLE]
                found.append(Span(places[at], end, "phrase", _COPIED))
        return found

    def _longer(self, word: Word, joined: str, *, alone: bool) -> Kind | None:
        """The kind of words that are a literal and an s, or many letters of one."""
        least = _LETTERS if alone else len(joined) - 1
        if joined.endswith("s"):
            least = min(least, len(joined) - 1)
        if len(joined) <= least or is_common(word.folded) or is_unspaced(word.folded):
            return None
        if self._index.is_public(word.folded):
            return None
        for size in range(len(joined) - 1, max(least, 2) - 1, -1):
            if kind := self._index.literals.get(joined[:size]):
                return kind
        return None

    def _one_number(self, at: int) -> bool:
        """Whether a word and the next have digits and nothing parts them."""
        one, other = self._words[at : at + 2]
        apart = set(self._text[one.end : other.start]) - _SEPARATORS
        return _has_digit(one) and _has_digit(other) and not apart

    def _number(self, first: int) -> tuple[int, list[Span]]:
        """The last word looked at, and the number from a word on if the history shares
        digits with it."""
        index, words, last = self._index, self._words, first
        while last + 1 < len(words) and self._one_number(last):
            last += 1
        start, end = words[first].start, words[last].end
        digits = digits_of(self._text[start:end])
        size = min(LEAST_DIGITS, len(digits))
        joined = "".join(word.folded for word in words[first : last + 1])
        if (
            len(digits) >= LEAST_LETTERS
            and not index.is_public(joined)
            and any(
                digits[i : i + size] in index.digits
                for i in range(len(digits) - size + 1)
            )
        ):
            return last + 1, [Span(start, end, "number", _IN_HISTORY)]
        return last + 1, []

    def _copied(self, start: int) -> list[Span]:
        """Runs of words that the history has in the same order, from the one that ends
        before `start`; those that tell little have no reason. What many writers say
        before one in the same sentence is not held, and tells with it."""
        words, rows = self._words, self._rows
        at = bisect_right(words, start, key=lambda word: word.end)
        at = min(max(0, at - 1), len(rows))
        while at > 0 and any(map(any, rows[max(0, at - RUN) : at])):
            at -= 1  # no run begins before here and goes on behind it
        found: list[tuple[int, int]] = []
        begin = end = -1
        for first in range(at, len(rows)):
            phrase, weak = rows[first]
            # What many writers say may go on with a run, and begins none.
            if phrase or (first < end and weak):
                if first >= end:
                    found.append((begin, end))
                    begin = first
                end = first + RUN
        found.append((begin, end))
        runs = []
        for a, b in found:
            if a >= 0:
                before = a
                while before > 0 and (
                    rows[before - 1][1]
                    and not ENDS_SENTENCE.search(
                        self._text[words[before - 1].end : words[before].start]
                    )
                ):
                    before -= 1
                told = self._index.bits_of(word.folded for word in words[before:b])
                reason = _COPIED if told >= _LEAST_TOLD else ""
                runs.append(Span(words[a].start, words[b - 1].end, "phrase", reason))
        return runs

    def _open(self, text: str, start: int, context: int) -> int:
        """Where begins what more text may make a span."""
        index, words = self._index, self._words
        # The next token may go on with what stands behind the last gap.
        partial = words[-1] if words and words[-1].end == len(text) else None
        chunk = len(text)
        if partial is not None and _is_unspaced(partial):
            chunk = self._open_inside(partial)
        else:
            while chunk > context and not _AFTER.match(text[chunk - 1]):
                chunk -= 1
        opened = min(context + open_start(text[context:]), chunk)
        # Words with digits in a row may turn out to be one number.
        begin = chunk
        for word in reversed(words):
            if word.start >= begin:
                continue
            if not _has_digit(word) or set(text[word.end : begin]) - _SEPARATORS:
                break
            begin = word.start
            opened = min(opened, begin)
        recent = [word for word in words[-MOST_WORDS:] if word.end > start]
        for first in range(len(recent)):
            folded = recent[first].folded
            rest = "".join(word.folded for word in recent[first + 1 :])
            if any(one + rest in index.begun for one in _forms(folded)):
                opened = min(opened, recent[first].start)
                break
        end = len(words) - (partial is not None)
        for size in range(min(RUN - 1, end), 0, -1):
            last = words[end - size : end]
            follow = index.follow.get(tuple(word.folded for word in last))
            if follow is not None and (
                partial is None
                or any(word.startswith(partial.folded) for word in follow)
            ):
                opened = min(opened, last[0].start)
                break
        return opened


def _shared(one: str, other: str) -> int:
    """How many letters two texts share from their start."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:  # the usual case
        return high
    while low < high:
        middle = (low + high + 1) // 2
        same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def _forms(folded: str) -> tuple[str, ...]:
    """A folded word, and without what its language writes together with it."""
    return (folded,) if folded.isascii() else (folded, *stems_of(folded))


def _is_unspaced(word: Word) -> bool:
    return not word.folded.isascii() and is_unspaced(word.folded)


def _letters(word: Word) -> tuple[str, list[int]]:
    """The folded letters of a word, and the place of each, and of the end."""
    letters, places = "", list[int]()
    for at, char in enumerate(word.text, word.start):
        folded = fold(char)
        letters += folded
        places += [at] * len(folded)
    return letters, [*places, word.end]


def _has_digit(word: Word) -> bool:
    folded = word.folded
    return not folded.isalpha() and any(char.isdigit() for char in folded)


def _lines(span: Span, text: str) -> Iterator[Span]:
    """The span on each of its lines: what stands in for it has as many."""
    for line in re.finditer(r"[^\n]+", text[span.start : span.end]):
        words = line.group()
        begin = span.start + line.start() + len(words) - len(words.lstrip())
        if stripped := words.strip():
            yield replace(span, start=begin, end=begin + len(stripped))


def _joined(one: Span, other: Span, text: str) -> bool:
    """Whether two spans are one name of several parts, or touch."""
    gap = text[one.end : other.start]
    return not gap or (one.kind == other.kind == "person" and gap in (" ", "-", "'"))


Ask = Callable[[HeldBack], bool]  # whether what was held back may leave
_CONTEXT = 48  # tokens before a stretch that are read for its meaning


class GuardGate:
    """Satisfies `edge_app.decoding.loop.Gate`."""

    def __init__(
        self,
        index: PrivateIndex,
        vocabulary: Vocabulary,
        mode: GuardMode = "placeholder",
        ask: Ask | None = None,
        seed: int = 0,
    ) -> None:
        """`ask` is called in mode `ask`, once for each text of a span; without it, what
        is found never leaves."""
        self._index = index
        self._scanner = Scanner(index)
        self._vocabulary = vocabulary
        self._ends = frozenset(vocabulary.end_ids)
        self._stand_ins = StandIns(index, typed=mode != "local", seed=seed)
        self._ask = ask if mode == "ask" else None
        self._answers: dict[str, bool] = {}
        self._piece = cache(self._vocabulary.piece)
        self._read: list[int] = []
        self._texts: list[str] = []  # the text that each token completes
        self._starts: list[int] = []  # where in the text each of these begins
        self._states: list[tuple[bytes, int]] = []  # of the decoder, behind each token
        self._last: tuple[list[int], int, bool, Piece | None] = [], -1, False, None

    def next(
        self, token_ids: Sequence[int], start: int, *, final: bool
    ) -> Piece | None:
        """What becomes of the tokens from `start` on, as `Gate` says."""
        asked = list(token_ids)
        *same, piece = self._last  # the loop asks what its account asks
        if same != [asked, start, final]:
            piece = self._next(asked, start, final=final)
            self._last = asked, start, final, piece
        return piece

    def _next(self, token_ids: list[int], start: int, *, final: bool) -> Piece | None:
        # Nothing goes on behind the token that ends a text.
        ends = (i for i in range(start, len(token_ids)) if token_ids[i] in self._ends)
        stop = next(ends, None)
        if stop == start:
            return Piece(1)
        self._take_in(token_ids[:stop])
        texts, starts = self._texts, self._starts
        final = final or stop is not None
        whole = "".join(texts)
        begin = starts[start] if start < len(starts) else len(whole)
        context = starts[max(0, start - _CONTEXT)] if starts else 0
        scan = self._scanner.scan(whole, begin, final=final, context=context)
        if not scan.spans:
            if final:
                last = len(token_ids) if stop is None else stop + 1
                return Piece(last - start)
            clear = self._whole_tokens(scan.clear)
            return Piece(clear - start) if clear > start else None
        low, high = self._tokens(scan.spans, starts, texts, start)
        if low > start:
            return Piece(low - start)
        end = starts[high - 1] + len(texts[high - 1])
        if not final and end > scan.clear:
            return None  # its last token holds what is not clear yet
        within = [span for span in scan.spans if span.start < end]
        return self._held(whole, starts[low], end, within, high - low)

    def _take_in(self, token_ids: list[int]) -> None:
        """Decode the tokens that were not read before."""
        same = len(self._read)
        if token_ids[:same] != self._read:
            same = common_prefix(self._read, token_ids)
        for known in (self._texts, self._starts, self._states):
            del known[same:]
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        place = 0
        if same:
            decoder.setstate(self._states[-1])
            place = self._starts[-1] + len(self._texts[-1])
        for token in token_ids[same:]:
            text = decoder.decode(self._piece(token))
            self._texts.append(text)
            self._starts.append(place)
            self._states.append(decoder.getstate())
            place += len(text)
        self._read = token_ids

    def _whole_tokens(self, clear: int) -> int:
        """How many tokens stand whole before a place, without half characters."""
        starts, texts = self._starts, self._texts
        count = len(starts)
        if self._states and self._states[-1][0]:  # a character is not complete
            count -= 1
            while count > 0 and not texts[count - 1]:
                count -= 1
        while count > 0 and starts[count - 1] + len(texts[count - 1]) > clear:
            count -= 1
        while 0 < count < len(texts) and not texts[count - 1]:
            count -= 1
        return count

    @staticmethod
    def _tokens(
        spans: Sequence[Span], starts: Sequence[int], texts: Sequence[str], at: int
    ) -> tuple[int, int]:
        """The tokens (from, up to) of the first span and those that share one."""
        low = max(at, bisect_right(starts, spans[0].start) - 1)
        while low > at and starts[low - 1] == starts[low]:
            low -= 1  # the first bytes of its first character
        end = spans[0].end
        for span in spans:
            last = bisect_left(starts, end) - 1
            if span.start < starts[last] + len(texts[last]):
                end = max(end, span.end)
        return low, bisect_left(starts, end)

    def _held(
        self, whole: str, begin: int, end: int, within: Sequence[Span], length: int
    ) -> Piece:
        """What stands in for a stretch of whole tokens with these spans."""
        public, position = "", begin
        for span in within:
            public += whole[position : span.start]
            public += self._stand_ins.choose(whole[span.start : span.end], span.kind)
            position = span.end
        public += whole[position:end]
        ids = tokens_of(public, self._vocabulary)
        shown = whole[begin:end]
        public = self._vocabulary.detokenize(ids)
        held = HeldBack(within[0].kind, within[0].reason, shown, public)
        key = shown.strip().casefold()
        if self._ask is not None and key not in self._answers:
            self._answers[key] = self._ask(held)
        if self._answers.get(key):
            return Piece(length)
        return Piece(length, ids, held)


FIRST_NAMES = (
    *("Alex", "Sam", "Robin", "Chris", "Kim", "Jamie", "Pat", "Charlie", "Taylor"),
    *("Jordan", "Morgan", "Casey", "Riley", "Jesse", "Quinn", "Avery", "Dana", "Lee"),
)
LAST_NAMES = ("Smith", "Jones", "Brown", "Miller", "Wilson", "Clark", "Hall", "Young")
NEUTRAL = "..."
_TYPED: dict[Kind, str] = {
    "address": "1 Main Street",
    "email": "someone@example.com",
    "phone": "+00 000",
    "card": "0000 0000",
    "bank account": "XX00 0000",
    "id": "X00",
    "number": "000",
    "link": "https://example.com",
    "date": "1 January 2000",
    "amount": "100",
    "word": "something",
    "phrase": "...",
}
LONGEST = 12  # tokens of a stand-in at most


class StandIns:
    """Chooses stand-ins; the same one wherever the same is held back in a text."""

    def __init__(self, index: PrivateIndex, *, typed: bool, seed: int) -> None:
        """`typed`: of the kind of what it stands for, else neutral. Names depend on the
        seed alone, which stays here: else they would tell a little."""
        self._typed = typed
        self._key = seed.to_bytes(8, "little", signed=False)
        # None that the request or the history speaks of, who would be two people then.
        self._first = self._names(FIRST_NAMES, index)
        self._last = self._names(LAST_NAMES, index)

    def choose(self, shown: str, kind: Kind) -> str:
        """What stands in for a span that reads `shown`."""
        if not self._typed:
            return NEUTRAL
        stand_in = self._person(shown) if kind == "person" else _TYPED.get(kind, "")
        if kind == "word" and shown[:1].isupper():
            stand_in = stand_in.capitalize()
        last = shown.rpartition(" ")[2]
        if kind == "phrase" and last.isalpha() and not bits_of(fold(last)):
            # It tells nothing, and without it what follows may go on with a word.
            stand_in += f" {last}"
        return stand_in

    def _person(self, shown: str) -> str:
        """A common name of as many words, with the same title and ending."""
        title = re.match(r"((?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau)\.?) ", shown)
        ending = re.search(r"['’]s?\Z", shown)
        body = shown[title.end() if title else 0 : ending.start() if ending else None]
        parts = words_of(body)
        name = self._one_of(self._last if title else self._first, parts[:1])
        if not title and len(parts) > 1:
            name += f" {self._one_of(self._last, parts[1:])}"
        if shown[:1].islower():  # not of a script without capitals
            name = name.lower()
        return f"{title[0] if title else ''}{name}{ending[0] if ending else ''}"

    def _one_of(self, names: Sequence[str], parts: Sequence[Word]) -> str:
        words = " ".join(word.folded for word in parts).encode()
        number = blake2b(words, digest_size=4, key=self._key).digest()
        return names[int.from_bytes(number, "little") % len(names)]

    @staticmethod
    def _names(names: tuple[str, ...], index: PrivateIndex) -> list[str]:
        return [
            name
            for name in names
            if not index.is_public(name.lower()) and name.lower() not in index.literals
        ] or list(names)


def tokens_of(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokens of a stand-in in the middle of a text, without a blank that some
    tokenizers put before it."""
    ids = vocabulary.tokenize(text)
    if text.startswith(" ") and vocabulary.detokenize(ids) != text:
        without = vocabulary.tokenize(text[1:])
        if vocabulary.detokenize(without) == text:
            ids = without
    return tuple(ids[:LONGEST])


_BLOCK = 8  # words of a block whose time is taken, about as many as one holds
_CHARACTERS = 240  # characters before a block that are read with it


@dataclass(frozen=True, slots=True)
class Found:
    """A span of the text."""

    start: int
    end: int
    kind: str
    reason: str
    text: str
    stand_in: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the guard would do with a text."""

    found: tuple[Found, ...]
    public: str  # the text as the server would read it
    words: int
    held_back: int  # how many of the words
    block_ms: float  # median time of the guard over a block of eight words
    slowest_ms: float


_FIRST = "Call 07700 900123 by 3 May 1990; DE89 3704 0044 0532 0130 00; a@b.org"
"""Looked at before the time is taken: libraries read their tables when they meet the
first number of a kind, once in a process."""


def check(text: str, index: PrivateIndex, *, typed: bool = True) -> Report:
    """What the guard would do with a text that is drafted with this private index."""
    scanner = Scanner(index)
    stand_ins = StandIns(index, typed=typed, seed=0)
    words = words_of(text)
    scanner.scan(_FIRST, final=True)
    spans = scanner.scan(text, final=True).spans
    times = []
    for first in range(0, len(words), _BLOCK):
        begin, end = words[first].start, words[min(first + _BLOCK, len(words)) - 1].end
        context = max(0, begin - _CHARACTERS)
        started = time.thread_time()
        scanner.scan(text[context:end], begin - context)
        times.append(1000 * (time.thread_time() - started))
    found, public, position, held = [], "", 0, 0
    for span in spans:
        own = text[span.start : span.end]
        stand_in = stand_ins.choose(own, span.kind)
        found.append(Found(span.start, span.end, span.kind, span.reason, own, stand_in))
        public += text[position : span.start] + stand_in
        position = span.end
        held += len(words_of(own))
    times.sort()
    return Report(
        tuple(found),
        public + text[position:],
        len(words),
        held,
        round(times[len(times) // 2], 3) if times else 0.0,
        round(times[-1], 3) if times else 0.0,
    )
