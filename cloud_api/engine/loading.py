"""The models that the server runs, and how they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cloud_api.engine.models import Models
from models.running.settings import EngineSettings, usable_cores

BLOCK = 8
"""Tokens of a usual block: what the server's models read most of the time."""
_LONGEST_CONTEXT = 8192  # caches for all that a large model can read would fill memory


@dataclass(frozen=True, slots=True)
class StockAddress:
    """A model that a stock server (vLLM) runs."""

    url: str
    model: str = ""
    """The name it is served by; "" where the server serves a single one."""
    key: str = field(default="", repr=False)
    """Of the server, where it wants one."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which models the server runs, and how."""

    generalist: Path | StockAddress
    base: Path | StockAddress | None
    """None: the devices run it. Behind an address only where the generalist is."""
    slots: int = 4
    context_length: int | None = None
    """Tokens per text; None: as many as the models were trained for, up to 8,192."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    tokenizer: Path | None = None
    """Where the tokens of a generalist behind an address are read; None: they are the
    base's."""


def load_models(options: ModelOptions) -> Models:
    """Load the generalist, and the base where it is to run here.

    Raises:
        ModelError: one cannot be loaded.
        VocabularyMismatchError: they do not share a vocabulary.
        EngineError: there is no memory for the texts.
        DecodingError: as `connect_models` does, where the generalist is on a server.
    """
    if isinstance(options.generalist, StockAddress):
        # Its HTTP client is loaded for those alone who have named a server.
        from cloud_api.engine.stock_models import connect_models

        return connect_models(options, options.generalist)
    assert not isinstance(options.base, StockAddress)
    # An engine costs a second to import; the server must listen before that.
    from models.running.interface import check_one_vocabulary
    from models.running.loading import load_model
    from models.running.threads import fit_threads

    loaded = [load_model(options.generalist, options.engine)]
    if options.base is not None:
        loaded.append(load_model(options.base, options.engine))
        check_one_vocabulary(*loaded)
    trained = min(model.context_length for model in loaded)
    length = options.context_length or min(trained, _LONGEST_CONTEXT)
    contexts = [model.open(options.slots, length, owns_model=True) for model in loaded]
    threads = [fit_threads(context, BLOCK) for context in contexts]
    # llama.cpp's threads spin while they wait for each other: with fewer cores than
    # threads, two models at once are slower than one after the other.
    at_once = sum(threads) <= usable_cores()
    generalist, *base = contexts
    names = loaded[0].vocabulary.names()
    return Models(generalist, base[0] if base else None, at_once, names=names)
