"""Texts that are drafted at once: what each of them reads is read in one pass.

Each text has a thread and a slot of its own. A reading waits for those of the texts
that are about to read, too, and not for one that waits for its verdict or has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from decoding_core.errors import ContextFullError
from decoding_core.protocols import Reading
from decoding_core.sampling import Floats
from models.running.interface import SlotEngine, TextSlots

_PATIENCE = 0.02
"""Seconds for a text that is held up elsewhere, such as by a question to the person."""


class Together:
    """The readings of several texts over the slots of one cache."""

    def __init__(self, slots: TextSlots) -> None:
        self._slots = slots
        self._changed = threading.Condition()
        self._drafting: set[int] = set()  # slots whose texts read or are about to
        self._waiting: dict[int, Reading] = {}
        self._read: dict[int, Floats | BaseException] = {}
        self._busy = False

    def engine(self, slot: int) -> SlotEngine:
        """The engine of one text."""
        return _Gathered(self._slots, slot, self)

    @contextmanager
    def away(self, slot: int) -> Iterator[None]:
        """Meanwhile the text does not read, and nobody waits for it."""
        self.leave(slot)
        yield

    def leave(self, slot: int) -> None:
        """The text reads no more, or not soon."""
        with self._changed:
            self._drafting.discard(slot)
            self._changed.notify_all()

    def evaluate(self, reading: Reading) -> Floats:
        """Logits (rows, V) of a reading; raises as `TextSlots.evaluate`."""
        slot, until = reading.slot, time.monotonic() + _PATIENCE
        with self._changed:
            self._drafting.add(slot)
            self._waiting[slot] = reading
            self._changed.notify_all()
            while slot not in self._read:
                all_here = self._drafting <= self._waiting.keys()
                late = time.monotonic() >= until
                if slot in self._waiting and not self._busy and (all_here or late):
                    self._pass()
                else:
                    self._changed.wait(None if late else _PATIENCE)
            found = self._read.pop(slot)
        if isinstance(found, BaseException):
            raise found
        return found

    def _pass(self) -> None:
        """Read all that waits, while others may come to wait."""
        readings, self._busy = list(self._waiting.values()), True
        self._waiting = {}
        self._changed.release()
        found: list[Floats | BaseException] = []
        try:
            found += self._slots.evaluate(readings)
        except ContextFullError:  # of one of them, and none was read
            for one in readings:
                try:
                    found += self._slots.evaluate([one])
                except ContextFullError as error:
                    found.append(error)
        except BaseException as error:  # noqa: BLE001 - each thread raises it
            found = [error] * len(readings)
        finally:
            self._changed.acquire()
            self._busy = False
        slots = (one.slot for one in readings)
        self._read.update(zip(slots, found, strict=True))
        self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class _Gathered(SlotEngine):
    """A slot that reads with others."""

    passes: Together

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Logits (rows, V), read in one pass with other texts; raises as
        `TextSlots.evaluate`."""
        return self.passes.evaluate(Reading(self.slot, token_ids, rows))
