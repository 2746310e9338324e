"""The models of the server."""

from __future__ import annotations

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
    names: Sequence[bytes] = field(default=(), repr=False)
    """The names of the tokens, so that a device can find where its own differ."""
    check: Callable[[VerifierRole], None] = lambda _: None
    """Raises a DecodingError for a session that the models cannot serve, or not now."""
    text: Callable[[], AbstractContextManager[Model]] | None = None
    """The generalist's vocabulary and chat template, to be used while the block runs;
    None where it runs behind an address."""

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
    def candidates(self) -> int:
        """The most tokens that a row of the generalist can give."""
        return int(
            getattr(self.generalist, "candidates", self.generalist.vocabulary_size)
        )

    @property
    def slots(self) -> int:
        """How many texts each model can hold."""
        return min(model.slots for model in self.each())

    def rest(self) -> None:
        """Give back the memory of models that nobody has used for long."""
        for model in self.each():
            if isinstance(model, ServedModel):
                model.rest()

    def each(self) -> tuple[BatchEngine, ...]:
        """The generalist, then the base if there is one."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)
