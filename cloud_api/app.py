"""The ASGI application: routes, middleware and the life of the engine thread."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI

from cloud_api.auth.middleware import Authenticate
from cloud_api.callers import Authority
from cloud_api.connections import ANSWERS, DOOR, Door
from cloud_api.engine.loading import LoadProgress
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import EngineThread
from cloud_api.http import problems, routes, stream
from cloud_api.http.middleware import AdmitOpenings, CatchAllErrors, LimitBody
from cloud_api.http.schemas import FIELD_NAMES
from cloud_api.openai import routes as openai_routes
from cloud_api.openai.errors import OpenAIErrors
from cloud_api.openai.writing import GeneralistTexts
from cloud_api.people import routes as pairing_routes
from cloud_api.people.household import Household
from cloud_api.sessions.service import Service
from cloud_api.settings import ServerSettings
from cloud_api.status import metrics, page
from cloud_api.status.counting import CountAnswers
from cloud_api.status.page import StatusVisits

_SWEEP_SECONDS = 5.0
_JOIN_SECONDS = 0.5


def create_app(
    settings: ServerSettings,
    load: Callable[[], Models],
    authority: Authority,
    fingerprint: str = "",
    progress: LoadProgress | None = None,
) -> FastAPI:
    """The application for those that `authority` knows. `load` runs in the engine
    thread when the application starts, and writes how far it is into `progress`;
    `app.state` holds the `service`, the `engine` (thread), the `door`, the `progress`
    and the `household`, which is None where one token is for all. Devices are paired
    with a household alone, and see the certificate of this `fingerprint`."""
    app = FastAPI(
        title="SpecSteer verifier",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.engine = EngineThread(load)
    app.state.door = Door(settings.door)
    app.state.progress = progress or LoadProgress()
    app.state.visits = StatusVisits(authority)
    app.state.answers = Counter()
    app.state.started = time.time()
    app.state.service = Service(settings, app.state.engine)
    app.state.streams = stream.OpenStreams(settings.user)
    app.state.service.when_streams_end(app.state.streams.end)
    for router in (routes.router, stream.router, metrics.router, page.router):
        app.include_router(router, responses=problems.DESCRIBED)
    if settings.openai:
        app.state.texts = GeneralistTexts(app.state.service, app.state.engine)
        app.include_router(openai_routes.router)
    app.state.household = authority if isinstance(authority, Household) else None
    if app.state.household is not None:
        app.include_router(pairing_routes.router, responses=problems.DESCRIBED)
        app.state.pairing = pairing_routes.PairingQueue(
            app.state.household, fingerprint
        )
    problems.install(app, FIELD_NAMES | pairing_routes.FIELD_NAMES)
    # The last added is the first asked.
    app.add_middleware(LimitBody, limit=settings.body_bytes)
    app.add_middleware(AdmitOpenings, admit=app.state.service.admit)
    app.add_middleware(Authenticate, authority=authority)
    app.add_middleware(CatchAllErrors)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(CountAnswers, answers=app.state.answers)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    service: Service = app.state.service
    app.state.engine.start()

    async def sweep() -> None:
        """Forget idle sessions every few seconds."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            service.expire()

    tasks = [asyncio.create_task(sweep())]
    household: Household | None = app.state.household
    if household is not None:
        tasks.append(asyncio.create_task(household.watch(service.end_device)))
    try:
        yield {DOOR: app.state.door, ANSWERS: app.state.answers}
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        close: Any = app.state.engine.close
        await asyncio.to_thread(close, _JOIN_SECONDS)
