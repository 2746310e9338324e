"""The app in a browser of this machine: textual-serve's terminal behind a door of ours.

textual-serve answers whoever asks: any page that a browser shows could read the screen
and type. Here the first line of defence is that only loopback listens; the second that
a request names this host and comes from this page (`Host` and `Origin`, so neither a
page of the web nor a name that points here gets through); the third a link that opens
once and leaves a cookie, which no other site can have sent. The page loads nothing from
anywhere else, and its policy would not let it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import textual_serve
from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from decoding_core.errors import InvalidSettingsError

HOST = "127.0.0.1"
_PAGE = Path(__file__).with_name("browser.html")
_FILES = {"browser.css": "text/css", "browser.js": "text/javascript"}
_START = (
    "import sys; sys.path[:0] = {path!r}; "
    "from edge_app.commands.app import open_app; open_app()"
)
_LARGEST_MESSAGE = 1 << 20  # bytes of what a browser says at once: a paste
_SIZES = range(10, 500)  # columns or rows of a terminal
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_PATIENCE = 10.0  # seconds for an app to end in

Handler = Callable[[Any], Awaitable[Any]]


def app_command() -> str:
    """The command that opens the app, which imports nothing of the current folder."""
    path = [folder for folder in sys.path if Path(folder).is_absolute()]
    code = _START.format(path=path)
    return shlex.join([sys.executable, "-I", "-X", "utf8", "-c", code])


class BrowserServer:
    """Shows what `command` shows in a terminal to whoever opened the link."""

    def __init__(
        self, command: str, port: int, on_listening: Callable[[str], None]
    ) -> None:
        """Listen at `port`, any free one for 0; `on_listening` gets the link."""
        self._command, self._port, self._on_listening = command, port, on_listening
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._hosts: frozenset[str] = frozenset()
        self._session: Any = None  # the websocket of the app; a second one replaces it
        self._turn = asyncio.Lock()

    async def listen(self, stop: asyncio.Event | None = None) -> None:
        """Serve until `stop` or a signal. Raises InvalidSettingsError for the port."""
        # What it logs may quote a browser or the app; nobody reads it.
        for name in ("textual-serve", "aiohttp"):
            log = logging.getLogger(name)
            log.addHandler(logging.NullHandler())
            log.propagate = False

        guard = web.middleware(partial(self._guard))
        app = web.Application(middlewares=[guard], client_max_size=1 << 10)
        statics = Path(next(iter(textual_serve.__path__))) / "static"
        app.add_routes(
            [
                web.get("/", self._page),
                *(web.get(f"/{name}", self._page) for name in _FILES),
                web.get("/ws", self._socket),
                web.static("/static", statics),
            ]
        )
        stop = stop or asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, stop.set)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, HOST, self._port).start()
            except OSError as error:
                raise InvalidSettingsError(
                    f"port {self._port} of this machine cannot be had; choose another "
                    "with --port, or 0 for any"
                ) from error
            port = runner.addresses[0][1]
            self._hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})
            self._on_listening(f"http://{HOST}:{port}/?token={self._token}")
            await stop.wait()
        finally:
            await self._end()
            await runner.cleanup()

    async def _guard(self, request: Any, handler: Handler) -> Any:
        """Let through who has the cookie, and comes from here to here."""
        host = request.headers.get("Host", "")
        origin = request.headers.get("Origin")
        if host not in self._hosts:
            return self._refuse("this server is asked by its own name alone")
        if origin not in (None, f"http://{host}") or (
            request.path == "/ws" and origin is None
        ):
            return self._refuse("another page may not ask this server")
        token = request.query.get("token")
        if request.path == "/" and token is not None:
            known = self._token or ""
            if not known or not secrets.compare_digest(token.encode(), known.encode()):
                return self._refuse("this link was opened before; start it again")
            self._token = None
            response = web.Response(status=303, headers={"Location": "/"})
            response.set_cookie(
                "specsteer", self._cookie, httponly=True, samesite="Strict", path="/"
            )
            return self._closed(response, host)
        cookie = request.cookies.get("specsteer", "")
        if not secrets.compare_digest(cookie.encode(), self._cookie.encode()):
            return self._refuse("open the link that the terminal shows")
        try:
            response = await handler(request)
        except web.HTTPException as error:
            return self._refuse(error.reason, error.status)
        return response if response.prepared else self._closed(response, host)

    def _refuse(self, why: str, status: int = 403) -> Any:
        return self._closed(web.Response(status=status, text=why + "\n"), HOST)

    def _closed(self, response: Any, host: str) -> Any:
        """`response` with the page's policy: nothing from elsewhere, kept nowhere."""
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data:; font-src 'self'; connect-src ws://{host}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        response.headers.update(_HEADERS | {"Content-Security-Policy": policy})
        response.headers.pop("Server", None)
        return response

    async def _page(self, request: Any) -> Any:
        name = request.path.removeprefix("/") or _PAGE.name
        socket = f"ws://{request.headers['Host']}/ws"
        text = _PAGE.with_name(name).read_text("utf-8").replace("WEBSOCKET", socket)
        return web.Response(text=text, content_type=_FILES.get(name, "text/html"))

    async def _socket(self, request: Any) -> Any:
        """One app at a time: a page that is opened anew takes it over."""
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_LARGEST_MESSAGE)
        await socket.prepare(request)
        await self._end()
        async with self._turn:  # until the app before this one has kept its draft
            self._session = socket
            service = AppService(
                self._command,
                write_bytes=socket.send_bytes,
                write_str=socket.send_str,
                close=socket.close,
                download_manager=DownloadManager(),
            )
            query = request.query
            await service.start(_cells(query.get("width")), _cells(query.get("height")))
            try:
                async for message in socket:
                    await _obey(service, socket, message)
            finally:
                await _leave(service)
        return socket

    async def _end(self) -> None:
        """Close the page that shows the app; the app keeps its draft and ends."""
        if self._session is not None and not self._session.closed:
            await self._session.close()


async def _leave(service: Any) -> None:
    """Have the app keep its draft and end; kill it if it does not."""
    process = service._process
    with suppress(ConnectionError, RuntimeError, TimeoutError):
        await asyncio.wait_for(service.stop(), _PATIENCE)
    try:
        await asyncio.wait_for(process.wait(), _PATIENCE)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _obey(service: Any, socket: Any, message: Any) -> None:
    """Do what a page may ask for: keys, a size, a sign of life; ignore the rest."""
    try:
        kind, *rest = message.json()
        said: Any = rest[0] if rest else None
        if kind == "stdin":
            await service.send_bytes(said.encode())
        elif kind == "resize":
            await service.set_terminal_size(
                _cells(said["width"]), _cells(said["height"])
            )
        elif kind == "ping":
            await socket.send_json(["pong", said])
        # The app learns nothing of the focus: it would show no keys without it.
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return


def _cells(said: Any) -> int:
    """A number of columns or rows that a terminal may have."""
    try:
        return min(max(int(said), _SIZES.start), _SIZES.stop)
    except (TypeError, ValueError, OverflowError):
        return 80
