"""What a draft must pass before it leaves the device: the interface of a gate.

The gate looks at the text as the person reads it, token by token, and says of each
stretch whether the verifier may read it or what it reads in its place. A stretch of
which that is not clear yet stays here until more is drafted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from decoding_core.verifier import common_prefix
from edge_app.decoding.events import HeldBack


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes of the next tokens of a text."""

    length: int
    """How many tokens, as the person reads them."""
    stand_in: tuple[int, ...] = ()
    """What the verifier reads in their place."""
    held: HeldBack | None = None
    """What was found in them; None: the verifier reads them as they are."""


class Gate(Protocol):
    """Decides what may leave."""

    def next(
        self, token_ids: Sequence[int], start: int, *, final: bool
    ) -> Piece | None:
        """What becomes of the tokens from `start` on, of a text that holds them all;
        None: that is not clear before more is drafted. With `final`, nothing follows.

        The answer depends on the tokens alone, so it is the same however a text is cut
        into blocks.
        """


class PublicText:
    """Tells how the verifier reads a text, by what the gate says of each stretch. The
    end, where that is not clear yet, is read as it is; so is all without a gate."""

    def __init__(self, gate: Gate | None = None) -> None:
        self._gate = gate
        self._own: list[int] = []
        self._read: list[tuple[int, Sequence[int], bool]] = []
        """Where each stretch ends, what the verifier reads, and whether that stands in
        for it."""

    def __call__(self, text_ids: Sequence[int]) -> list[int]:
        """Token ids as the verifier reads them."""
        self._look(text_ids)
        end = self._read[-1][0] if self._read else 0
        public = [token for _, read, _ in self._read for token in read]
        return public + list(text_ids[end:])

    def places(self, text_ids: Sequence[int]) -> list[int | None]:
        """For each token that the verifier reads its place in the text; None: it stands
        in for others."""
        self._look(text_ids)
        begin, places = 0, list[int | None]()
        for end, read, held in self._read:
            places += [None] * len(read) if held else range(begin, end)
            begin = end
        return [*places, *range(begin, len(text_ids))]

    def _look(self, text_ids: Sequence[int]) -> None:
        """See what has become of the stretches; those that are known from the last call
        are not looked at again."""
        same = common_prefix(self._own, text_ids)
        while self._read and self._read[-1][0] > same:
            self._read.pop()
        self._own = list(text_ids)
        at = self._read[-1][0] if self._read else 0
        while self._gate is not None and at < len(text_ids):
            piece = self._gate.next(text_ids, at, final=False)
            if piece is None:
                break
            read = piece.stand_in
            if piece.held is None:
                read = tuple(text_ids[at : at + piece.length])
            at += piece.length
            self._read.append((at, read, piece.held is not None))
