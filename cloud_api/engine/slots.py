"""The models of the server, and the slots in which their caches hold texts.

A `Slot` is a cache in each model and holds one text. There may be more texts than
slots, and to read a text anew costs as much as many blocks of it. So a slot is *lent*:
whoever holds one keeps it, while others wait, until it has read several times what its
text would cost to be read anew, or until its device has been silent for a while
(`SlotPool.leaving`). Time is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from decoding_core.errors import VocabularyMismatchError
from decoding_core.protocols import BatchEngine, Reading
from decoding_core.verifier import VerifierRole, common_prefix

TENURE = 10
"""How many times the length of its text a holder may read while others wait. Lending a
slot anew costs one reading of the text, so swaps cost at most about a tenth."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that verify."""

    generalist: BatchEngine
    base: BatchEngine | None = None
    """None: the devices run it."""
    at_once: bool = False
    """Whether both read at the same time, each in a thread of its own."""
    in_pieces: bool = True
    """Whether a long text is read in pieces, so that others have their turn in between;
    a server behind an address does that by itself."""
    check: Callable[[VerifierRole], None] = lambda _: None
    """Raises a DecodingError for a session that the models cannot serve, or not now."""

    def __post_init__(self) -> None:
        if self.base is None:
            return
        if self.generalist.vocabulary_id != self.base.vocabulary_id:
            raise VocabularyMismatchError(
                f"the generalist '{self.generalist.name}' and the base "
                f"'{self.base.name}' have different vocabularies; give two models "
                "that share one"
            )

    @property
    def context_length(self) -> int:
        """How many tokens of prompt and text each model can hold."""
        return min(model.context_length for model in self.each())

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the models know; the same for both."""
        return self.generalist.vocabulary_size

    @property
    def candidates(self) -> int:
        """The most tokens that a row of the generalist can give."""
        return int(getattr(self.generalist, "candidates", self.vocabulary_size))

    @property
    def slots(self) -> int:
        """How many texts each model can hold."""
        return min(model.slots for model in self.each())

    def each(self) -> tuple[BatchEngine, ...]:
        """The generalist, then the base if there is one."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)


class SlotCache:
    """What one model has read in one slot."""

    def __init__(self, model: BatchEngine, number: int) -> None:
        self._model = model
        self._number = number
        self._read: tuple[int, ...] = ()
        self.count = 0
        """How many tokens the model has read for the slot's holder, those that were
        rolled back too."""

    def __len__(self) -> int:
        return len(self._read)

    def start(self, token_ids: tuple[int, ...], rows: int) -> int:
        """From where the model must read to give the last `rows` rows of logits."""
        return min(common_prefix(self._read, token_ids), len(token_ids) - rows)

    def prepare(
        self,
        token_ids: tuple[int, ...],
        rows: int,
        candidates: int | None = None,
        asked: Sequence[int] = (),
    ) -> Reading:
        """Roll back to where the cache and `token_ids` differ; what is then to be
        read. Call `advance` when it was read."""
        start = self.start(token_ids, rows)
        if start < len(self._read):
            self._model.rollback(self._number, start)
            self._read = self._read[:start]
        return Reading(self._number, token_ids[start:], rows, candidates, asked)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """Note that the model has read `token_ids`."""
        self.count += len(token_ids) - len(self._read)
        self._read = token_ids

    def clear(self) -> None:
        """Forget the text, before another session takes the slot or after a fault."""
        self._model.rollback(self._number, 0)
        self._read = ()


class Slot:
    """One cache in each model."""

    def __init__(self, models: Models, number: int) -> None:
        self.generalist = SlotCache(models.generalist, number)
        self._base = None if models.base is None else SlotCache(models.base, number)
        self.kept_until = -float("inf")
        """Until when a holder without a block keeps the slot while another waits; one
        whose text was only read ahead leaves at once."""

    @property
    def base(self) -> SlotCache:
        """The cache of the base; asked for in sessions that use the base alone."""
        assert self._base is not None
        return self._base

    @property
    def used_up(self) -> bool:
        """Whether its holder has read so much that another may have the slot."""
        return self.generalist.count > TENURE * len(self.generalist)

    def clear(self) -> None:
        """Forget the text in each model."""
        self.generalist.clear()
        if self._base is not None:
            self._base.clear()

    def vacate(self) -> None:
        """Forget the text and its holder."""
        self.clear()
        self.generalist.count = 0
        self.kept_until = -float("inf")


class SlotPool:
    """All slots, and the sessions that hold them."""

    def __init__(self, models: Models) -> None:
        self._free = [Slot(models, number) for number in range(models.slots)]
        self._free.reverse()
        self._size = len(self._free)
        self._held: dict[str, Slot] = {}

    @property
    def has_free(self) -> bool:
        """Whether a slot is held by nobody."""
        return bool(self._free)

    def held(self, session_id: str) -> Slot | None:
        """The slot that a session holds, or None."""
        return self._held.get(session_id)

    def take(self, session_id: str) -> Slot | None:
        """The session's slot, or a free one, or None."""
        if session_id not in self._held and self._free:
            self._held[session_id] = self._free.pop()
        return self._held.get(session_id)

    def leaving(self, waiting: Collection[str]) -> tuple[str, float]:
        """The holder that is the first to leave for another, and from when on: one
        whose text was only read ahead, or that has used its slot up, at any time; one
        that is not in `waiting` for a block, at the end of its patience; any other,
        never (infinity). The pool must not be empty."""

        def leaves(session_id: str) -> float:
            slot = self._held[session_id]
            if slot.used_up:
                return -float("inf")
            return float("inf") if session_id in waiting else slot.kept_until

        # Of those that may leave now, a text that nobody writes at costs least.
        first = min(
            self._held,
            key=lambda one: (leaves(one), one in waiting, self._held[one].kept_until),
        )
        return first, leaves(first)

    def has_spare(self, session_id: str) -> bool:
        """Whether a session may read ahead: it has a slot, or two are free, of which
        the other is left to the next block that comes. A single slot is lent."""
        free = len(self._free)
        return session_id in self._held or free > 1 or free == self._size

    def release(self, session_id: str) -> None:
        """Clear the slot of a session that ended, or leaves it to another."""
        slot = self._held.pop(session_id, None)
        if slot is not None:
            slot.vacate()
            self._free.append(slot)
