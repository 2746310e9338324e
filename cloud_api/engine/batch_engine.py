"""The models as the scheduler sees them: some slots, and one call that reads on in
several of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from decoding_core.errors import VocabularyMismatchError
from decoding_core.sampling import Floats


@dataclass(frozen=True, slots=True)
class Reading:
    """Tokens to read in one slot, and how many rows of logits are wanted."""

    slot: int
    token_ids: Sequence[int]  # (T,)
    rows: int


class BatchEngine(Protocol):
    """A model with `slots` caches. Used by the engine thread alone, but for
    `interrupt`."""

    @property
    def name(self) -> str:
        """For the screen."""

    @property
    def vocabulary_id(self) -> str:
        """Hash of the token list."""

    @property
    def vocabulary_size(self) -> int:
        """V."""

    @property
    def context_length(self) -> int:
        """How many tokens a slot holds."""

    @property
    def slots(self) -> int:
        """How many texts it can hold."""

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots, in one pass where they fit; logits (rows, V) of
        each. When it raises, nothing was read."""

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread; the model is not used again."""

    def close(self) -> None:
        """Free the memory."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that judge."""

    generalist: BatchEngine
    base: BatchEngine | None = None
    """None: the devices run it."""

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
        """How many tokens of prompt and text each can hold."""
        return min(model.context_length for model in self.each())

    @property
    def vocabulary_size(self) -> int:
        """V, the same for both."""
        return self.generalist.vocabulary_size

    @property
    def slots(self) -> int:
        """How many texts each can hold."""
        return min(model.slots for model in self.each())

    def each(self) -> tuple[BatchEngine, ...]:
        """Those there are, the generalist first."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)
