"""GGUF models, served by llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cloud_api.engine.batch_engine import Models, Reading
from decoding_core.errors import VocabularyMismatchError
from decoding_core.sampling import Floats
from models.engines.settings import EngineSettings

if TYPE_CHECKING:
    from models.engines.llama_cpp import LlamaModel

_LONGEST_CONTEXT = 8192  # caches for all that a large model can read would fill memory


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """Which models to serve, and how."""

    generalist: Path
    base: Path | None
    """None: the devices run it."""
    slots: int = 4
    context_length: int | None = None
    """Tokens per text; None: as many as the models were trained for, up to 8,192."""
    engine: EngineSettings = field(default_factory=EngineSettings)


class LlamaServed:
    """A `BatchEngine` over one llama.cpp context."""

    def __init__(self, model: LlamaModel, slots: int, context_length: int) -> None:
        from models.engines.llama_cpp import LlamaContext

        self._model = model
        self._context = LlamaContext(model, slots, context_length)
        self.name = model.name
        self.vocabulary_id = model.vocabulary_id
        self.vocabulary_size = model.vocabulary_size
        self.context_length = context_length
        self.slots = slots

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        self._context.sequence(slot).rollback(position)

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots with one decode where they fit in a batch."""
        from models.engines import llama_cpp

        # Consecutive slots are what llama.cpp splits least.
        order = sorted(range(len(readings)), key=lambda i: readings[i].slot)
        wanted = [readings[i] for i in order]
        logits = self._context.evaluate_many(
            [
                llama_cpp.Reading(self._context.sequence(r.slot), r.token_ids, r.rows)
                for r in wanted
            ]
        )
        by_seat = {r.slot: rows for r, rows in zip(wanted, logits, strict=True)}
        return [by_seat[reading.slot] for reading in readings]

    def interrupt(self) -> None:
        """Abort a long evaluation."""
        self._context.stop.set()

    def close(self) -> None:
        """Free the caches and the weights."""
        self._context.close()
        self._model.close()


def load_models(options: LlamaOptions) -> Models:
    """Load the generalist, and the base where it is to run here.

    Raises:
        ModelError: one cannot be loaded.
        VocabularyMismatchError: they do not share a vocabulary.
        EngineError: there is no memory for the texts.
    """
    # llama.cpp costs a second to import; the server must listen before that.
    from models.engines.llama_cpp import LlamaModel

    generalist = LlamaModel(options.generalist, options.engine)
    loaded = [generalist]
    if options.base is not None:
        base = LlamaModel(options.base, options.engine)
        _check_vocabularies(generalist, base)
        loaded.append(base)
    trained = min(model.context_length for model in loaded)
    length = options.context_length or min(trained, _LONGEST_CONTEXT)
    return Models(*(LlamaServed(model, options.slots, length) for model in loaded))


def _check_vocabularies(generalist: LlamaModel, base: LlamaModel) -> None:
    if generalist.vocabulary_id != base.vocabulary_id:
        raise VocabularyMismatchError(
            f"{generalist.path} and {base.path} have different vocabularies; "
            "give a generalist and a base that share one"
        )
