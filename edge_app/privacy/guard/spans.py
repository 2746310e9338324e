"""Which stretches of a draft must not leave, and from where on that is not clear."""

from __future__ import annotations

from collections.abc import Sequence
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
from edge_app.privacy.guard.words import RUN, Word, is_common, words_of

_LONGEST_OPEN = 400
"""Characters of a span that is still open; a longer one is cut there."""
_LETTERS = 5
"""A word that begins with an uncommon one of so many letters holds it."""
_LEAST_TOLD = 18.0
"""Bits that a copied run of words must tell to be held back: what less rare words say
in a row, anybody may have said."""
_SEPARATORS = frozenset(" \t\u00a0\u202f().-/\u2010\u2011\u2012\u2013_:,+#")
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
        if clear < len(text) and len(text) - max(clear, start) > _LONGEST_OPEN:
            clear = len(text)
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
        if clear < len(text):
            # A span that reaches into what is open is open itself, and so is one that
            # the next word may belong to.
            # A copied run that tells too little may go on and tell more.
            for span in sorted([*merged, *runs], key=lambda one: -one.start):
                grows = span.kind in ("person", "phrase")
                if span.end >= clear or (grows and text[span.end : clear].isspace()):
                    clear = min(clear, span.start)
        spans = tuple(span for span in merged if span.end <= clear)
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

    def _literals(self, text: str, words: Sequence[Word], *, final: bool) -> list[Span]:
        """Names, addresses, numbers and uncommon words of the history."""
        index, found = self._index, []
        for first, word in enumerate(words):
            joined = ""
            for last in range(first, min(first + MOST_WORDS, len(words))):
                joined += words[last].folded
                if joined not in index.begun:
                    # As `Petrovs` goes on behind what is looked for.
                    if kind := self._longer(words[last], joined):
                        end = words[last].end
                        found.append(Span(word.start, end, kind, _IN_HISTORY))
                    break
                kind = index.literals.get(joined)
                if kind is not None and not index.is_public(joined):
                    found.append(Span(word.start, words[last].end, kind, _IN_HISTORY))
                elif (
                    final
                    and last == len(words) - 1
                    and len(joined) >= LEAST_LETTERS
                    and joined in index.begun
                    and not is_common(joined)
                    and not index.is_public(joined)
                ):
                    reason = "begins what stands in your texts"
                    found.append(Span(word.start, words[last].end, "word", reason))
            kind = is_name_here(index, text, word)
            if kind is not None:
                found.append(Span(word.start, word.end, kind, "a name of your texts"))
            elif (
                len(word.folded) >= SHINGLE
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

    def _longer(self, word: Word, joined: str) -> Kind | None:
        """What words are that begin with a literal, whose last one goes on behind it:
        by an s, or behind so many letters that it is no chance."""
        if is_common(word.folded) or self._index.is_public(word.folded):
            return None
        least = _LETTERS if joined == word.folded else len(joined) - 1
        if joined.endswith("s"):
            least = min(least, len(joined) - 1)
        for size in range(len(joined) - 1, max(least, 2) - 1, -1):
            if kind := self._index.literals.get(joined[:size]):
                return kind
        return None

    def _numbers(self, words: Sequence[Word], text: str) -> list[Span]:
        """Numbers that share digits with one of the history, however they are set."""
        index, found = self._index, []
        first = 0
        while first < len(words):
            if not any(char.isdigit() for char in words[first].folded):
                first += 1
                continue
            last = first
            while (
                last + 1 < len(words)
                and any(char.isdigit() for char in words[last + 1].folded)
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
        for first in range(len(words) - RUN + 1):
            row = tuple(word.folded for word in words[first : first + RUN])
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
                    tuple(w.folded for w in words[before - 1 : before - 1 + RUN])
                    in index.weak
                    and not ENDS_SENTENCE.search(
                        text[words[before - 1].end : words[before].start]
                    )
                ):
                    before -= 1
                told = index.told_by(word.folded for word in words[before:b])
                reason = _COPIED if told >= _LEAST_TOLD else ""
                runs.append(Span(words[a].start, words[b - 1].end, "phrase", reason))
        return runs

    def _open(self, text: str, words: Sequence[Word], start: int) -> int:
        """Where begins what more text may make a span."""
        index = self._index
        # The next token may go on with what stands behind the last gap.
        chunk = len(text)
        while chunk > 0 and not text[chunk - 1].isspace():
            chunk -= 1
        partial = words[-1] if words and words[-1].end == len(text) else None
        opened = min(open_start(text), chunk)
        # Words with digits in a row may turn out to be one number.
        begin = chunk
        for word in reversed(words):
            if word.start >= begin:
                continue
            digits = any(char.isdigit() for char in word.text)
            if not digits or set(text[word.end : begin]) - _SEPARATORS:
                break
            begin = word.start
            opened = min(opened, begin)
        recent = [word for word in words[-MOST_WORDS:] if word.end > start]
        for first in range(len(recent)):
            joined = "".join(word.folded for word in recent[first:])
            if joined in index.begun:
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


def _joined(one: Span, other: Span, text: str) -> bool:
    """Whether two spans are one name of several parts, or touch."""
    gap = text[one.end : other.start]
    return not gap or (one.kind == other.kind == "person" and gap in (" ", "-", "'"))
