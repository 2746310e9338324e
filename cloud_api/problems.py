"""Errors as `application/problem+json` (RFC 9457), and as OpenAI's clients know them
under `/openai/`. Which error is answered how is in the tables of this file alone.

No text of a problem holds what a client sent: prompts and drafts are private.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from cloud_api import errors as ours
from decoding_core import errors
from decoding_core.messages import VERSIONS
from decoding_core.wire_json import VERSION_HEADER, which_to_update
from models.openai import error_body

_log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
_OPENAI_PATH = "/openai/"
_OPENAI_CODES = {
    "unauthorized": "invalid_api_key",
    "context-full": "context_length_exceeded",
    "unknown-model": "model_not_found",
    "too-much": "rate_limit_exceeded",
}
"""OpenAI's own codes where it has them; else ours, with `_` for `-`."""
_OPENAI_STATUSES = {"context-full": 400, "invalid-settings": 400}


@dataclass(frozen=True, slots=True)
class Problem:
    """The body of an error; `code` never changes its meaning."""

    status: int
    code: str
    detail: str
    retry_after: float | None = None
    allow: str | None = None  # the methods of a path that was asked with another one

    @property
    def title(self) -> str:
        """HTTP's phrase for the status."""
        return HTTPStatus(self.status).phrase

    @property
    def openai_body(self) -> dict[str, Any]:
        """The same as an error of OpenAI's API."""
        code = _OPENAI_CODES.get(self.code, self.code.replace("-", "_"))
        status = _OPENAI_STATUSES.get(self.code, self.status)
        return error_body(status, self.detail, code)

    def response(self, path: str = "") -> Response:
        """The answer to a request for `path`; also the denial of a WebSocket."""
        headers: dict[str, str] = {}
        if self.code == "protocol-version":
            headers[VERSION_HEADER] = str(VERSIONS[-1])
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        elif self.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after)))
        elif self.allow is not None:
            headers["Allow"] = self.allow
        if path.startswith(_OPENAI_PATH):
            status = _OPENAI_STATUSES.get(self.code, self.status)
            return JSONResponse(self.openai_body, status, headers)
        body = {
            "type": f"urn:specsteer:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        return JSONResponse(body, self.status, headers, media_type=MEDIA_TYPE)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a WebSocket, as an ASGI application does."""
        await self.response(scope["path"])(scope, receive, send)


def described(
    media_type: str, properties: dict[str, Any], **more: Any
) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of errors whose body is an object with these
    properties, all required."""
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    content = {media_type: {"schema": schema | more}}
    return {
        "4XX": {"description": "The request cannot be done; why", "content": content},
        "5XX": {"description": "Not now, or a fault; which", "content": content},
    }


_TEXTS = {key: {"type": "string"} for key in ("type", "title", "code", "detail")}
DESCRIBED = described(
    MEDIA_TYPE, _TEXTS | {"status": {"type": "integer"}}, additionalProperties=False
)
"""A problem, for the description of every route of the protocol."""
_KINDS: Mapping[type[errors.DecodingError], tuple[int, str]] = {
    ours.PairingRefusedError: (403, "pairing-refused"),
    ours.LoadingError: (503, "loading"),
    ours.StoppingError: (503, "stopping"),
    ours.UnknownModelError: (404, "unknown-model"),
    errors.InvalidSettingsError: (422, "invalid-settings"),
    errors.UnknownMethodError: (422, "unknown-method"),
    errors.VocabularyMismatchError: (409, "vocabulary-mismatch"),
    errors.ContextFullError: (413, "context-full"),
    errors.MessageError: (400, "message"),
    errors.EngineError: (500, "engine"),
    errors.SessionLostError: (404, "session-lost"),
    ours.QuotaError: (429, "too-much"),
    errors.CloudBusyError: (503, "busy"),
}
INTERNAL = Problem(500, "internal", "the server failed; its log names the fault")
UNAUTHORIZED = Problem(
    401, "unauthorized", "send the header 'Authorization: Bearer <token>'"
)
FORBIDDEN = Problem(403, "forbidden", "this token may not be used for that")
NO_ROOM = Problem(
    503,
    "busy",
    "this server has all the connections that it takes; come back later",
    5.0,
)
NO_TLS = Problem(400, "tls-required", "this address speaks TLS: come with https")
TOO_SLOW = Problem(408, "too-slow", "the request did not arrive in time")
TOO_LARGE = Problem(413, "body-too-large", "the body is larger than this server reads")


def of_error(error: errors.DecodingError) -> Problem:
    """The problem that answers an error of this project."""
    for kind in type(error).__mro__:
        if kind in _KINDS:
            status, code = _KINDS[kind]
            wait = getattr(error, "retry_after", 1.0) if status in (429, 503) else None
            return Problem(status, code, str(error), wait)
    return INTERNAL


def of_status(status: int) -> Problem:
    """The problem of an HTTP status that has no words of ours."""
    if status == TOO_LARGE.status:
        return TOO_LARGE
    phrase = HTTPStatus(status).phrase
    return Problem(status, phrase.lower().replace(" ", "-"), phrase)


def of_validation(error: RequestValidationError, known: frozenset[str]) -> Problem:
    """The problem of a body that breaks its schema; names only fields in `known`."""
    version = error.body.get("version") if isinstance(error.body, dict) else None
    if type(version) is int and version not in VERSIONS:
        sentence = which_to_update(version, VERSIONS[-1])
        _log.warning("a device was refused: %s", sentence)
        return Problem(400, "protocol-version", sentence)
    sentences = []
    for one in error.errors()[:5]:
        if one["type"] == "json_invalid":
            sentences.append("the body is not JSON")
            continue
        names = [str(part) for part in one["loc"][1:] if isinstance(part, int | str)]
        shown = [n if n in known or n.isdigit() else "unknown field" for n in names]
        sentences.append(f"{'.'.join(shown) or 'the body'}: {one['msg']}")
    return Problem(422, "invalid-request", "; ".join(sentences))


def install(app: FastAPI, known: frozenset[str]) -> None:
    """Answer every error of `app` with a problem; `known` are the fields of bodies."""

    async def answered(request: Request, error: Exception) -> Response:
        if isinstance(error, errors.DecodingError):
            problem = of_error(error)
        elif isinstance(error, RequestValidationError):
            problem = of_validation(error, known)
        else:
            assert isinstance(error, HTTPException)
            problem = of_status(error.status_code)
            if "Allow" in (error.headers or {}):
                problem = replace(problem, allow=_methods(app, request.url.path))
        return problem.response(request.url.path)

    for kind in (errors.DecodingError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answered)


def _methods(app: FastAPI, path: str) -> str:
    """The methods of all routes of a path; Starlette names those of one."""
    for pattern, methods in app.openapi()["paths"].items():
        if compile_path(pattern)[0].match(path):
            return ", ".join(sorted(method.upper() for method in methods))
    return ""
