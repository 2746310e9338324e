"""The models that the server runs, and how they are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cloud_api.engine.models import (
    BLOCK,
    LoadProgress,
    ModelOptions,
    Models,
    ServedModel,
    StockAddress,
)
from models.running.interface import Model, TextSlots
from models.running.settings import usable_cores

_LONGEST_CONTEXT = 8192  # caches for all that a large model can read would fill memory


def load_models(options: ModelOptions, progress: LoadProgress | None = None) -> Models:
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
    from models.running.machine import fit_threads

    progress = progress or LoadProgress()
    settings = replace(options.engine, kv_tokens=options.kv_tokens)

    def loaded(role: str, path: Path) -> Model:
        progress.role, progress.share = role, 0.0

        def tell(share: float) -> None:
            progress.share = share

        return load_model(path, settings, progress=tell)

    def opened(model: Model, length: int) -> tuple[TextSlots, int]:
        context = model.open(options.slots, length, owns_model=True)
        return context, fit_threads(context, BLOCK)

    paths = {"generalist": options.generalist}
    if options.base is not None:
        paths["base"] = options.base
    found = {role: loaded(role, path) for role, path in paths.items()}
    if options.base is not None:
        check_one_vocabulary(*found.values())
    names = found["generalist"].vocabulary.names()
    trained = min(model.context_length for model in found.values())
    length = options.context_length or min(trained, _LONGEST_CONTEXT)
    if options.kv_tokens is not None:
        length = min(length, options.kv_tokens)
    served, threads = [], 0
    for role, model in found.items():
        context, count = opened(model, length)
        threads += count

        def again(role: str = role) -> TextSlots:
            return opened(loaded(role, paths[role]), length)[0]

        served.append(ServedModel(context, again))
    progress.role = ""
    # llama.cpp's threads spin while they wait for each other: with fewer cores than
    # threads, two models at once are slower than one after the other.
    at_once = threads <= usable_cores()
    generalist, *base = served
    return Models(
        generalist,
        base[0] if base else None,
        at_once,
        names=names,
        text=generalist.model,
        kv_tokens=options.kv_tokens,
        unload_seconds=options.unload_seconds,
    )
