"""The routes that OpenAI's clients ask: models, chats and completions."""

from __future__ import annotations

import asyncio
import codecs
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from cloud_api import problems
from cloud_api.auth import Caller
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import Round
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import QuotaError, StoppingError, UnknownModelError, log_fault
from cloud_api.service import Service
from decoding_core.errors import (
    ContextFullError,
    DecodingError,
    EngineError,
    InvalidSettingsError,
    ModelError,
    SessionLostError,
    StoppedError,
)
from decoding_core.messages import Verdict
from decoding_core.protocols import Rows
from decoding_core.sampling import ArrayRows, Draw, Noise, Use
from models.openai import (
    ChatBody,
    ChatMessage,
    CompletionBody,
    FinishReason,
    InvalidBodyError,
    StopFinder,
    TextResponse,
    Usage,
    described_model,
    error_body,
    model_list,
    read_body,
)

if TYPE_CHECKING:
    from models.running.interface import Language


TEXTS_OF_A_USER = 4  # how many texts of one user are written at once
TEXTS = 16  # how many texts of all users are written at once
NAME = "generalist"  # the name of the model for clients, besides its own
_TOOLS = ("tool", "function")


@dataclass(slots=True, eq=False)
class GeneralistText:
    """One text, while it is written."""

    prompt_ids: tuple[int, ...]
    limit: int  # the most tokens that it may have
    candidates: int | None
    """How many of the likeliest tokens the next is drawn among; None: all."""
    draw: Draw
    stops: StopFinder
    end_ids: frozenset[int]
    piece: Callable[[int], bytes]
    caller: Caller
    ended: bool = False  # whether its caller may ask nothing more
    waiting: asyncio.Future[Any] | None = None  # the verdict that is waited for
    blank: bool = False  # whether a blank that it begins with is not its own
    count: int = 0  # how many tokens it has
    finish: FinishReason = "length"

    @property
    def usage(self) -> Usage:
        """How many tokens were read and written."""
        return Usage(len(self.prompt_ids), self.count)


class GeneralistTexts:
    """Writes texts for other programs; on the event loop."""

    def __init__(self, service: Service, engine: EngineThread) -> None:
        self._service = service
        self._engine = engine
        self._running: set[GeneralistText] = set()
        self._begun: Counter[str] = Counter()
        self.tokens = 0
        """Tokens written since the server started."""
        service.device_ends.append(self._end_device)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def names(self) -> list[str]:
        """The models that a client may name; raises as `Service.models` does."""
        return [self._service.models.generalist.name, NAME]

    @asynccontextmanager
    async def begun(
        self, body: ChatBody | CompletionBody, caller: Caller
    ) -> AsyncIterator[GeneralistText]:
        """A text that is ready to be written, while the block runs.

        Raises:
            QuotaError: the caller, or all together, have too many.
            UnknownModelError: the client names another model.
            InvalidSettingsError: the tokens of the generalist are not known here, or it
                does not take such messages, or writes at no length that is wanted.
            ContextFullError: the prompt leaves no room for a text.
        """
        models = self._service.models
        if body.model not in self.names:
            raise UnknownModelError(
                "there is no such model here; /openai/v1/models names those there are"
            )
        if isinstance(body, ChatBody) and body.verbosity in ("low", "high"):
            raise InvalidSettingsError(
                "'verbosity' is not supported here: leave it out"
            )
        if models.text is None:
            raise InvalidSettingsError(
                "the large model of this server runs on another one, whose tokens "
                "cannot be written out here: ask that one, or start this server with "
                "their GGUF file, as --base or --generalist-tokenizer"
            )
        text = models.text
        if self._begun[caller.user] >= TEXTS_OF_A_USER or self._begun.total() >= TEXTS:
            raise QuotaError(
                "as many texts as may be are being written; ask again later", 5.0
            )
        self._begun[caller.user] += 1
        try:
            with ExitStack() as kept:

                def prepare() -> GeneralistText:
                    model = kept.enter_context(text())
                    return _prepared(body, caller, model, models)

                # A model that rests is loaded first, which may take a minute. It is
                # waited for also if the client leaves, so that it is given back.
                preparing = asyncio.create_task(asyncio.to_thread(prepare))
                try:
                    yield await asyncio.shield(preparing)
                except asyncio.CancelledError:
                    with suppress(Exception):
                        await preparing
                    raise
        finally:
            self._begun[caller.user] -= 1
            self._begun += Counter()  # names of users who wait for nothing go

    async def write(self, text: GeneralistText) -> AsyncGenerator[str, None]:
        """Pieces of the text as they are written; `text.finish` is then why it ended.

        Raises:
            StoppingError: the server is about to end.
            SessionLostError: the caller may ask nothing more.
            CloudBusyError: there is no room now.
            EngineError: the model failed.
        """
        session_id = f"openai-{secrets.token_urlsafe(12)}"
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        token_ids = text.prompt_ids
        self._running.add(text)
        try:
            while text.count < text.limit:
                token = await self._next(session_id, text, token_ids)
                if token in text.end_ids:
                    text.finish = "stop"
                    break
                token_ids = (*token_ids, token)
                text.count += 1
                self.tokens += 1
                piece = decoder.decode(text.piece(token))
                if piece and text.blank:
                    piece, text.blank = piece.removeprefix(" "), False
                if piece := text.stops.push(piece):
                    yield piece
                if text.stops.found:
                    text.finish = "stop"
                    return
            # A character that the limit cut off is left out.
            if last := text.stops.rest():
                yield last
        finally:
            self._running.discard(text)
            self._engine.release(session_id)

    async def _next(
        self, session_id: str, text: GeneralistText, token_ids: tuple[int, ...]
    ) -> int:
        """The next token of a text."""
        _ = self._service.models  # raises if the server is about to end
        drawn: list[int] = []

        def verify(rows: Rows, base: Rows | None) -> Verdict:
            del base
            given = ArrayRows(rows) if isinstance(rows, np.ndarray) else rows
            last, ids = len(given) - 1, np.arange(given.vocabulary_size, dtype=np.int32)
            if text.candidates is not None:
                likeliest = given.likeliest_ids(last, text.candidates, 0.0)
                ids = likeliest.astype(np.int32)
            row = given.at([last], ids)
            if not np.isfinite(np.max(row)):
                raise EngineError("the model gives no numbers")
            drawn.append(int(ids[text.draw.from_logits(row, Use.DRAFT, text.count)]))
            return Verdict(0, text.count, 0, ())

        wanted = Round(
            session_id,
            token_ids,
            rows=1,
            uses_base=False,
            verify=verify,
            key=(0, 0, text.count),
            position=len(token_ids),
            candidates=text.candidates,
            alone=True,
            party=(text.caller.user, text.caller.device),
        )
        text.waiting = self._engine.submit(wanted)
        if text.ended:
            text.waiting.cancel()
        try:
            await text.waiting
        except asyncio.CancelledError:
            if not text.ended:
                raise
            raise SessionLostError("this token may not be used any more") from None
        except StoppedError as error:  # the engine was interrupted
            raise StoppingError("the server is stopping") from error
        return drawn[0]

    def _end_device(self, device: str) -> None:
        for text in self._running:
            if text.caller.device == device:
                text.ended = True
                if text.waiting is not None:
                    text.waiting.cancel()


def _prepared(
    body: ChatBody | CompletionBody, caller: Caller, model: Language, models: Models
) -> GeneralistText:
    """A text that is ready to be written; raises as `GeneralistTexts.begun` does."""
    if isinstance(body, ChatBody):
        prompt = _chat_ids(body.messages, model)
    else:
        prompt = _completion_ids(body.words, model)
    context_length = models.context_length
    room = context_length - len(prompt)
    if room < 1:
        raise ContextFullError(
            f"prompt and text may hold {context_length} tokens together on this "
            f"server, and the prompt has {len(prompt)}"
        )
    seed = secrets.randbits(63) if body.seed is None else body.seed % (1 << 63)
    return GeneralistText(
        tuple(prompt),
        min(room, body.limit or room),
        None if models.candidates >= len(models.names) else models.candidates,
        Draw(
            1.0 if body.temperature is None else body.temperature,
            1.0 if body.top_p is None else body.top_p,
            Noise(seed),
        ),
        StopFinder(body.stops),
        model.vocabulary.end_ids,
        model.vocabulary.piece,
        caller,
        # A completion goes on with words, whose blank stays.
        blank=isinstance(body, ChatBody) and model.vocabulary.begins_with_blank,
    )


def _chat_ids(messages: Sequence[ChatMessage], model: Language) -> list[int]:
    """The ids of a conversation; no text of it can forge a turn. Words of a tool become
    the user's, as few templates know tools without their descriptions."""
    from models.chat import prompt_ids
    from models.prompts import Message

    called = any(one.content is None or one.role in _TOOLS for one in messages)
    said: list[Message] = []
    for one in messages:
        role = "user" if one.role in _TOOLS else one.role.replace("developer", "system")
        if one.content is None:
            continue  # it called tools, and said nothing
        if called and said and said[-1].role == role:  # roles may have to alternate
            said[-1] = Message(role, f"{said[-1].content}\n\n{one.words}")
        else:
            said.append(Message(role, one.words))
    try:
        return prompt_ids(model.vocabulary.tokenize, model.chat_template, said)
    except ModelError as error:
        raise InvalidSettingsError(str(error)) from error


def _completion_ids(text: str, model: Language) -> list[int]:
    """The ids of a text to go on with, behind the token that begins every text, if the
    model has one."""
    template = model.chat_template
    ids = model.vocabulary.tokenize(text)
    begin = template.controls.get(template.bos) if template.bos else None
    if begin is not None and (template.adds_bos or not ids):
        return [begin, *ids]
    if not ids:
        raise InvalidSettingsError("the prompt is empty, and this model needs one")
    return ids


_STARTED = int(time.time())
_ERROR: dict[str, Any] = {
    "message": {"type": "string"},
    "type": {"type": "string"},
    "param": {"type": ["string", "null"]},
    "code": {"type": "string"},
}
_ERRORS = problems.described(
    "application/json",
    {"error": {"type": "object", "properties": _ERROR, "required": [*_ERROR]}},
)
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The text, whole or as a stream of events",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/event-stream": {"schema": {"type": "string"}},
        },
    }
}
router = APIRouter(prefix="/openai/v1", responses=_ERRORS)


def _described(kind: type[BaseModel]) -> dict[str, Any]:
    """The body of a route, for its description, with the parts in their places."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return inlined(parts[node["$ref"].rsplit("/", 1)[1]])
            return {name: inlined(one) for name, one in node.items()}
        return [inlined(one) for one in node] if isinstance(node, list) else node

    content = {"application/json": {"schema": inlined(schema)}}
    return {"requestBody": {"required": True, "content": content}}


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The models that a request may name."""
    return model_list(request.app.state.texts.names, _STARTED)


@router.get("/models/{name}")
async def model(name: str, request: Request) -> dict[str, Any]:
    """One of them."""
    if name not in request.app.state.texts.names:
        raise UnknownModelError("there is no such model here")
    return described_model(name, _STARTED)


@router.post("/chat/completions", responses=_EVENTS, openapi_extra=_described(ChatBody))
async def chat(request: Request) -> Response:
    """The next turn of a conversation."""
    return await _written(request, ChatBody)


@router.post(
    "/completions", responses=_EVENTS, openapi_extra=_described(CompletionBody)
)
async def complete(request: Request) -> Response:
    """What follows a text."""
    return await _written(request, CompletionBody)


async def _written(
    request: Request, kind: type[ChatBody] | type[CompletionBody]
) -> Response:
    texts: GeneralistTexts = request.app.state.texts
    caller: Caller = request.state.caller
    try:
        body = read_body(kind, await request.body())
    except InvalidBodyError as error:
        answer = error_body(400, str(error), "invalid_request", error.field)
        return JSONResponse(answer, 400)
    begun = partial(texts.begun, body, caller)
    return TextResponse(body, int(time.time()), begun, texts.write, _error_of)


def _error_of(error: Exception) -> dict[str, Any]:
    """The body of an error in the midst of a stream."""
    if isinstance(error, DecodingError):
        return problems.of_error(error).openai_body
    log_fault("a streamed text")
    return problems.INTERNAL.openai_body
