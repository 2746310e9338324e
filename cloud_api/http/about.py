"""The routes that say how the server is: alive, ready, with which models."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from cloud_api.engine.batch_engine import BatchEngine
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.sessions.limits import candidate_limit
from cloud_api.sessions.service import Service
from cloud_api.sessions.state import WINDOW
from decoding_core.messages import DRAFT_LIMIT, SETTLED_LIMIT
from decoding_core.wire import VERSION

router = APIRouter()


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"state": "alive"}


@router.get("/readyz")
async def readyz(request: Request) -> JSONResponse:
    """Whether sessions can be opened."""
    service: Service = request.app.state.service
    try:
        _ = service.models
    except LoadingError:
        return JSONResponse({"state": "loading"}, 503, {"Retry-After": "1"})
    except StoppingError:
        return JSONResponse({"state": "stopping"}, 503, {"Retry-After": "5"})
    return JSONResponse({"state": "ready"})


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    """The models that judge, and what may be asked of them."""
    service: Service = request.app.state.service
    pair, settings = service.models, service.settings
    return {
        "version": VERSION,
        "generalist": _model(pair.generalist),
        "base": None if pair.base is None else _model(pair.base),
        "limits": {
            "context_length": pair.context_length,
            "vocabulary_size": pair.vocabulary_size,
            "draft_limit": DRAFT_LIMIT,
            "settled_limit": SETTLED_LIMIT,
            "candidates": candidate_limit(pair, settings),
            "window": WINDOW,
            "answer_bytes": settings.answer_bytes,
            "body_bytes": settings.body_bytes,
            "sessions_in_memory": pair.slots,
            "sessions_known": settings.known_sessions,
            "idle_seconds": settings.idle_seconds,
        },
    }


def _model(model: BatchEngine) -> dict[str, Any]:
    return {
        "name": model.name,
        "vocabulary_id": model.vocabulary_id,
        "context_length": model.context_length,
    }
