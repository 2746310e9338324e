"""Errors as `application/problem+json` (RFC 9457). The mapping lives nowhere else.

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

from cloud_api.errors import (
    BodyTooLargeError,
    ForbiddenError,
    LoadingError,
    NothingHereError,
    PairingRefusedError,
    ProtocolVersionError,
    QuotaError,
    StoppingError,
    UnauthorizedError,
    UnknownModelError,
)
from decoding_core import errors
from decoding_core.messages import VERSION
from decoding_core.wire_json import VERSION_HEADER, which_to_update

_log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """What the body of an error says; `code` never changes its meaning."""

    status: int
    code: str
    detail: str
    retry_after: float | None = None
    allow: str | None = None
    """The methods that a path takes, where it was another."""

    @property
    def title(self) -> str:
        """HTTP's phrase for the status."""
        return HTTPStatus(self.status).phrase

    def response(self) -> Response:
        """The HTTP answer; also the denial of a WebSocket."""
        body = {
            "type": f"urn:specsteer:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        headers: dict[str, str] = {}
        if self.code == "protocol-version":
            headers[VERSION_HEADER] = str(VERSION)
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        elif self.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after)))
        elif self.allow is not None:
            headers["Allow"] = self.allow
        return JSONResponse(body, self.status, headers, media_type=MEDIA_TYPE)


def described(
    media_type: str, schema: dict[str, Any]
) -> dict[int | str, dict[str, Any]]:
    """The answers to what goes wrong, for the description of routes."""
    content = {media_type: {"schema": schema}}
    return {
        "4XX": {"description": "The request cannot be done; why", "content": content},
        "5XX": {"description": "Not now, or a fault; which", "content": content},
    }


DESCRIBED = described(
    MEDIA_TYPE,
    {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string"},
            "detail": {"type": "string"},
        },
        "required": ["type", "title", "status", "code", "detail"],
        "additionalProperties": False,
    },
)
"""A problem, as every route of the protocol may answer with."""
_KINDS: Mapping[type[errors.DecodingError], tuple[int, str]] = {
    UnauthorizedError: (401, "unauthorized"),
    ForbiddenError: (403, "forbidden"),
    NothingHereError: (404, "not-found"),
    PairingRefusedError: (403, "pairing-refused"),
    BodyTooLargeError: (413, "body-too-large"),
    LoadingError: (503, "loading"),
    StoppingError: (503, "stopping"),
    UnknownModelError: (404, "unknown-model"),
    ProtocolVersionError: (400, "protocol-version"),
    errors.InvalidSettingsError: (422, "invalid-settings"),
    errors.UnknownMethodError: (422, "unknown-method"),
    errors.VocabularyMismatchError: (409, "vocabulary-mismatch"),
    errors.ContextFullError: (413, "context-full"),
    errors.MessageError: (400, "message"),
    errors.EngineError: (500, "engine"),
    errors.SessionLostError: (404, "session-lost"),
    QuotaError: (429, "too-much"),
    errors.CloudBusyError: (503, "busy"),
}


def of_error(error: errors.DecodingError) -> Problem:
    """The problem that answers an error of this project."""
    for kind in type(error).__mro__:
        if kind in _KINDS:
            status, code = _KINDS[kind]
            wait = getattr(error, "retry_after", 1.0) if status in (429, 503) else None
            return Problem(status, code, str(error), wait)
    return internal()


def internal() -> Problem:
    """The answer to a fault of the server itself."""
    return Problem(500, "internal", "the server failed; its log names the fault")


def no_room() -> Problem:
    """The answer to a connection beyond those that the server takes."""
    detail = "this server has all the connections that it takes; come back later"
    return Problem(503, "busy", detail, 5.0)


def bad_request() -> Problem:
    """The answer to bytes that are no HTTP request."""
    return _of_status(400)


def no_tls() -> Problem:
    """The answer to bytes in the clear where the server speaks TLS alone."""
    return Problem(400, "tls-required", "this address speaks TLS: come with https")


def too_slow() -> Problem:
    """The answer to a client that did not send its request in time."""
    return Problem(408, "too-slow", "the request did not arrive in time")


def of_validation(error: RequestValidationError, known: frozenset[str]) -> Problem:
    """The problem that answers a body which breaks its schema, without quoting it."""
    version = error.body.get("version") if isinstance(error.body, dict) else None
    if type(version) is int and version != VERSION:
        sentence = which_to_update(version, VERSION)
        _log.warning("a device was refused: %s", sentence)
        return of_error(ProtocolVersionError(sentence))
    sentences = []
    for one in error.errors()[:5]:
        if one["type"] == "json_invalid":
            sentences.append("the body is not JSON")
            continue
        names = [str(part) for part in one["loc"][1:] if isinstance(part, int | str)]
        # Names that are not ours came from the client.
        shown = [n if n in known or n.isdigit() else "unknown field" for n in names]
        sentences.append(f"{'.'.join(shown) or 'the body'}: {one['msg']}")
    return Problem(422, "invalid-request", "; ".join(sentences))


def install(app: FastAPI, known: frozenset[str]) -> None:
    """Answer every error of `app` with a problem."""

    async def ours(_: Request, error: Exception) -> Response:
        assert isinstance(error, errors.DecodingError)
        return of_error(error).response()

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return of_validation(error, known).response()

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        allow = (error.headers or {}).get("Allow")
        for path, methods in app.openapi()["paths"].items() if allow else ():
            # A route knows its own method alone; a path may have several.
            if compile_path(path)[0].match(request.url.path):
                allow = ", ".join(sorted(method.upper() for method in methods))
        return replace(_of_status(error.status_code), allow=allow).response()

    app.add_exception_handler(errors.DecodingError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def _of_status(status: int) -> Problem:
    if status == 413:
        return of_error(BodyTooLargeError("the body is larger than this server reads"))
    phrase = HTTPStatus(status).phrase
    return Problem(status, phrase.lower().replace(" ", "-"), phrase)
