"""The routes over HTTP: how the server is, and how a text begins and ends."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from starlette.responses import JSONResponse, Response

from cloud_api.auth import Caller
from cloud_api.engine.models import LoadProgress, ServedModel
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.service import Service
from decoding_core import wire_json
from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import BYTES_VERSION, SETTLED_LIMIT, VERSION, VERSIONS
from decoding_core.methods import available
from decoding_core.protocols import BatchEngine
from decoding_core.settings import (
    DRAFT_LIMIT,
    STEPS_LIMIT,
    STRENGTH_LIMIT,
    WINDOW,
    AcceptanceRule,
    BasePlace,
    CandidateRule,
)
from models.openai import whole_number

TEXT_LIMIT = 1 << 18
"""The most tokens of a prompt or text: more than any model's context."""

# Limits stand before the function, so that they stand in the description, too.
Id = Annotated[int, Field(ge=0, lt=1 << 31), BeforeValidator(whole_number)]
Count63 = Annotated[
    int,
    # JSON has no larger numbers that every program reads alike.
    Field(ge=0, lt=1 << 63, json_schema_extra={"maximum": (1 << 53) - 1}),
    BeforeValidator(whole_number),
]
Candidates = Annotated[int, Field(ge=1, le=1 << 20), BeforeValidator(whole_number)]
DraftLimit = Annotated[int, Field(ge=1, le=DRAFT_LIMIT), BeforeValidator(whole_number)]
Steps = Annotated[int, Field(ge=1, le=STEPS_LIMIT), BeforeValidator(whole_number)]
Version = Annotated[
    int, Field(ge=VERSIONS[0], le=VERSIONS[-1]), BeforeValidator(whole_number)
]


class _Body(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


_ROLES = {"system", "user", "assistant"}


class TermsBody(_Body):
    """The method of a session and its settings."""

    method: str = Field(
        pattern="^[a-z_]{1,32}$", json_schema_extra={"enum": [*available()]}
    )
    rule: AcceptanceRule
    temperature: float = Field(ge=0, le=10)
    seed: Count63
    candidates: Candidates
    candidate_rule: CandidateRule
    strength: float = Field(ge=0, le=STRENGTH_LIMIT)
    draft_limit: DraftLimit
    base: BasePlace
    bonus: bool
    costeer_steps: Steps = 20
    costeer_alpha: float = Field(2, ge=0, le=100)
    costeer_lambda: float = Field(2, ge=0, le=100)
    costeer_eta: float = Field(10, ge=0.01, le=1e6)


class OpenBody(_Body):
    """A request for a session."""

    version: Version
    prompt_ids: list[Id] = Field(max_length=TEXT_LIMIT)
    text_ids: list[Id] = Field(max_length=TEXT_LIMIT)
    vocabulary_id: str = Field(min_length=1, max_length=256)
    terms: TermsBody
    messages: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        [], max_length=64
    )
    """Role and text of each."""

    @model_validator(mode="after")
    def _prompt_is_one_of_both(self) -> Self:
        in_bytes = self.version == BYTES_VERSION
        if bool(self.messages) != in_bytes or bool(self.prompt_ids) == in_bytes:
            raise ValueError("version 3 has prompt_ids, version 4 has messages")
        if not {role for role, _ in self.messages} <= _ROLES:
            raise ValueError("a message by nobody")
        if in_bytes and max(self.text_ids, default=0) > 255:
            raise ValueError("a text in bytes holds numbers above 255")
        return self


FIELD_NAMES = frozenset(
    name for body in (TermsBody, OpenBody) for name in body.model_fields
)


router = APIRouter()
_ID_OF_ANSWER = {"session_id": "$response.body#/session_id"}
_LINKS = {
    "replace": {"operationId": "replace_text", "parameters": _ID_OF_ANSWER},
    "close": {"operationId": "close_session", "parameters": _ID_OF_ANSWER},
}
"""The requests that take a session, for readers of the description."""


# Not `async` they would each take a thread of a pool, in every request.
async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


ServiceNeeded = Annotated[Service, Depends(_service)]
CallerNeeded = Annotated[Caller, Depends(_caller)]


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"state": "alive"}


@router.get("/readyz")
async def readyz(service: ServiceNeeded, request: Request) -> JSONResponse:
    """Whether sessions can be opened; while the models are loaded, which of them, and
    what share of it."""
    try:
        _ = service.models
    except LoadingError:
        progress: LoadProgress = request.app.state.progress
        body = {
            "state": "loading",
            "model": progress.role,
            "share": round(progress.share, 2),
        }
        return JSONResponse(body, 503, {"Retry-After": "1"})
    except StoppingError:
        return JSONResponse({"state": "stopping"}, 503, {"Retry-After": "5"})
    return JSONResponse({"state": "ready"})


@router.get("/v1/vocabulary/pieces/{start}")
async def pieces(
    start: Annotated[int, Path(ge=0)], service: ServiceNeeded
) -> dict[str, Any]:
    """The bytes of the generalist's tokens from `start` on, as many as one answer
    holds, for a device whose vocabulary is another."""
    words = service.models.words
    if words is None:
        raise InvalidSettingsError("the tokens of the generalist are not known here")
    return await asyncio.to_thread(words.page, start)


@router.get("/v1/models")
async def models(service: ServiceNeeded) -> dict[str, Any]:
    """The models that verify, and what may be asked of them."""
    pair, settings = service.models, service.settings

    def described(model: BatchEngine | ServedModel) -> dict[str, Any]:
        return {
            "name": model.name,
            "vocabulary_id": model.vocabulary_id,
            "context_length": model.context_length,
        }

    return {
        "version": VERSION,
        "versions": VERSIONS,
        "generalist": described(pair.generalist),
        "base": None if pair.base is None else described(pair.base),
        "limits": {
            "context_length": pair.context_length,
            "vocabulary_size": pair.generalist.vocabulary_size,
            "draft_limit": DRAFT_LIMIT,
            "settled_limit": SETTLED_LIMIT,
            "candidates": pair.candidates,
            "window": WINDOW,
            "answer_bytes": settings.answer_bytes,
            "body_bytes": settings.body_bytes,
            "sessions_in_memory": pair.slots,
            "sessions_known": settings.known_sessions,
            "idle_seconds": settings.idle_seconds,
        },
    }


@router.post("/v1/sessions", status_code=201, responses={201: {"links": _LINKS}})
async def open_session(
    body: OpenBody, service: ServiceNeeded, caller: CallerNeeded
) -> dict[str, Any]:
    """Begin a text."""
    request = await service.with_prompt(wire_json.open_from_json(body.model_dump()))
    return wire_json.opened_to_json(service.open(request, caller))


@router.put("/v1/sessions/{session_id}", operation_id="replace_text")
async def replace_text(
    session_id: str, body: OpenBody, service: ServiceNeeded, caller: CallerNeeded
) -> dict[str, Any]:
    """Begin another text in a session, which keeps what both begin with."""
    request = await service.with_prompt(wire_json.open_from_json(body.model_dump()))
    return wire_json.opened_to_json(service.replace(session_id, request, caller))


@router.delete(
    "/v1/sessions/{session_id}", status_code=204, operation_id="close_session"
)
async def close_session(
    session_id: str, service: ServiceNeeded, caller: CallerNeeded
) -> Response:
    """End a text and forget it."""
    service.close(session_id, caller)
    return Response(status_code=204)
