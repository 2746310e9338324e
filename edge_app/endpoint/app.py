"""The endpoint: OpenAI's routes for one person's programs, on loopback.

A page in a browser cannot ask it: a request that names an origin is refused, unless the
person has named that origin, and so is every host but this machine's own names, which a
page could have made its own (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from decoding_core.errors import (
    CloudBusyError,
    CloudError,
    ContextFullError,
    DecodingError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.foreign_text import one_line
from edge_app.decoding.events import Event, Finished, Notice, Settled, text_of
from edge_app.service.requests import LengthWanted, WriteRequest
from models import openai
from models.openai import ChatBody, CompletionBody, InvalidBodyError, read_body
from models.prompts import TASKS
from models.prompts import Request as Brief
from models.revising import Revision, revised
from personal_store.errors import StoreError

if TYPE_CHECKING:
    from edge_app.service.service import WritingService

NAME = "specsteer"  # writes the usual task; `specsteer-review` and so on another one
MODELS = [NAME, *(f"{NAME}-{task}" for task in TASKS)]  # that a client may name
LOOPBACK = "127.0.0.1"
BODY_BYTES = 2 << 20  # the largest body, as on a server
WAITING = 8  # requests that may wait for their turn
_SPEAKERS = {
    "system": "",
    "developer": "",
    "user": "Asked before: ",
    "assistant": "Written before: ",
    "tool": "Looked up before: ",
    "function": "Looked up before: ",
}
_TURNS = "user", "assistant"
_ANOTHER = re.compile(
    r"(?is)\W*(?:(?:now|please|next|can you|could you)\b\W*)*"
    r"(?:write|draft|compose)\b(?!\s+(?:it|that|this)\b)|.{400}"
)
"""A turn that asks for another text; a long one changes none."""
_SEEDS = 1 << 63
_LENGTHS: dict[str, LengthWanted] = {"low": "short", "medium": "usual", "high": "long"}
"""What the `verbosity` of a chat means."""
_BODIES: dict[str, type[ChatBody | CompletionBody]] = {
    "/v1/chat/completions": ChatBody,
    "/v1/completions": CompletionBody,
}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "authorization, content-type",
    "Access-Control-Allow-Private-Network": "true",
    "Access-Control-Max-Age": "600",
}
"""The answer to a browser that asks whether a page of an allowed origin may ask.
Clients for pages send headers of their own besides, which are allowed as requested."""


def write_request(
    body: ChatBody | CompletionBody, template: WriteRequest
) -> WriteRequest:
    """The text that a body asks for; `template` says what it leaves open. The last
    message is the request, and the only one that a server reads; all others are private
    notes. Raises InvalidSettingsError if no request stands at its end."""
    words, notes, length = "", "", template.length
    if isinstance(body, CompletionBody):
        words = body.words
    else:
        *before, last = body.messages
        if last.role != "user":
            raise InvalidSettingsError("the last message must be the user's request")
        words = last.words
        length = _LENGTHS[body.verbosity] if body.verbosity else length
        said = [(_SPEAKERS[one.role], one.words.strip()) for one in before]
        notes = "\n\n".join(f"{who}{text}" for who, text in said if text)
    if not words.strip():
        raise InvalidSettingsError("the request is empty; say what the text should say")
    task = body.model.removeprefix(NAME).removeprefix("-") or template.brief.task
    seed = None if body.seed is None else body.seed % _SEEDS
    asked = {"temperature": body.temperature, "top_p": body.top_p, "seed": seed}
    given: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
    limit = body.limit or template.max_tokens
    return replace(
        template,
        brief=Brief(words, task),
        background=notes,
        settings=replace(template.settings, **given),
        max_tokens=limit,
        # Whatever a program asks for, the history is not to be pushed out by it.
        reserved=min(limit, template.max_tokens),
        length=length,
    )


def follow_up(
    body: ChatBody | CompletionBody, brief: Brief, heard: Container[int]
) -> Revision | None:
    """What the last turn of a talk makes of the draft before it; None if it asks for
    another text, or if a request or an earlier turn is not among those `heard` here: a
    server is to read what the person sent to be read, and no notes of a program."""
    said = body.messages if isinstance(body, ChatBody) else ()
    turns = [one for one in said if one.role in _TURNS]
    asked, drafts = turns[::2], turns[1::2]
    *before, last = [one.words for one in asked] or [""]
    roles = {(one.role, two.role) for one, two in zip(asked, drafts, strict=False)}
    known = all(hash(words) in heard for words in before)
    if roles != {_TURNS} or len(turns) % 2 == 0 or not known or _ANOTHER.match(last):
        return None
    revision = Revision(replace(brief, text=before[0]), "")
    for draft, words in zip(drafts, [*before[1:], last], strict=True):
        revision = revised(revision.brief, draft.words, words)
    return revision


@dataclass(slots=True, eq=False)
class VoiceText:
    """One text, while it is written."""

    request: WriteRequest
    stops: openai.StopFinder
    revision: Revision | None = None  # of a draft, of which it is the next version
    stop: threading.Event = field(default_factory=threading.Event)
    finish: openai.FinishReason = "length"
    count: int = 0

    @property
    def usage(self) -> openai.Usage:
        """Tokens written; how many were read would show the size of the history."""
        return openai.Usage(0, self.count)

    def added(self, event: Event) -> str:
        """What an event adds to the text; raises StoppedError if it was stopped."""
        ended = self.stops.found
        if ended:
            return ""
        if isinstance(event, Finished):
            if event.reason == "stopped":
                raise StoppedError("the text was stopped")
            self.finish = "stop" if event.reason in ("end", "refused") else "length"
        if not isinstance(event, Settled):
            return ""
        self.count += len(event.tokens)
        piece = self.stops.push("".join(token.text for token in event.tokens))
        if self.stops.found:
            self.finish = "stop"
            self.stop.set()
        return piece


class VoiceTexts:
    """Writes texts for other programs, one after the other, each in a thread."""

    def __init__(self, service: WritingService, say: Callable[[str], None]) -> None:
        """`say` shows the person a sentence, such as that the server is gone."""
        self._service = service
        self._say = say
        self._turn = asyncio.Lock()
        self._asked = 0
        self.heard = deque[int](maxlen=512)  # hashes of requests, as programs sent them
        self._running: set[VoiceText] = set()

    def __len__(self) -> int:
        return self._asked

    def stop(self) -> None:
        """End the text that is being written."""
        for text in self._running:
            text.stop.set()

    @asynccontextmanager
    async def begun(self, text: VoiceText) -> AsyncIterator[VoiceText]:
        """The text, once it has its turn; raises CloudBusyError if too many wait."""
        if self._asked > WAITING:
            raise CloudBusyError("too many texts wait to be written", 5.0)
        self._asked += 1
        try:
            async with self._turn:
                yield text
        finally:
            self._asked -= 1

    async def write(self, text: VoiceText) -> AsyncGenerator[str, None]:
        """Pieces of the text as they are settled; raises the service's errors."""
        if text.revision is not None:
            self._running.add(text)
            try:
                whole = await asyncio.to_thread(self._revised, text, text.revision)
                yield text.stops.push(whole) + text.stops.rest()
            finally:
                text.stop.set()
                self._running.discard(text)
            return
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def emit(event: Event | None) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def work() -> None:
            try:
                self._service.write(text.request, emit, text.stop)
            finally:
                emit(None)

        writing = asyncio.create_task(asyncio.to_thread(work))
        self._running.add(text)
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, Notice):
                    self._say(event.text)
                if piece := text.added(event):
                    yield piece
            await writing
            if rest := text.stops.rest():
                yield rest
        finally:
            text.stop.set()
            self._running.discard(text)
            # The next text must not begin before this one has let the service go.
            await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()  # it was raised above, or nobody reads any more

    def _revised(self, text: VoiceText, revision: Revision) -> str:
        """The next version of a draft, of which a stretch is written if need be."""
        heard: list[Event] = []
        text.finish = "stop"
        if revision.stood:
            ask = text.request, revision, text.stop
            (_, heard), *_ = self._service.write_revision(*ask)
        for event in heard:
            if isinstance(event, Notice):
                self._say(event.text)
            text.count += len(event.tokens) if isinstance(event, Settled) else 0
        return revision.joined(text_of(heard))


class OnlyPrograms:
    """ASGI middleware that refuses requests without the token, and foreign pages."""

    def __init__(self, app: ASGIApp, token: str, origins: frozenset[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the requests of programs with the token, and answer the rest."""
        headers = Headers(scope=scope)
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            if "origin" in headers and message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if headers["origin"] in self._origins:
                    answer["Access-Control-Allow-Origin"] = headers["origin"]
                answer.add_vary_header("Origin")
            await send(message)

        app = self._refusal(scope, headers) or self._app
        try:
            await app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 (the next request is answered)
            # What is above would close the connection, and log what the error says.
            if not started:
                status, body = _answer_to(error)
                await JSONResponse(body, status)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        port = (scope.get("server") or ("", 0))[1]
        hosts = [[f"{name}:{port}"] for name in (LOOPBACK, "localhost")]
        if headers.getlist("host") not in hosts:
            return _error(403, "this address is not the endpoint's", "host")
        if headers.getlist("origin") not in [[], *([one] for one in self._origins)]:
            words = (
                "pages in a browser may not ask; 'specsteer serve --allow-origin' "
                "names those that may"
            )
            return _error(403, words, "origin")
        if scope["method"] == "OPTIONS" and "origin" in headers:
            # A browser asks without the token whether the page may ask with it.
            allowed = dict(_PREFLIGHT)
            asked = headers.get("access-control-request-headers", "")
            if re.fullmatch(r"[A-Za-z0-9-]+(, *[A-Za-z0-9-]+)*", asked):
                allowed["Access-Control-Allow-Headers"] = asked
            return Response(status_code=204, headers=allowed)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token)
        if right and scheme.lower() == "bearer":
            return None
        words = "send the key that 'specsteer serve' printed, as the API key"
        return _error(401, words, "invalid_api_key")


def create_endpoint(
    service: WritingService,
    template: WriteRequest,
    token: str,
    origins: frozenset[str],
    say: Callable[[str], None],
) -> Starlette:
    """The application, with its texts in `state`. `template` says what a request leaves
    open, `origins` whose pages may ask from a browser; `say` shows the person a
    sentence."""
    started = int(time.time())
    texts = VoiceTexts(service, say)

    async def models(_: Request) -> Response:
        return JSONResponse(openai.model_list(MODELS, started))

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in MODELS:
            return _unknown_model()
        return JSONResponse(openai.described_model(name, started))

    async def written(
        request: Request, *, kind: type[ChatBody | CompletionBody]
    ) -> Response:
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > BODY_BYTES:
                raise HTTPException(413, f"a body may hold {BODY_BYTES} bytes")
        try:
            body = read_body(kind, data)
        except InvalidBodyError as error:
            return _error(400, str(error), "invalid_request", error.field)
        if body.model not in MODELS:
            return _unknown_model()
        asked = write_request(body, template)
        revision = follow_up(body, asked.brief, texts.heard)
        if isinstance(body, ChatBody):
            texts.heard.append(hash(body.messages[-1].words))
            if revision is not None:  # what was said before is no note
                others = [one for one in body.messages if one.role not in _TURNS]
                notes = "\n\n".join(one.words.strip() for one in others)
                asked = replace(asked, brief=revision.brief, background=notes)
        text = VoiceText(asked, openai.StopFinder(body.stops), revision)
        return openai.TextResponse(
            body,
            int(time.time()),
            lambda: texts.begun(text),
            texts.write,
            lambda error: _answer_to(error)[1],
        )

    async def failed(_: Request, error: Exception) -> Response:
        status, body = _answer_to(error)
        headers = {}
        if isinstance(error, CloudBusyError):
            headers["Retry-After"] = str(max(1, round(error.retry_after)))
        return JSONResponse(body, status, headers)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _error(error.status_code, error.detail, "invalid_request")

    app = Starlette(
        routes=[
            Route("/v1/models", models),
            Route("/v1/models/{name}", model),
            *(
                Route(path, partial(written, kind=kind), methods=["POST"])
                for path, kind in _BODIES.items()
            ),
        ],
        middleware=[Middleware(OnlyPrograms, token=token, origins=origins)],
        exception_handlers={
            **dict.fromkeys((DecodingError, StoreError, OSError), failed),
            HTTPException: refused,
        },
    )
    app.state.texts = texts
    return app


_STATUSES: dict[type[Exception], tuple[int, str]] = {
    InvalidSettingsError: (400, "invalid_settings"),
    ContextFullError: (400, "context_length_exceeded"),
    CloudBusyError: (429, "busy"),  # a CloudError, too
    CloudError: (503, "no_server"),
    StoppedError: (503, "no_server"),
}


def _answer_to(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status and the body of an error; whoever asks has the token."""
    if not isinstance(error, DecodingError | StoreError):
        sys.stderr.write(f"the endpoint failed ({type(error).__name__})\n")
        return 500, openai.error_body(500, "the endpoint failed", "failed")
    kinds = (kind for kind in _STATUSES if isinstance(error, kind))
    status, code = _STATUSES.get(next(kinds, Exception), (500, "failed"))
    return status, openai.error_body(status, one_line(str(error)), code)


def _error(status: int, words: str, code: str, field: str | None = None) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(openai.error_body(status, words, code, field), status, headers)


def _unknown_model() -> Response:
    words = "there is no such model here; /v1/models names those there are"
    return _error(404, words, "model_not_found", "model")


class EndpointServer(uvicorn.Server):
    """uvicorn on loopback, which reports its address and ends its text when stopped."""

    def __init__(
        self, app: Starlette, port: int, on_listening: Callable[[str], None]
    ) -> None:
        """Listen at `port`, any free one for 0; `on_listening` gets the address."""
        config = uvicorn.Config(
            app,
            host=LOOPBACK,
            port=port,
            ws="none",
            http="h11",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=16 << 10,
            limit_concurrency=64,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._stop_texts = app.state.texts.stop
        self._on_listening = on_listening

    def listen(self) -> None:
        """Run until stopped. Raises InvalidSettingsError if the port cannot be had."""
        # What it logs may quote what was asked; its own complaints come as errors.
        log = logging.getLogger("uvicorn.error")
        log.addHandler(logging.NullHandler())
        log.propagate = False
        try:
            self.run()
        except SystemExit as error:
            raise InvalidSettingsError(
                f"port {self.config.port} of this machine cannot be had; choose "
                "another with --port, or 0 for any"
            ) from error

    async def startup(self, sockets: object = None) -> None:
        """Listen, and report the address."""
        del sockets
        await super().startup()
        port = self.servers[0].sockets[0].getsockname()[1]
        self._on_listening(f"http://{LOOPBACK}:{port}/v1")

    async def shutdown(self, sockets: object = None) -> None:
        """End the text, then hang up."""
        del sockets
        self._stop_texts()
        await super().shutdown()
