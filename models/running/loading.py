"""Which engine runs a model: a module of `models.engines`, found by its name.

An engine's module has a function `load(path, settings, stop, progress)`.
"""

from __future__ import annotations

import pkgutil
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from decoding_core.errors import InvalidSettingsError, ModelError
from models import engines
from models.files import find
from models.running.interface import Language, Model
from models.running.machine import layers_on_accelerator, probe
from models.running.settings import EngineSettings

if TYPE_CHECKING:
    from models.engines.llama_cpp import LlamaReranker


@cache
def available() -> tuple[str, ...]:
    """Names of the engines, from the listing of their folder."""
    return tuple(sorted(one.name for one in pkgutil.iter_modules(engines.__path__)))


def check_engine(name: str) -> str:
    """`name`, if it is that of an engine, or `auto`; raises InvalidSettingsError."""
    if name != "auto" and name not in available():
        those = ", ".join(("auto", *available()))
        raise InvalidSettingsError(f"there is no engine '{name}'; choose one: {those}")
    return name


def load_model(
    path: Path,
    settings: EngineSettings | None = None,
    stop: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> Model:
    """Load the model at `path`, a file or a folder. `progress` is called with the share
    that is loaded, if the engine reports it.

    Raises:
        ModelError: it is missing, damaged, or no model that the engine runs.
        InvalidSettingsError: there is no such engine.
        StoppedError: another thread set `stop`.
    """
    settings = settings or EngineSettings()
    path = find(path)
    name = check_engine(settings.engine)
    if name == "auto":
        name = "llama_cpp" if path.is_file() else "transformers"
    if name == "llama_cpp":
        settings = for_this_machine(settings)
    try:
        engine: Any = import_module(f"{engines.__name__}.{name}")
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{path} needs the engine '{name}', and that needs {error.name}, which is "
            "not installed; 'make setup-torch' in the project's folder adds it"
        ) from error
    return cast(Model, engine.load(path, settings, stop, progress))


def load_language(path: Path) -> Language:
    """The tokens and the chat template of the GGUF file at `path`, without its weights;
    raises ModelError if it is missing or damaged."""
    from models.engines.llama_cpp import LlamaModel  # loads llama.cpp

    return LlamaModel(find(path), weights=False)


def for_this_machine(settings: EngineSettings) -> EngineSettings:
    """The settings with buffer types and layers that work here, unless they are set."""
    extra = settings.extra_buffers
    return replace(
        settings,
        extra_buffers=probe().works if extra is None else extra,
        gpu_layers=layers_on_accelerator(settings),
    )


def load_reranker(path: Path, settings: EngineSettings | None = None) -> LlamaReranker:
    """Load the reranker at `path` by llama.cpp; raises as `LlamaReranker` does."""
    from models.engines.llama_cpp import LlamaReranker  # loads llama.cpp

    return LlamaReranker(path, for_this_machine(settings or EngineSettings()))
