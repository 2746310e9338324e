"""What of a text leaves the device, and in which form.

A gate reads the text as the person does, token by token, and says of each stretch
whether the verifier reads it as it is, or what stands in for it. A stretch of which
that is not clear yet stays here until more is drafted. `Passage` keeps both forms of a
text and hands the loop what may leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NewType, Protocol

from edge_app.decoding.events import EventEmitter, HeldBack

_LOOKAHEAD = 12
"""Tokens drafted beyond a block at most, while the gate does not let its last ones
pass."""
HELD = -1

OwnIds = NewType("OwnIds", list[int])
"""Token ids as the person reads them."""
PublicIds = NewType("PublicIds", list[int])
"""Token ids as the server knows them."""


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


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """Drafted tokens that no verifier reads."""

    start: int
    """How many tokens stand before it in the text that the person reads."""
    length: int
    """How many drafted tokens it takes."""
    piece: Piece


class Passage:
    """The settled text in both forms, and the stretches of the draft that are held.

    The two forms are equal until something is kept from the server and replaced by a
    stand-in. The specialist reads `own`; generalist and base read `public`, and
    positions on the wire count it. A redrawn token is settled at once, and public when
    it has passed the gate.
    """

    def __init__(
        self, gate: Gate | None, emitter: EventEmitter, given_ids: Sequence[int] = ()
    ) -> None:
        """`given_ids` are settled and pass the gate as what is written here does."""
        self._gate = gate
        self._emitter = emitter
        self._passed = 0  # own tokens that the public ones stand for
        self._held: deque[HeldStretch] = deque()
        self.own = OwnIds(list(given_ids))
        self.public = PublicIds([])

    @property
    def waits(self) -> bool:
        """Whether settled tokens wait at the gate."""
        return self._passed < len(self.own)

    @property
    def held(self) -> int:
        """Drafted tokens that are held."""
        return sum(one.length for one in self._held)

    def held_next(self) -> HeldStretch | None:
        """The held stretch that the settled text ends before, if one does."""
        if self._held and self._held[0].start == len(self.own):
            return self._held[0]
        return None

    def stand_ins_from(self, place: int) -> list[int]:
        """What stands in for the held stretches from a place of the own text on."""
        held = (one for one in self._held if one.start >= place)
        return [token for one in held for token in one.piece.stand_in]

    def settle(self, token_ids: Sequence[int], *, leaves: int, replaced: bool) -> None:
        """Append tokens to the text, of which the first `leaves` have been sent; with
        `replaced`, nothing that was drafted behind them counts any more."""
        self.own.extend(token_ids)
        self._publish(leaves)
        if replaced:
            self._held.clear()

    def settle_held(self, token_ids: Sequence[int]) -> int:
        """Settle the next held stretch, as it was drafted; the length of its
        stand-in."""
        piece = self._held.popleft().piece
        self.own.extend(token_ids)
        self._pass(piece)
        return len(piece.stand_in)

    def void(self) -> None:
        """Forget the held stretches; the gate will be asked about them again."""
        self._held.clear()

    def pass_settled(self) -> None:
        """Let the settled tokens that wait at the gate pass, as far as it is clear."""
        while self.waits:
            piece: Piece | None = Piece(len(self.own) - self._passed)
            if self._gate is not None:
                piece = self._gate.next(self.own, self._passed, final=False)
            if piece is None:
                return
            self._pass(piece)

    def next(
        self, draft: Sequence[int], taken: int, wanted: int, final: bool
    ) -> int | None:
        """How many tokens of the draft, up to `wanted`, may leave now behind the first
        `taken`, which are out; `HELD`: the next ones are held from now on; None: more
        is to be drafted before that is clear, or before a block is long enough.

        What is settled and waits passes on the way, unless something is out. With
        `final`, nothing follows the draft.
        """
        if self._gate is None:
            return len(draft) - taken
        token_ids = [*self.own, *draft]
        place = len(self.own) + taken if taken else self._passed
        while place < len(token_ids):
            piece = self._gate.next(token_ids, place, final=final)
            if piece is None:
                return None
            waiting = max(0, len(self.own) - place)
            clear = piece.length - waiting
            if piece.held is not None:
                self._emitter.stands_in(piece.stand_in)
                if clear > 0:
                    start = max(place, len(self.own))
                    self._held.append(HeldStretch(start, clear, piece))
                    return HELD
                self._pass(piece)
            else:
                self._publish(min(piece.length, waiting))
                if clear >= 0 and not wanted:
                    return 0
                if clear > 0:
                    break
            place += piece.length
        else:
            return None if wanted else 0
        if clear < wanted and not final:
            behind = self._gate.next(token_ids, place + piece.length, final=False)
            if behind is None and len(draft) - taken < wanted + _LOOKAHEAD:
                return None
        return min(clear, wanted)

    def _pass(self, piece: Piece) -> None:
        """Let the next own tokens pass, as they are or as what stands in for them."""
        if piece.held is None:
            self._publish(piece.length)
            return
        self._emitter.held_back(
            replace(piece.held, position=self._passed, tokens=piece.length)
        )
        self.public.extend(piece.stand_in)
        self._passed += piece.length

    def _publish(self, length: int) -> None:
        self.public.extend(self.own[self._passed : self._passed + length])
        self._passed += length
