"""The page at `/` and the figures at `/metrics`: what the server is doing.

The page is made here, without scripts, and asks nobody else for anything. Whoever
brings a token with the scope `status` gets a cookie for half an hour; the token itself
is looked up again each time, so one that was revoked opens nothing any more.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from cloud_api.auth import Authority, Caller, Scope
from cloud_api.connections import PEER, place_of
from cloud_api.engine.models import (
    EngineCounts,
    LoadProgress,
    Models,
    ReadingCounts,
    ServedModel,
)
from cloud_api.household import Household
from cloud_api.people import shown_time
from cloud_api.service import Histogram, Service
from decoding_core.foreign_text import one_line
from decoding_core.messages import VERSION
from decoding_core.protocols import BatchEngine


class ModelStatus(NamedTuple):
    """One of the models that verify."""

    role: str  # `generalist` or `base`
    model: BatchEngine | ServedModel
    counts: ReadingCounts

    @property
    def name(self) -> str:
        """The name, on one line."""
        return one_line(self.model.name)

    @property
    def loaded(self) -> bool:
        """Whether it is in memory; one that rests is loaded at the next request."""
        return getattr(self.model, "loaded", True)

    @property
    def loads(self) -> int:
        """How often it was loaded; 0 if another server runs it."""
        return getattr(self.model, "loads", 0)


class ServerStatus:
    """The server at a moment, from the `state` of its application."""

    def __init__(self, state: Any) -> None:
        service: Service = state.service
        models: Models | None = state.engine.models
        self.state = "loading" if models is None else "ready"
        if service.stopping.is_set():
            self.state = "stopping"
        self.progress: LoadProgress = state.progress
        self.models: tuple[ModelStatus, ...] = ()
        self.engine = EngineCounts()
        self.kv_tokens = 0
        """How many tokens the slots of a model may hold together; 0 before loading."""
        if models is not None:
            self.engine = models.counts
            counts = self.engine.generalist, self.engine.base
            roles = "generalist", "base"
            self.models = tuple(map(ModelStatus, roles, models.each(), counts))
            self.kv_tokens = models.kv_tokens or models.slots * models.context_length
        owners = (one.owner for one in service.sessions.values())
        self.sessions = Counter(owner.user for owner in owners)
        self.waiting = len(service.running)
        """Blocks whose answers are being made."""
        self.streams = len(state.streams)
        self.connections = len(state.connections)
        self.rounds = service.counts
        self.answers: Counter[int] = state.answers
        """How many requests were answered with each status of HTTP."""
        texts = getattr(state, "texts", None)
        self.texts = None if texts is None else len(texts)
        """Texts that are being written for other programs; None if that is off."""
        self.text_tokens = 0 if texts is None else texts.tokens
        self.started: float = state.started
        """When the server started, in seconds since 1970."""
        self.versions = {"python": platform.python_version(), "protocol": str(VERSION)}
        self.versions |= {n: version(n) for n in ("specsteer", "llama-cpp-python")}
        """The versions that a report of a fault should name."""


def up_for(status: ServerStatus) -> str:
    """How long the server has been running, in words."""
    hours, minutes = divmod(int(time.time() - status.started) // 60, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h {minutes} min" if days else f"{hours} h {minutes} min"


BATCHES = (1, 2, 4, 8, 16, 32, 64)
RESULTS = ("kept", "refused", "told", "resync", "busy", "error")
EVICTIONS = ("turn", "budget", "rest")
_FAILURES = {"unknown": 401, "scope": 403}
router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """The figures, for a token with the scope `status`."""
    # 30 ms to import, which a server that nobody watches does without.
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    status = ServerStatus(request.app.state)
    registry: Any = SimpleNamespace(collect=partial(families, status))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def families(status: ServerStatus) -> Iterator[object]:
    """Every figure of a server, as a metric family of Prometheus."""
    from prometheus_client import metrics_core as core

    def family(kind: Any, name: str, about: str, value: Any, label: str = "") -> object:
        """A family with one value, or with a value for each value of a label."""
        made = kind(f"specsteer_{name}", about, labels=[label] if label else [])
        for key, one in value.items() if label else [("", value)]:
            labels = [str(key)] if label else []
            if isinstance(one, Histogram):
                made.add_metric(labels, one.cumulative(), one.sum)
            else:
                made.add_metric(labels, one)
        return made

    def by_model(of: Callable[[ModelStatus], Any]) -> dict[str, Any]:
        return {model.role: of(model) for model in status.models}

    counter = partial(family, core.CounterMetricFamily)
    gauge = partial(family, core.GaugeMetricFamily)
    histogram = partial(family, core.HistogramMetricFamily)
    versions = {key.replace("-", "_"): one for key, one in status.versions.items()}
    yield core.InfoMetricFamily("specsteer", "Versions that run", value=versions)
    yield gauge("start_time_seconds", "When the server started", status.started)
    yield gauge("ready", "1 if sessions can be opened", status.state == "ready")
    rounds, engine = status.rounds, status.engine
    results = {name: rounds.results[name] for name in RESULTS}
    yield counter("rounds", "Blocks answered, by result", results, "result")
    yield counter("draft_tokens", "Drafted tokens decided on", rounds.drafted)
    yield counter("accepted_tokens", "Those that stay", rounds.accepted)
    about = "What the models took for a block"
    yield histogram("verify_seconds", about, rounds.verify_seconds)
    about = "How long a block waited besides"
    yield histogram("queue_seconds", about, rounds.queue_seconds)
    yield gauge("sessions", "Texts that are remembered", status.sessions.total())
    yield gauge("users", "Users with a text", len(status.sessions))
    yield gauge("waiting_rounds", "Blocks whose answers are being made", status.waiting)
    yield gauge("streams", "Streams that are open", status.streams)
    yield gauge("connections", "Connections that are open", status.connections)
    answers = dict(sorted(status.answers.items()))
    yield counter("http_answers", "Requests answered, by status", answers, "status")
    failures = {why: status.answers[code] for why, code in _FAILURES.items()}
    yield counter("auth_fail", "Requests without the right", failures, "reason")
    if status.texts is not None:
        yield gauge("openai_texts", "Texts for other programs", status.texts)
        yield counter("openai_tokens", "Tokens of these", status.text_tokens)
    evictions = {why: engine.evictions[why] for why in EVICTIONS}
    about = "Texts that lost their slot before they ended, by why"
    yield counter("kv_evictions", about, evictions, "reason")
    about = "Tokens that these had to read once more"
    yield counter("kv_reread_tokens", about, engine.reread)
    about = "Tokens that the slots of a model may hold together"
    yield gauge("kv_budget_tokens", about, status.kv_tokens)
    loaded, loads = by_model(lambda m: m.loaded), by_model(lambda m: m.loads)
    held, tokens = (
        by_model(lambda m: m.counts.held),
        by_model(lambda m: m.counts.tokens),
    )
    seconds = by_model(lambda m: m.counts.seconds)
    yield gauge("model_loaded", "1 if it is in memory", loaded, "model")
    yield gauge("kv_tokens", "Tokens that its slots hold", held, "model")
    yield counter("model_loads", "How often it was loaded", loads, "model")
    yield counter("read_tokens", "Tokens that it has read", tokens, "model")
    yield counter("read_seconds", "How long it has read", seconds, "model")
    sizes = by_model(_batches)
    yield histogram("batch_size", "Texts read in one pass", sizes, "model")


def _batches(model: ModelStatus) -> Histogram:
    """How many texts each pass of a model read."""
    sizes = Histogram(BATCHES)
    for size, times in model.counts.batches.copy().items():
        sizes.add(size, times)
    return sizes


COOKIE = "specsteer-status"
COOKIE_SECONDS = 1800.0
_MOST_COOKIES = 32
_LONGEST_FORM = 8192
_TEMPLATES = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(slots=True)
class StatusCookies:
    """The tokens that the cookies of the page stand for, by the cookies' hashes, in
    memory alone."""

    authority: Authority
    clock: Callable[[], float] = time.monotonic
    _tokens: OrderedDict[bytes, tuple[str, float]] = field(default_factory=OrderedDict)

    def enter(self, token: str) -> str | None:
        """A cookie in exchange for a token; None if that may not see the page."""
        if self._admitted(token) is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self._tokens[_hashed(cookie)] = token, self.clock() + COOKIE_SECONDS
        while len(self._tokens) > _MOST_COOKIES:
            self._tokens.popitem(last=False)
        return cookie

    def caller(self, cookie: str) -> Caller | None:
        """Who shows a cookie; None if its time is over, or its token's."""
        token, end = self._tokens.get(_hashed(cookie), ("", 0.0))
        if not token or self.clock() >= end:
            self.leave(cookie)
            return None
        return self._admitted(token)

    def leave(self, cookie: str) -> None:
        """Forget a cookie."""
        self._tokens.pop(_hashed(cookie), None)

    def _admitted(self, token: str) -> Caller | None:
        caller = self.authority.caller(token)
        return caller if caller is not None and Scope.STATUS in caller.scopes else None


@router.get("/")
async def page(request: Request) -> Response:
    """The page, or the form that asks for a token."""
    state = request.app.state
    cookies: StatusCookies = state.cookies
    caller = cookies.caller(request.cookies.get(COOKIE, ""))
    if caller is None:
        return _form(request)
    peer = getattr(request.state, PEER, None)
    if peer is not None:
        state.connections.recognise(peer, caller.user, time.monotonic())
    status, authority = ServerStatus(state), cookies.authority
    devices = []
    if isinstance(authority, Household):
        devices = await asyncio.to_thread(authority.people.devices)
    return _shown(
        "status.html",
        status=status,
        up=up_for(status),
        devices=devices,
        shown_time=shown_time,
    )


@router.get("/status.css")
async def style() -> Response:
    """How the page looks."""
    text = (_TEMPLATES / "status.css").read_text("utf-8")
    return Response(text, media_type="text/css", headers=_HEADERS)


@router.post("/status/enter")
async def enter(request: Request) -> Response:
    """Exchange the token of the form for a cookie."""
    if not _is_own(request):
        return _form(request, 403)
    body = await request.body()
    fields = parse_qs(body[:_LONGEST_FORM].decode("utf-8", "replace"))
    token = fields.get("token", [""])[0].strip()
    cookies: StatusCookies = request.app.state.cookies
    cookie = cookies.enter(token) if token else None
    if cookie is None:
        if token:
            delay = cookies.authority.refuse(token, place_of(request.scope))
            await asyncio.sleep(delay)
        return _form(request, 401)
    answer = RedirectResponse("/", 303, _HEADERS)
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=int(COOKIE_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/status/leave")
async def leave(request: Request) -> Response:
    """Forget the cookie, here and in the browser."""
    cookies: StatusCookies = request.app.state.cookies
    if _is_own(request):
        cookies.leave(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/", 303, _HEADERS)
    answer.delete_cookie(COOKIE)
    return answer


def _is_own(request: Request) -> bool:
    """Whether a form was sent from this page, or by no browser at all."""
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _form(request: Request, code: int = 200) -> Response:
    """The form that asks for a token, which says so if one was refused."""
    secure = request.url.scheme == "https"
    return _shown("enter.html", code, wrong=code != 200, secure=secure)


def _shown(name: str, code: int = 200, /, **values: Any) -> Response:
    text = _environment().get_template(name).render(**values)
    return Response(text, code, _HEADERS, "text/html")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _hashed(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
