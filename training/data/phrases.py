"""Phrases of real texts: what everyday requests name beside what lists foresee."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random

from training.data.corpus import Text

_MOST = 40_000
"""Phrases of a kind that are kept."""
_READ = 5
"""One text in so many is listened to."""
_PLAIN = re.compile(r"[A-Za-z0-9' £$€%.,-]+")
_SENTENCE = re.compile(
    r"(?:(?<=[.!?] )|^)([A-Z][^.!?\n]{15,85})\.(?= |$)", re.MULTILINE
)
_MINE = re.compile(r"(?:I|We|I'm|I've|I'll|We're|We've) [a-z]")
_THEIRS = re.compile(r"(?:The|My|Our|There (?:is|are|was|were)|This|That|It) [a-z]")
_THING = re.compile(
    r"\b((?:the|my|our|a|an) (?:[a-z]{3,12} ){0,2}[a-z]{3,12})"
    r"(?= (?:on|at|in|from|with|and|is|was|for|to)\b|[.,;])"
)
_DEED = re.compile(
    r"\b(?:want|need|try|like|able|have|decided|going) to "
    r"([a-z]{2,10} (?:the|a|an|my|our|it|them|some|you|this|that|up|out) "
    r"[a-z][a-z ]{4,40}?)(?=[.,;])"
)
_TOLD = re.compile(r"[^.!?]+[.!?]+")
_WORDS = 4, 20
"""Words of a sentence that somebody might ask to have said, at least and at most."""
_TOLD_GENRES = ("review", "letter", "conversation", "post")
_TENSED = re.compile(
    r"\b(?:was|were|is|are|be|being|been|have|has|had|which|who|that)\b"
)
_LOOSE = re.compile(r"\b(?:he|she|they|his|her|hers|him|their|them|thy|thou|ye|said)\b")
_TOLD_SLOTS = "told", "reviewed"
_WORD = re.compile(r"(?<=[a-z,;] )[a-z]{4,12}(?=[ .,;])")


class Phrases:
    """Listens to texts as they pass, and keeps a fair part of what they name."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._kept: dict[str, list[str]] = {
            slot: [] for slot in ("np", "vp", "i_bank", "s_bank", "word", *_TOLD_SLOTS)
        }
        self._words: set[str] = set()

    def heard(self, texts: Iterable[Text]) -> Iterator[Text]:
        """The texts themselves, listened to."""
        for text in texts:
            if self._rng.randrange(_READ) == 0:
                self._hear(text.text)
            if text.genre in _TOLD_GENRES:
                self._hear_out(text)
            yield text

    def bank(self) -> dict[str, list[str]]:
        """What was kept, by slot."""
        return self._kept

    def _hear(self, text: str) -> None:
        for word in _WORD.findall(text[:3000]):
            if word not in self._words:  # once, so that rare words are as many as usual
                self._words.add(word)
                self._keep("word", word)
        for match in _SENTENCE.finditer(text[:6000]):
            sentence = match[1]
            if not _PLAIN.fullmatch(sentence) or _LOOSE.search(sentence.lower()):
                continue
            if _MINE.match(sentence):
                mine = sentence if sentence[0] == "I" else "w" + sentence[1:]
                self._keep("i_bank", mine)
            elif _THEIRS.match(sentence):
                self._keep("s_bank", sentence[:1].lower() + sentence[1:])
        for match in _THING.finditer(text[:3000]):
            if not _TENSED.search(match[1]):
                self._keep("np", match[1])
        for match in _DEED.finditer(text[:6000]):
            if not _TENSED.search(match[1]) and not _LOOSE.search(match[1]):
                self._keep("vp", match[1])

    def _hear_out(self, text: Text) -> None:
        """Keep two to five sentences in a row, if each could be asked for."""
        found = _TOLD.findall(" ".join(text.text.split())[:3000])
        count = self._rng.choice((2, 2, 3, 3, 4, 5))
        if len(found) < count:
            return
        start = self._rng.randint(0, len(found) - count)
        some = [one.strip() for one in found[start : start + count]]
        sound = all(
            _PLAIN.fullmatch(one.rstrip(".!?"))
            and _WORDS[0] <= len(one.split()) <= _WORDS[1]
            and "--" not in one
            for one in some
        )
        if sound:
            slot = "reviewed" if text.genre == "review" else "told"
            told = [one[:1].upper() + one[1:] for one in some]
            self._keep(slot, "\n".join(told))

    def _keep(self, slot: str, phrase: str) -> None:
        kept = self._kept[slot]
        if len(kept) < _MOST:
            kept.append(phrase)
        else:
            kept[self._rng.randrange(_MOST)] = phrase
