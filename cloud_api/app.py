"""The ASGI application: routes, middleware and the life of the engine thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI

from cloud_api.auth.middleware import Authenticate
from cloud_api.callers import Authority
from cloud_api.connections import DOOR, Door
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import EngineThread
from cloud_api.http import problems, routes, stream
from cloud_api.http.middleware import AdmitOpenings, CatchAllErrors, LimitBody
from cloud_api.http.schemas import FIELD_NAMES
from cloud_api.sessions.service import Service
from cloud_api.settings import ServerSettings

_SWEEP_SECONDS = 5.0
_JOIN_SECONDS = 0.5


def create_app(
    settings: ServerSettings, load: Callable[[], Models], authority: Authority
) -> FastAPI:
    """The application for those that `authority` knows. `load` runs in the engine
    thread when the application starts; `app.state` holds the `service`, the `engine`
    (thread) and the `door`."""
    app = FastAPI(
        title="SpecSteer verifier",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.engine = EngineThread(load)
    app.state.door = Door(settings.door)
    app.state.service = Service(settings, app.state.engine)
    for router in (routes.router, stream.router):
        app.include_router(router)
    problems.install(app, FIELD_NAMES)
    # The last added is the first asked.
    app.add_middleware(LimitBody, limit=settings.body_bytes)
    app.add_middleware(AdmitOpenings, admit=app.state.service.admit)
    app.add_middleware(Authenticate, authority=authority)
    app.add_middleware(CatchAllErrors)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    service: Service = app.state.service
    app.state.engine.start()

    async def sweep() -> None:
        """Forget idle sessions, every few seconds."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            service.expire()

    sweeper = asyncio.create_task(sweep())
    try:
        yield {DOOR: app.state.door}
    finally:
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
        close: Any = app.state.engine.close
        await asyncio.to_thread(close, _JOIN_SECONDS)
