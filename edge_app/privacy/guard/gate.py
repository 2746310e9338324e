"""The guard as the gate of a text: from tokens to spans, and back to tokens."""

from __future__ import annotations

import codecs
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from edge_app.config.settings import GuardMode
from edge_app.decoding.events import HeldBack
from edge_app.decoding.gate import Piece
from edge_app.privacy.guard.formats import Kind, Span
from edge_app.privacy.guard.history import PrivateIndex
from edge_app.privacy.guard.spans import Scanner
from edge_app.privacy.guard.words import Word, words_of
from models.running.interface import Vocabulary

Ask = Callable[[HeldBack], bool]
"""Whether what was held back may leave."""
_CONTEXT = 48
"""Tokens before the stretch that is looked at, which are read for its meaning."""


class GuardGate:
    """Satisfies `edge_app.decoding.gate.Gate`."""

    def __init__(
        self,
        index: PrivateIndex,
        vocabulary: Vocabulary,
        mode: GuardMode = "placeholder",
        ask: Ask | None = None,
        seed: int = 0,
    ) -> None:
        """`seed` is that of the text. `ask` is called in the mode `ask`, once for each
        text of a span; without it nothing that was found may leave."""
        self._index = index
        self._scanner = Scanner(index)
        self._vocabulary = vocabulary
        self._pieces: dict[int, bytes] = {}
        self._stand_ins = StandIns(index, typed=mode != "local", seed=seed)
        self._ask = ask if mode == "ask" else None
        self._answers: dict[str, bool] = {}

    def next(
        self, token_ids: Sequence[int], start: int, *, final: bool
    ) -> Piece | None:
        """What becomes of the tokens from `start` on, as `Gate` says."""
        first = max(0, start - _CONTEXT)
        window = list(token_ids[first:])
        texts, unfinished = self._texts(window)
        at = start - first
        # Nothing goes on behind the token that ends a text.
        ends = set(self._vocabulary.end_ids)
        stop = next((i for i in range(at, len(window)) if window[i] in ends), None)
        if stop is not None:
            texts, final, unfinished = texts[:stop], True, 0
            if stop == at:
                return Piece(1)
        starts, position = [], 0
        for text in texts:
            starts.append(position)
            position += len(text)
        whole = "".join(texts)
        begin = starts[at] if at < len(starts) else len(whole)
        scan = self._scanner.scan(whole, begin, final=final)
        if not scan.spans:
            if final:
                return Piece(len(token_ids) - start if stop is None else stop + 1 - at)
            clear = self._whole_tokens(scan.clear, starts, texts, unfinished)
            return Piece(clear - at) if clear > at else None
        low, high = self._tokens(scan.spans, starts, texts, at)
        if low > at:
            return Piece(low - at)
        end = starts[high - 1] + len(texts[high - 1])
        if not final and end > scan.clear:
            return None  # its last token holds what is not clear yet
        begin = starts[low]
        within = [span for span in scan.spans if span.start < end]
        return self._held(whole, begin, end, within, high - low)

    @staticmethod
    def _whole_tokens(
        clear: int, starts: Sequence[int], texts: Sequence[str], unfinished: int
    ) -> int:
        """How many tokens stand whole before a place of the text; first bytes of a
        character that stands behind it are not among them."""
        count = len(starts) - unfinished
        while count > 0 and starts[count - 1] + len(texts[count - 1]) > clear:
            count -= 1
        while 0 < count < len(texts) and not texts[count - 1]:
            count -= 1
        return count

    def _texts(self, token_ids: Sequence[int]) -> tuple[list[str], int]:
        """The text that each token completes, and how many of the last ones belong to a
        character that is not complete."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces = self._pieces
        for token in token_ids:
            if token not in pieces:
                pieces[token] = self._vocabulary.piece(token)
        texts = [decoder.decode(pieces[token]) for token in token_ids]
        if not decoder.getstate()[0]:
            return texts, 0
        unfinished = 0
        while unfinished < len(texts) and not texts[-1 - unfinished]:
            unfinished += 1
        return texts, max(unfinished, 1)

    @staticmethod
    def _tokens(
        spans: Sequence[Span], starts: Sequence[int], texts: Sequence[str], at: int
    ) -> tuple[int, int]:
        """The tokens (from, up to) of the first span and of all that share one with
        it."""
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
LONGEST = 12
"""Tokens of a stand-in at most."""


class StandIns:
    """Chooses stand-ins; the same one wherever the same is held back in a text."""

    def __init__(self, index: PrivateIndex, *, typed: bool, seed: int) -> None:
        """`typed`: it is of the kind of what it stands for; else it is neutral. Names
        depend on the seed, which stays on the device: else they would tell a little of
        what they stand for. They depend on nothing else, so that a text that is
        drafted again has the same."""
        self._typed = typed
        self._key = seed.to_bytes(8, "little", signed=False)
        # None that the request or the history speaks of, who would be two people then.
        self._first = self._names(FIRST_NAMES, index)
        self._last = self._names(LAST_NAMES, index)

    def choose(self, shown: str, kind: Kind) -> str:
        """What stands in for a span that reads `shown`."""
        if not self._typed:
            return NEUTRAL
        stand_in = _TYPED.get(kind, "")
        if kind == "person":
            stand_in = self._person(shown)
        if kind == "word" and shown[:1].isupper():
            stand_in = stand_in.capitalize()
        return stand_in

    def _person(self, shown: str) -> str:
        """A common name of the same shape: of one or two words, behind the same title,
        with the same ending."""
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
    """The tokens of a stand-in as it stands in the middle of a text: some tokenizers
    put a space of their own before what they are given."""
    ids = vocabulary.tokenize(text)
    if text.startswith(" ") and vocabulary.detokenize(ids) != text:
        without = vocabulary.tokenize(text[1:])
        if vocabulary.detokenize(without) == text:
            ids = without
    return tuple(ids[:LONGEST])


_BLOCK = 8
"""Words of a block whose time is taken, about as many as one holds."""
_CHARACTERS = 240
"""Characters before a block that are read with it."""


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
    public: str
    """The text as the server would read it."""
    words: int
    held_back: int
    """How many of the words."""
    block_ms: float
    """Median time of the guard over a block of eight words."""
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
        shown = text[span.start : span.end]
        stand_in = stand_ins.choose(shown, span.kind)
        found.append(
            Found(span.start, span.end, span.kind, span.reason, shown, stand_in)
        )
        public += text[position : span.start] + stand_in
        position = span.end
        held += len(words_of(shown))
    times.sort()
    return Report(
        tuple(found),
        public + text[position:],
        len(words),
        held,
        round(times[len(times) // 2], 3) if times else 0.0,
        round(times[-1], 3) if times else 0.0,
    )
