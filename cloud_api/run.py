"""The server in this process: the application, its address, its start and end."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from fastapi import FastAPI

from base.addresses import is_loopback
from base.locks import lock
from base.owner_only import may_be_swapped, open_private, write_whole
from cloud_api import announcing, openai, pairing, problems, routes, status, stream
from cloud_api.admission import Admission, Tls
from cloud_api.announcing import check_can_announce
from cloud_api.auth import Authority
from cloud_api.connections import (
    ANSWERS,
    CONNECTIONS,
    WAITING,
    ConnectionTable,
    HttpConnection,
    VerifierServer,
    first_byte,
)
from cloud_api.engine.models import LoadProgress, ModelOptions, Models
from cloud_api.engine.thread import EngineThread, load_models
from cloud_api.errors import PeopleError, ServerError, configure_logging
from cloud_api.household import Household
from cloud_api.middleware import Authenticate, CountAnswers, LimitBody
from cloud_api.openai import GeneralistTexts
from cloud_api.service import Service
from cloud_api.settings import ConnectionLimits, ServerSettings
from cloud_api.status import StatusCookies
from decoding_core.foreign_text import one_line

FILE_NAME = "cloud.lock"


@contextmanager
def state_lock(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock the folder while the block runs; the lock ends with the process, however
    that ends. Raises ServerError if another process holds one that excludes it."""
    path = folder / FILE_NAME
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            lock(handle, shared=shared)
        except OSError as error:
            written = os.read(handle, 20).strip()
            holder = f" (process {int(written)})" if written.isdigit() else ""
            raise ServerError(
                f"another server works from {folder} already{holder}; stop that one, "
                "or let SPECSTEER_HOME name another folder"
            ) from error
        if not shared:
            os.ftruncate(handle, 0)
            os.write(handle, b"%d\n" % os.getpid())
        yield
    finally:
        os.close(handle)


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
    thread when the application starts, and writes its progress into `progress`. Devices
    are paired with a household alone, and see the certificate of this `fingerprint`."""
    app = FastAPI(
        title="SpecSteer verifier",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.engine = EngineThread(load)
    app.state.connections = ConnectionTable(settings.connections)
    app.state.progress = progress or LoadProgress()
    app.state.cookies = StatusCookies(authority)
    app.state.answers = Counter()
    app.state.started = time.time()
    app.state.service = Service(settings, app.state.engine)
    app.state.streams = stream.OpenStreams(settings.user)
    app.state.service.streams_end.append(app.state.streams.end)
    for router in (routes.router, stream.router, status.router):
        app.include_router(router, responses=problems.DESCRIBED)
    if settings.openai:
        app.state.texts = GeneralistTexts(app.state.service, app.state.engine)
        app.include_router(openai.router)
    app.state.household = authority if isinstance(authority, Household) else None
    if isinstance(authority, Household):
        app.include_router(pairing.router, responses=problems.DESCRIBED)
        app.state.pairing = pairing.PairingQueue(authority.people, fingerprint)
    problems.install(app, routes.FIELD_NAMES | pairing.FIELD_NAMES)
    # The last added is the first asked.
    app.add_middleware(LimitBody, limit=settings.body_bytes)
    admit = app.state.service.admit
    app.add_middleware(Authenticate, authority=authority, admit=admit)
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
    if app.state.household is not None:
        watching = app.state.household.watch(service.end_device)
        tasks.append(asyncio.create_task(watching))
    try:
        yield {CONNECTIONS: app.state.connections, ANSWERS: app.state.answers}
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(app.state.engine.close, _JOIN_SECONDS)


_OTHER_FILES = 64
"""Descriptors for what is no connection, or one that is about to be closed."""
_HARD_STOP_SECONDS = 4.0
_LOOK_SECONDS = 10.0  # how often the files of a given certificate are looked at


def serve(
    options: ModelOptions,
    admission: Admission,
    *,
    host: str,
    port: int,
    allow_remote: bool,
    announce: bool,
    address_file: Path | None,
    exit_with_stdin: bool,
    openai: bool,
) -> bool:
    """Run the server for those who are admitted, until it is stopped; True if the
    engine thread has ended too. The address is also written to `address_file`; with
    `announce` the network is told where the server is; with `openai` other programs may
    write with the generalist alone. Raises ServerError if the address cannot be had, or
    the models cannot be loaded."""
    check_address_file(address_file)
    if announce:
        check_can_announce(host, pairs=admission.household is not None)
    listener = listen(host, port)
    configure_logging()
    limits = ConnectionLimits(room_for_connections(ConnectionLimits().connections))
    settings = ServerSettings(connections=limits, openai=openai)
    tls = admission.tls
    people = None if admission.household is None else admission.household.people
    plain = is_loopback(host) or allow_remote
    fingerprint = tls.fingerprint if tls else ""
    progress = LoadProgress()
    load = partial(load_models, options, progress)
    app = create_app(settings, load, admission.authority, fingerprint, progress)
    http = first_byte(tls.context, plain=plain) if tls else HttpConnection
    url = address_of(listener, "http" if plain else "https")

    def lead_to(renewed: Tls) -> None:
        """Have codes lead to the renewed certificate."""
        if people is not None:
            app.state.pairing.fingerprint = renewed.fingerprint
            people.listens(secure(url), renewed.fingerprint)

    watching: list[asyncio.Task[None]] = []

    def listening() -> None:
        say_address(url, admission.origin, address_file)
        if announce:
            telling = announcing.announce(*listener.getsockname())
            watching.append(asyncio.create_task(telling))
        if tls and tls.files:
            watching.append(asyncio.create_task(_renew(tls, lead_to)))

    server = VerifierServer(app, listening, http)
    if exit_with_stdin:
        _stop_with_stdin(server)
    if people is not None:
        people.listens(secure(url), fingerprint)
    try:
        server.run(sockets=[listener])
    finally:
        if people is not None:
            with suppress(PeopleError):
                people.listens_no_more(secure(url))
    failure = app.state.engine.failure
    if failure is not None:
        raise ServerError(failure)
    return bool(app.state.engine.close(0.0))


def check_address_file(path: Path | None) -> None:
    """Raise ServerError if the address could not be written to `path`."""
    if path is not None and not os.access(path.parent, os.W_OK):
        raise ServerError(
            f"{path} cannot be written; choose another file for the address"
        )
    if path is not None and may_be_swapped(path.parent):
        raise ServerError(
            f"other users can put another file in the place of {path}, and so have "
            "tokens sent to them; choose a folder of your own"
        )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises ServerError if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers without delay (TCP_NODELAY) only if the socket says
    # that it is TCP; one of socket.create_server leaves that open, and each request
    # then waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(WAITING)
    except (OSError, TypeError, ValueError) as error:  # of names that none can be, too
        listener.close()
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            why = f"port {port} on {host} is in use; choose another with --port"
        elif number == errno.EACCES:
            why = f"this user may not listen on port {port}; choose one above 1023"
        else:
            reason = getattr(error, "strerror", None) or "no such address"
            why = f"cannot listen on {host}: {reason}"
        raise ServerError(why) from error
    return listener


def room_for_connections(wanted: int) -> int:
    """How many connections this process has file descriptors for, up to `wanted`; the
    limit of the process is raised for them as far as it may be."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return max(1, soft - _OTHER_FILES)


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def secure(url: str) -> str:
    """The address of the same server over TLS."""
    return "https" + url.removeprefix("https").removeprefix("http")


def say_address(url: str, origin: str, path: Path | None) -> None:
    """Print one line of JSON for programs, also to the file at `path`, and one sentence
    for people."""
    line = json.dumps({"url": url})
    click.echo(line)
    if path is not None:
        write_whole(path, f"{line}\n".encode())
    click.echo(f"listening on {url} · {origin}", err=True)


async def _renew(tls: Tls, lead_to: Callable[[Tls], None]) -> None:
    """Read the given certificate and its key again whenever their files change."""
    stamps = tls.stamps
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if tls.stamps == stamps:
            continue
        stamps = tls.stamps
        try:
            tls = await asyncio.to_thread(tls.renewed)
            await asyncio.to_thread(lead_to, tls)
        except (ServerError, PeopleError, OSError) as error:
            words = f"{one_line(str(error))}; the certificate of before is shown"
        else:
            words = "the renewed certificate is shown to whoever connects from now on"
        click.echo(words, err=True)


def _stop_with_stdin(server: VerifierServer) -> None:
    """End the server in a thread when standard input ends."""

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        server.should_exit = True
        time.sleep(_HARD_STOP_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="stdin", daemon=True).start()
