"""Token ids to text, one token at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable


class TextDecoder:
    """Decodes pieces of UTF-8; a character that spans tokens belongs to the last."""

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        self._piece = piece
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_id: int) -> str:
        """Text that the token completes; may be empty."""
        return self._decoder.decode(self._piece(token_id))

    def fork(self) -> TextDecoder:
        """A decoder in the same state, for tokens that may yet be refused."""
        copy = TextDecoder(self._piece)
        copy._decoder.setstate(self._decoder.getstate())
        return copy
