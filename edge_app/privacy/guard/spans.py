"""Which stretches of a draft must not leave, and from where on that is not clear."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    fold,
    is_common,
    is_unspaced,
    stems_of,
    words_of,
)

_LONGEST_OPEN = 400
"""Characters of a span that is still open; a longer one is cut there."""
_LETTERS = 5
"""A word that begins with an uncommon one of so many letters holds it."""
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

    spans: tuple[Span, ...]
    """By their start; none overlaps another."""
    clear: int
    """What stands before here stays as it is, whatever follows."""


class Scanner:
    """Finds the spans of a draft, given what is private."""

    def __init__(self, index: PrivateIndex) -> None:
        self._index = index

    def scan(self, text: str, start: int = 0, *, final: bool = False) -> Scan:
        """The spans of a text from `start` on; what stands before it has left already
        and is read for its meaning alone. With `final`, nothing follows the text."""
        index, words = self._index, words_of(text)
        clear = len(text) if final else self._open(text, words, start)
        if len(text) - max(clear, start) > _LONGEST_OPEN:
            final, clear = True, len(text)
        found = [
            span
            for span in spans_of(text, index.region)
            if not self._is_public(text[span.start : span.end])
            and (span.kind != "person" or self._is_known(text[span.start : span.end]))
        ]
        found += self._literals(text, words, final=final)
        runs = self._copied(text, words)
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

    def _literals(self, text: str, words: Sequence[Word], *, final: bool) -> list[Span]:
        """Names, addresses, numbers and uncommon words of the history."""
        index, found = self._index, list[Span]()
        for first, word in enumerate(words):
            if not word.folded.isascii():
                for begin in (word.folded, *stems_of(word.folded)):
                    found += self._from(words, first, begin, final=final)
                found += self._inside(word)
            elif word.folded in index.begun:
                found += self._from(words, first, word.folded, final=final)
            elif kind := self._longer(word, word.folded, alone=True):
                found.append(Span(word.start, word.end, kind, _IN_HISTORY))
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
        found += self._numbers(words, text)
        return found

    def _from(
        self, words: Sequence[Word], first: int, begin: str, *, final: bool
    ) -> list[Span]:
        """Literals of the history that start with a word, of which `begin` is read."""
        index, found = self._index, list[Span]()
        start, joined = words[first].start, ""
        for last in range(first, min(first + MOST_WORDS, len(words))):
            before, folded = joined, begin if last == first else words[last].folded
            joined += folded
            end = words[last].end
            for form in (folded, *stems_of(folded)) if last > first else (folded,):
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
        return found

    def _inside(self, word: Word) -> list[Span]:
        """Names of the history inside a run of letters, and what of it the history has
        in the same order."""
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
        """What words are that begin with a literal, whose last one goes on behind it:
        by an s, or behind so many letters that it is no chance."""
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

    def _numbers(self, words: Sequence[Word], text: str) -> list[Span]:
        """Numbers that share digits with one of the history, however they are set."""
        index, found = self._index, []
        first = 0
        while first < len(words):
            if not _has_digit(words[first]):
                first += 1
                continue
            last = first
            while (
                last + 1 < len(words)
                and _has_digit(words[last + 1])
                and not set(text[words[last].end : words[last + 1].start]) - _SEPARATORS
            ):
                last += 1
            digits = digits_of(text[words[first].start : words[last].end])
            sizes = (LEAST_DIGITS,) if len(digits) >= LEAST_DIGITS else (len(digits),)
            joined = "".join(w.folded for w in words[first : last + 1])
            if (
                len(digits) >= LEAST_LETTERS
                and not index.is_public(joined)
                and any(
                    digits[i : i + size] in index.digits
                    for size in sizes
                    for i in range(len(digits) - size + 1)
                )
            ):
                found.append(
                    Span(words[first].start, words[last].end, "number", _IN_HISTORY)
                )
            first = last + 1
        return found

    def _copied(self, text: str, words: Sequence[Word]) -> list[Span]:
        """Runs of words that the history has in the same order; those that tell little
        have no reason. What many writers say before one in the same sentence is not
        held, and tells with it."""
        found: list[tuple[int, int]] = []
        index = self._index
        begin = end = -1
        folded = [word.folded for word in words]
        rows = list(zip(*(folded[i:] for i in range(RUN)), strict=False))
        for first, row in enumerate(rows):
            # What many writers say may go on with a run, and begins none.
            if row in index.phrases or (first < end and row in index.weak):
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
                    rows[before - 1] in index.weak
                    and not ENDS_SENTENCE.search(
                        text[words[before - 1].end : words[before].start]
                    )
                ):
                    before -= 1
                told = index.told_by(folded[before:b])
                reason = _COPIED if told >= _LEAST_TOLD else ""
                runs.append(Span(words[a].start, words[b - 1].end, "phrase", reason))
        return runs

    def _open(self, text: str, words: Sequence[Word], start: int) -> int:
        """Where begins what more text may make a span."""
        index = self._index
        # The next token may go on with what stands behind the last gap.
        partial = words[-1] if words and words[-1].end == len(text) else None
        chunk = len(text)
        if partial is not None and is_unspaced(partial.folded):
            chunk = self._open_inside(partial)
        else:
            while chunk > 0 and not _AFTER.match(text[chunk - 1]):
                chunk -= 1
        opened = min(open_start(text), chunk)
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
            if any(one + rest in index.begun for one in (folded, *stems_of(folded))):
                opened = min(opened, recent[first].start)
                break
        whole = [w.folded for w in words if w is not partial]
        for size in range(RUN - 1, 0, -1):
            if len(whole) < size:
                continue
            follow = index.follow.get(tuple(whole[-size:]))
            if follow is None:
                continue
            if partial is None or any(
                word.startswith(partial.folded) for word in follow
            ):
                at = words[len(whole) - size].start
                opened = min(opened, at)
                break
        return opened


def _letters(word: Word) -> tuple[str, list[int]]:
    """The folded letters of a word, and where in the text each of them begins and the
    last one ends."""
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
