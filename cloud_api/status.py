"""The page at `/`: what the server is doing, for the people of the house.

It is made here, without scripts, and asks nobody else for anything. Whoever brings a
token with the scope `status` gets a cookie for half an hour; the token itself is looked
up again each time, so one that was revoked opens nothing any more.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from cloud_api.auth import Authority, Caller, Scope
from cloud_api.connections import VISIT
from cloud_api.engine.models import (
    EngineCounts,
    LoadProgress,
    Models,
    ReadingCounts,
    ServedModel,
)
from cloud_api.engine.scheduler import EngineThread
from cloud_api.household import Household
from cloud_api.service import Service
from cloud_api.session import Histogram, RoundCounts
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


BATCHES = (1, 2, 4, 8, 16, 32, 64)
EVICTIONS = ("turn", "budget", "rest")
_FAILURES = {401: "unknown", 403: "scope"}
router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """The figures, for a token with the scope `status`."""
    # 30 ms to import, which a server that nobody watches does without.
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import Collector

    status = status_of(request.app.state)

    class Now(Collector):
        def collect(self) -> Iterator[object]:  # type: ignore[override]
            return families(status)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Now())
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def families(status: ServerStatus) -> Iterator[object]:
    """Every figure of a server."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
    )

    def counted(name: str, about: str, label: str, values: dict[str, float]) -> object:
        family = CounterMetricFamily(f"specsteer_{name}", about, labels=[label])
        for key, value in values.items():
            family.add_metric([key], value)
        return family

    def gauge(name: str, about: str, value: float) -> object:
        return GaugeMetricFamily(f"specsteer_{name}", about, value)

    def counter(name: str, about: str, value: float) -> object:
        return CounterMetricFamily(f"specsteer_{name}", about, value)

    def histogram(name: str, about: str, found: Histogram) -> object:
        buckets = found.cumulative()
        return HistogramMetricFamily(
            f"specsteer_{name}", about, buckets=buckets, sum_value=found.sum
        )

    versions = {key.replace("-", "_"): one for key, one in status.versions.items()}
    yield InfoMetricFamily("specsteer", "Versions that run", value=versions)
    yield gauge("start_time_seconds", "When the server started", status.started)
    yield gauge("ready", "1 if sessions can be opened", status.state == "ready")
    rounds = status.rounds
    results = {
        name: float(rounds.results[name])
        for name in ("kept", "refused", "told", "resync", "busy", "error")
    }
    yield counted("rounds", "Blocks answered, by result", "result", results)
    yield counter("draft_tokens", "Drafted tokens decided on", rounds.drafted)
    yield counter("accepted_tokens", "Those that stay", rounds.accepted)
    yield histogram(
        "verify_seconds", "What the models took for a block", rounds.verify_seconds
    )
    yield histogram(
        "queue_seconds", "How long a block waited besides", rounds.queue_seconds
    )
    yield gauge("sessions", "Texts that are remembered", status.sessions.total())
    yield gauge("users", "Users with a text", len(status.sessions))
    yield gauge("waiting_rounds", "Blocks whose answers are being made", status.waiting)
    yield gauge("streams", "Streams that are open", status.streams)
    yield gauge("connections", "Connections that are open", status.connections)
    answers = {str(key): float(n) for key, n in sorted(status.answers.items())}
    yield counted("http_answers", "Requests answered, by status", "status", answers)
    failures = {why: float(status.answers[key]) for key, why in _FAILURES.items()}
    yield counted("auth_fail", "Requests without the right", "reason", failures)
    if status.texts is not None:
        yield gauge("openai_texts", "Texts for other programs", status.texts)
        yield counter("openai_tokens", "Tokens of these", status.text_tokens)
    evictions = {why: float(status.engine.evictions[why]) for why in EVICTIONS}
    about = "Texts that lost their slot before they ended, by why"
    yield counted("kv_evictions", about, "reason", evictions)
    about = "Tokens that these had to read once more"
    yield counter("kv_reread_tokens", about, status.engine.reread)
    about = "Tokens that the slots of a model may hold together"
    yield gauge("kv_budget_tokens", about, status.kv_tokens)
    yield from _of_models(status)


def _of_models(status: ServerStatus) -> Iterator[object]:
    """The figures of each model."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    label = ["model"]
    loaded = GaugeMetricFamily(
        "specsteer_model_loaded", "1 if it is in memory", labels=label
    )
    held = GaugeMetricFamily(
        "specsteer_kv_tokens", "Tokens that its slots hold", labels=label
    )
    loads = CounterMetricFamily(
        "specsteer_model_loads", "How often it was loaded", labels=label
    )
    tokens = CounterMetricFamily(
        "specsteer_read_tokens", "Tokens that it has read", labels=label
    )
    seconds = CounterMetricFamily(
        "specsteer_read_seconds", "How long it has read", labels=label
    )
    batch = HistogramMetricFamily(
        "specsteer_batch_size", "Texts read in one pass", labels=label
    )
    for model in status.models:
        loaded.add_metric([model.role], model.loaded)
        held.add_metric([model.role], model.counts.held)
        loads.add_metric([model.role], model.loads)
        tokens.add_metric([model.role], model.counts.tokens)
        seconds.add_metric([model.role], model.counts.seconds)
        sizes = Histogram(BATCHES)
        for size, times in model.counts.batches.copy().items():
            sizes.add(size, times)
        batch.add_metric([model.role], sizes.cumulative(), sizes.sum)
    yield from (loaded, held, loads, tokens, seconds, batch)


COOKIE = "specsteer-status"
VISIT_SECONDS = 1800.0
_MOST_VISITS = 32
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
class StatusVisits:
    """Who may see the page, by the hash of a cookie. Nothing is kept on a disk."""

    authority: Authority
    clock: Callable[[], float] = time.monotonic
    _tokens: OrderedDict[bytes, tuple[str, float]] = field(default_factory=OrderedDict)

    def enter(self, token: str) -> str | None:
        """A cookie in exchange for a token; None where it may not see the page."""
        if self._admitted(token) is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self._tokens[_hashed(cookie)] = token, self.clock() + VISIT_SECONDS
        while len(self._tokens) > _MOST_VISITS:
            self._tokens.popitem(last=False)
        return cookie

    def caller(self, cookie: str) -> Caller | None:
        """Who shows a cookie; None where its time is over, or its token's."""
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
    visits: StatusVisits = request.app.state.visits
    caller = visits.caller(request.cookies.get(COOKIE, ""))
    if caller is None:
        return _form(request)
    visit = getattr(request.state, VISIT, None)
    if visit is not None:
        now = asyncio.get_running_loop().time()
        request.app.state.door.recognise(visit, caller.user, now)
    status = status_of(request.app.state)
    return _shown(
        "status.html",
        status=status,
        up=up_for(status),
        devices=await asyncio.to_thread(_devices, visits.authority),
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
    visits: StatusVisits = request.app.state.visits
    cookie = visits.enter(token) if token else None
    if cookie is None:
        visit = getattr(request.state, VISIT, None)
        place = "" if visit is None else visit.network
        await asyncio.sleep(visits.authority.refuse(token, place) if token else 0.0)
        return _form(request, 401)
    answer = RedirectResponse("/", 303, _HEADERS)
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=int(VISIT_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/status/leave")
async def leave(request: Request) -> Response:
    """Forget the cookie, here and in the browser."""
    visits: StatusVisits = request.app.state.visits
    if _is_own(request):
        visits.leave(request.cookies.get(COOKIE, ""))
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


def _devices(authority: Authority) -> list[dict[str, str]]:
    """The devices of a household, for the table; none where one token is for all."""
    if not isinstance(authority, Household):
        return []
    return [
        {
            "user": one.user,
            "name": one.name,
            "used": "never"
            if one.last_used is None
            else f"{datetime.fromtimestamp(one.last_used):%Y-%m-%d %H:%M}",
        }
        for one in authority.people.devices()
    ]


def _hashed(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
