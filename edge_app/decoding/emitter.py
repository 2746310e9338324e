"""Turns what the decode loop does into events with texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding_core.messages import TokenBlock
from edge_app.decoding.events import Drafted, Emit, Notice, Settled, Token, Verified
from edge_app.decoding.text import TextDecoder


class EventEmitter:
    """Tells `emit` what happens, in the words of the text."""

    def __init__(self, emit: Emit, piece: Callable[[int], bytes]) -> None:
        self._emit = emit
        self._settled = TextDecoder(piece)
        self._waiting = self._settled.fork()
        self._texts: list[str] = []
        self.tokens: list[Token] = []
        """All that is settled."""

    def drafted(self, token_id: int) -> None:
        """A token was drafted."""
        text = self._waiting.push(token_id)
        self._texts.append(text)
        self._emit(Drafted(token_id, text))

    def shortened(self, length: int) -> None:
        """All but the draft's first `length` tokens was given up before it was sent."""
        del self._texts[length:]

    def judged(
        self, accepted: int, seconds: float, truncation_bound: float | None = None
    ) -> None:
        """The draft was judged."""
        refused = tuple(self._texts[accepted:])
        self._emit(
            Verified(len(self._texts), accepted, refused, seconds, truncation_bound)
        )

    def settled(self, block: TokenBlock) -> None:
        """Tokens are fixed; the rest of the draft is gone."""
        tokens = self._named(block)
        self.tokens += tokens
        self._waiting = self._settled.fork()
        self._texts = []
        self._emit(Settled(tuple(tokens)))

    def notice(self, sentence: str) -> None:
        """Something the person must know."""
        self._emit(Notice(sentence))

    def text(self) -> str:
        """The settled text."""
        return "".join(token.text for token in self.tokens)

    def _named(self, block: TokenBlock) -> Sequence[Token]:
        return [
            Token(token_id, self._settled.push(token_id), origin)
            for token_id, origin in zip(block.token_ids, block.origins, strict=True)
        ]
