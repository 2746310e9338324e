"""Seats: the caches of the models, lent to sessions, the longest unused taken back.

Used by the engine thread alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from cloud_api.engine.batch_engine import BatchEngine, Models, Reading


class SlotCache:
    """What one model has read in one slot."""

    def __init__(self, model: BatchEngine, number: int) -> None:
        self._model = model
        self._number = number
        self._read: tuple[int, ...] = ()

    def start(self, token_ids: tuple[int, ...], rows: int) -> int:
        """From where the model must read to give the last `rows` rows of logits."""
        return min(common_prefix(self._read, token_ids), len(token_ids) - rows)

    def prepare(self, token_ids: tuple[int, ...], rows: int) -> Reading:
        """Roll back to where `token_ids` go on; what is then to be read.
        Call `advance` when it was read."""
        start = self.start(token_ids, rows)
        if start < len(self._read):
            self._model.rollback(self._number, start)
            self._read = self._read[:start]
        return Reading(self._number, token_ids[start:], rows)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """The model has read `token_ids`."""
        self._read = token_ids

    def clear(self) -> None:
        """Forget the text, before another session sits here or after a fault."""
        self._model.rollback(self._number, 0)
        self._read = ()


class Slot:
    """One cache in each model."""

    def __init__(self, models: Models, number: int) -> None:
        self.generalist = SlotCache(models.generalist, number)
        self._base = None if models.base is None else SlotCache(models.base, number)

    @property
    def base(self) -> SlotCache:
        """The base's; asked for in sessions that use it alone."""
        assert self._base is not None
        return self._base

    def caches(self, uses_base: bool) -> list[SlotCache]:
        """Those that a method needs."""
        return [self.generalist, self.base] if uses_base else [self.generalist]

    def clear(self) -> None:
        """Forget the text in each model."""
        for cache in self.caches(self._base is not None):
            cache.clear()


class SlotPool:
    """All slots and who sits where."""

    def __init__(self, models: Models) -> None:
        self._free = [Slot(models, number) for number in range(models.slots)]
        self._free.reverse()
        self._size = len(self._free)
        self._taken: OrderedDict[str, Slot] = OrderedDict()

    def take(self, session_id: str, keep: Collection[str]) -> Slot | None:
        """The session's slot; a free one; that of the session unused for longest that
        is not in `keep`; or None."""
        if session_id not in self._taken:
            slot = self._free.pop() if self._free else self._evict(keep)
            if slot is None:
                return None
            self._taken[session_id] = slot
        self._taken.move_to_end(session_id)
        return self._taken[session_id]

    def has_spare(self, session_id: str) -> bool:
        """Whether a session may read ahead: it has a slot, or two are free, of which
        the other is left to the next block that comes. A single slot is lent."""
        free = len(self._free)
        return session_id in self._taken or free > 1 or free == self._size

    def spare(self, session_id: str) -> Slot | None:
        """The slot to read ahead in, the first to be taken back; or None."""
        if not self.has_spare(session_id):
            return None
        if session_id not in self._taken:
            self._taken[session_id] = self._free.pop()
            self._taken.move_to_end(session_id, last=False)
        return self._taken[session_id]

    def release(self, session_id: str) -> None:
        """Clear the slot of a session that ended."""
        slot = self._taken.pop(session_id, None)
        if slot is not None:
            slot.clear()
            self._free.append(slot)

    def _evict(self, keep: Collection[str]) -> Slot | None:
        for session_id in self._taken:
            if session_id not in keep:
                self.release(session_id)
                return self._free.pop()
        return None


def common_prefix(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two texts share from their start."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    pairs = zip(one, other, strict=False)
    return next(i for i, (left, right) in enumerate(pairs) if left != right)
