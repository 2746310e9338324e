"""The models of the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cloud_api.engine.served_model import ServedModel
from decoding_core.errors import VocabularyMismatchError
from decoding_core.protocols import BatchEngine
from decoding_core.verifier import VerifierRole

if TYPE_CHECKING:
    from models.running.interface import Model


@dataclass(slots=True)
class ReadingCounts:
    """What a model has read since the server started."""

    tokens: int = 0
    seconds: float = 0.0
    batches: Counter[int] = field(default_factory=Counter)
    """How many passes read so many texts at once."""
    held: int = 0
    """How many tokens its slots hold now."""


@dataclass(slots=True)
class EngineCounts:
    """What the engine thread has done since the server started; written by it alone."""

    generalist: ReadingCounts = field(default_factory=ReadingCounts)
    base: ReadingCounts = field(default_factory=ReadingCounts)
    evictions: Counter[str] = field(default_factory=Counter)
    """How many texts lost their slot before they ended: by `turn` to one that waited,
    by `budget` to one that needed their tokens, by `rest` as the models were
    unloaded."""
    reread: int = 0
    """Tokens that these had to read once more."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The models in memory, or behind an address, until they rest the next time."""

    generalist: BatchEngine
    base: BatchEngine | None


@dataclass(frozen=True, slots=True)
class Models:
    """The models that verify."""

    generalist: BatchEngine | ServedModel
    base: BatchEngine | ServedModel | None = None
    """None: the devices run it."""
    at_once: bool = False
    """Whether both read at the same time, each in a thread of its own."""
    in_pieces: bool = True
    """Whether a long text is read in pieces, so that others have their turn in between;
    a server behind an address does that by itself."""
    names: Sequence[bytes] = field(default=(), repr=False)
    """The names of the tokens, so that a device can find where its own differ."""
    check: Callable[[VerifierRole], None] = lambda _: None
    """Raises a DecodingError for a session that the models cannot serve, or not now."""
    text: Callable[[], AbstractContextManager[Model]] | None = None
    """The generalist's vocabulary and chat template, to be used while the block runs;
    None where it runs behind an address, and no model of its family here."""
    kv_tokens: int | None = None
    """The most tokens that all slots of a model hold together; None: as many as fit
    into the slots."""
    unload_seconds: float | None = None
    """After so long without a command to the engine thread the models' memory is given
    back; None: never."""
    counts: EngineCounts = field(default_factory=EngineCounts)

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
        most = min(model.context_length for model in self.each())
        return most if self.kv_tokens is None else min(most, self.kv_tokens)

    @property
    def candidates(self) -> int:
        """The most tokens that a row of the generalist can give."""
        return int(
            getattr(self.generalist, "candidates", self.generalist.vocabulary_size)
        )

    @property
    def slots(self) -> int:
        """How many texts each model can hold."""
        return min(model.slots for model in self.each())

    @property
    def may_rest(self) -> bool:
        """Whether one of the models could give its memory back now."""
        served = [one for one in self.each() if isinstance(one, ServedModel)]
        return any(one.loaded for one in served) and not any(
            one.in_use for one in served
        )

    def rest(self) -> None:
        """Give back the memory of all models that were loaded here."""
        for model in self.each():
            if isinstance(model, ServedModel):
                model.rest()

    def opened(self) -> Opened:
        """What reads; models that rest are loaded first, and raise as
        `ServedModel.opened` does."""
        generalist, *base = (
            one.opened() if isinstance(one, ServedModel) else one for one in self.each()
        )
        return Opened(generalist, base[0] if base else None)

    def each(self) -> tuple[BatchEngine | ServedModel, ...]:
        """The generalist, then the base if there is one."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)
