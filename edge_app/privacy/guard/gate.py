"""The guard as the gate of a text: from tokens to spans, and back to tokens."""

from __future__ import annotations

import codecs
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from edge_app.config.settings import GuardMode
from edge_app.decoding.events import HeldBack
from edge_app.decoding.gate import Piece
from edge_app.privacy.guard.formats import Span
from edge_app.privacy.guard.history import PrivateIndex
from edge_app.privacy.guard.spans import Scanner
from edge_app.privacy.guard.stand_ins import StandIns, tokens_of
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
        pieces = map(self._vocabulary.piece, token_ids)
        texts = [decoder.decode(piece) for piece in pieces]
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
