"""A model whose memory is given back while nobody asks, and had again when somebody
does.

The engine thread decides when (`Scheduler.rest`, `Scheduler.step`): between two rests
it reads with the opened model itself, and nothing stands between a block and its model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cloud_api.errors import ServerError
from models.running.interface import Model, TextSlots


class ServedModel:
    """A model that is not always loaded. What is told of it holds while it is not."""

    def __init__(self, opened: TextSlots, reopen: Callable[[], TextSlots]) -> None:
        """Serve `opened`; `reopen` gives the same model once more, after it was
        closed."""
        self.name = opened.name
        self.vocabulary_id = opened.vocabulary_id
        self.vocabulary_size = opened.vocabulary_size
        self.context_length = opened.context_length
        self.slots = opened.slots
        self.loads = 1
        """How often it was loaded."""
        self._opened: TextSlots | None = opened
        self._reopen = reopen
        self._users = 0
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        """Held for a moment alone, unlike the other, with which a model is loaded."""

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now."""
        return self._opened is not None

    @property
    def in_use(self) -> bool:
        """Whether somebody besides the engine thread needs it to stay loaded."""
        return self._users > 0

    def opened(self) -> TextSlots:
        """The model with empty caches, if it was not loaded; loading takes as long as
        it takes.

        Raises:
            ModelError: it cannot be loaded any more.
            ServerError: its file is another model's now.
        """
        with self._lock:
            if self._opened is None:
                again = self._reopen()
                if again.vocabulary_id != self.vocabulary_id:
                    again.close()
                    raise ServerError(
                        f"another model has taken the place of '{self.name}'; start "
                        "the server again"
                    )
                self._opened = again
                self.loads += 1
            return self._opened

    def rest(self) -> None:
        """Give the memory back, unless somebody needs the model. Returns at once, also
        while it is being loaded."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._users and self._opened is not None:
                self._opened.close()
                self._opened = None
        finally:
            self._lock.release()

    @contextmanager
    def model(self) -> Iterator[Model]:
        """The model's vocabulary and chat template, while the block runs; raises as
        `opened` does."""
        with self._counting:
            self._users += 1
        try:
            yield self.opened().model
        finally:
            with self._counting:
                self._users -= 1

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread; the model is not used again."""
        opened = self._opened
        if opened is not None:
            opened.interrupt()

    def close(self) -> None:
        """Free the memory."""
        if self._opened is not None:
            self._opened.close()
