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
    end, where that is not clear yet, is read as it is; so is all without a gate.

    What has left stays as it left, also where the tokens behind it are drawn anew and
    the gate would hold it back now.
    """

    def __init__(self, gate: Gate | None = None, most: int | None = None) -> None:
        """A text ends with its token `most`, if not before; None: that is not known."""
        self._gate = gate
        self._most = most
        self._own: list[int] = []
        self._read: list[tuple[int, Sequence[int], bool]] = []
        """Where each stretch ends, what the verifier reads, and whether that stands in
        for it."""
        self._left = 0  # so many tokens of the text have left, or what stands for them

    def __call__(self, text_ids: Sequence[int]) -> list[int]:
        """Token ids as the verifier reads them."""
        self._look(text_ids)
        end = self._read[-1][0] if self._read else 0
        public = [token for _, read, _ in self._read for token in read]
        return public + list(text_ids[end:])

    def first(self, length: int) -> list[int]:
        """How the verifier reads the first tokens of the text that was told last."""
        begin, public = 0, list[int]()
        for end, read, held in self._read:
            if end > length:
                if not held:
                    public += read[: length - begin]
                    begin = length
                break
            public += read
            begin = end
        return public + self._own[begin:length]

    def places(self, text_ids: Sequence[int]) -> list[int | None]:
        """For each token that the verifier reads its place in the text; None: it stands
        in for others."""
        self._look(text_ids)
        begin, places = 0, list[int | None]()
        for end, read, held in self._read:
            places += [None] * len(read) if held else range(begin, end)
            begin = end
        return [*places, *range(begin, len(text_ids))]

    def has_left(self, length: int) -> None:
        """The verifier has so many tokens of what was told last."""
        begin = 0
        for end, read, held in self._read:
            if length < len(read):
                begin += 0 if held else length
                self._left = max(self._left, begin)
                return
            length -= len(read)
            begin = end
        if length:  # nothing was to follow, so it left before that was clear
            rest = self._own[begin : begin + length]
            begin += len(rest)
            self._read.append((begin, rest, False))
        self._left = max(self._left, begin)

    def _look(self, text_ids: Sequence[int]) -> None:
        """See what has become of the stretches; those that are known from the last call
        are not looked at again, but for those of which that hung on tokens behind them
        that are others now."""
        same = common_prefix(self._own, text_ids)
        self._left = min(self._left, same)
        anew = same < len(self._own)
        while anew and self._read and self._read[-1][0] > self._left:
            end, _, held = self._read[-1]
            if held and end <= same:
                break
            self._read.pop()
            begin = self._read[-1][0] if self._read else 0
            if not held and begin < self._left:
                kept = text_ids[begin : self._left]
                self._read.append((self._left, kept, False))
        self._own = list(text_ids)
        at = self._read[-1][0] if self._read else 0
        final = self._most is not None and len(text_ids) >= self._most
        while self._gate is not None and at < len(text_ids):
            piece = self._gate.next(text_ids, at, final=final)
            if piece is None:
                break
            read = piece.stand_in
            if piece.held is None:
                read = tuple(text_ids[at : at + piece.length])
            at += piece.length
            self._read.append((at, read, piece.held is not None))
