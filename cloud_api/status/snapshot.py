"""How the server is at a moment, gathered from all its parts."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cloud_api.engine.loading import LoadProgress
from cloud_api.engine.models import EngineCounts, Models, ReadingCounts
from cloud_api.engine.scheduler import EngineThread
from cloud_api.engine.served_model import ServedModel
from cloud_api.sessions.service import Service
from cloud_api.sessions.session import RoundCounts
from decoding_core.foreign_text import one_line
from decoding_core.messages import VERSION
from decoding_core.protocols import BatchEngine


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One of the models that verify."""

    role: str
    """`generalist` or `base`."""
    name: str
    loaded: bool
    """Whether it is in memory now; one that rests is loaded at the next request."""
    context_length: int
    slots: int
    loads: int
    """How often it was loaded; 0 where another server runs it."""
    counts: ReadingCounts


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server at a moment."""

    state: str
    """`ready`, `loading` or `stopping`."""
    progress: LoadProgress
    models: tuple[ModelStatus, ...]
    kv_tokens: int
    """How many tokens the slots of a model may hold together; 0 before it is loaded."""
    engine: EngineCounts
    sessions: Counter[str]
    """How many each user has."""
    waiting: int
    """Blocks whose answers are being made."""
    streams: int
    connections: int
    rounds: RoundCounts
    answers: Counter[int]
    """How many requests were answered with each status of HTTP."""
    texts: int | None
    """Texts that are being written for other programs; None where that is off."""
    text_tokens: int
    started: float
    """When the server started, in seconds since 1970."""
    versions: Mapping[str, str]


def status_of(state: Any) -> ServerStatus:
    """The server whose application has this `state`."""
    service: Service = state.service
    engine: EngineThread = state.engine
    texts = getattr(state, "texts", None)
    said = "stopping" if service.stopping.is_set() else "ready"
    models = engine.models
    if models is None and said == "ready":
        said = "loading"
    return ServerStatus(
        said,
        state.progress,
        () if models is None else _models(models),
        0
        if models is None
        else models.kv_tokens or models.slots * models.context_length,
        EngineCounts() if models is None else models.counts,
        service.sessions_of_users(),
        len(service.rounds.running),
        len(state.streams),
        len(state.door),
        service.rounds.counts,
        state.answers,
        None if texts is None else len(texts),
        0 if texts is None else texts.tokens,
        state.started,
        _versions(),
    )


def _models(models: Models) -> tuple[ModelStatus, ...]:
    def described(
        role: str, model: BatchEngine | ServedModel, counts: ReadingCounts
    ) -> ModelStatus:
        served = model if isinstance(model, ServedModel) else None
        return ModelStatus(
            role,
            one_line(model.name),
            served is None or served.loaded,
            model.context_length,
            model.slots,
            0 if served is None else served.loads,
            counts,
        )

    roles, counts = ("generalist", "base"), models.counts
    return tuple(map(described, roles, models.each(), (counts.generalist, counts.base)))


def _versions() -> dict[str, str]:
    """The versions that a report of a fault should name."""
    found = {"python": platform.python_version(), "protocol": str(VERSION)}
    for name in ("specsteer", "llama-cpp-python"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def up_for(status: ServerStatus) -> str:
    """How long the server has been running, in words."""
    minutes = int(time.time() - status.started) // 60
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h {minutes} min" if days else f"{hours} h {minutes} min"
