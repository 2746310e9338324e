"""The connection to a verifier server: the only place where the device opens one.

Everything handed to the socket is told to `emit`, counted below HTTP and WebSocket
framing. Foreign exceptions become ours here and nowhere else.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpcore
import httpx
from httpx_ws import (
    HTTPXWSException,
    WebSocketSession,
    WebSocketUpgradeError,
    connect_ws,
)
from wsproto.utilities import ProtocolError

from decoding_core.errors import (
    CloudError,
    CloudRefusedError,
    CloudUnreachableError,
    MessageError,
    SessionLostError,
    StoppedError,
)
from edge_app.cloud_problems import error_of
from edge_app.events import Emit, Received, Sent
from edge_app.traffic import Counter, counting_transport

_CONNECT_SECONDS = 3.0
_REQUEST_SECONDS = 15.0
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.05
_LARGEST_ANSWER = 64 << 20
_BROKEN = (HTTPXWSException, httpx.TransportError, httpcore.NetworkError, ProtocolError)


class Connection:
    """HTTP requests and one WebSocket to one server."""

    def __init__(
        self, url: str, token: str, emit: Emit, stop: threading.Event | None = None
    ) -> None:
        """Prepare a connection; nothing is sent yet.

        Raises:
            CloudRefusedError: `url` is no address of a server, `token` no token.
        """
        self.url = _checked(url)
        self._emit = emit
        self._stop = stop or threading.Event()
        self._counter, self._told = Counter(), Counter()
        self._client = httpx.Client(
            base_url=self.url,
            headers={"User-Agent": "specsteer", **_authorization(token)},
            timeout=httpx.Timeout(_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
            transport=counting_transport(self._counter, self.url),
        )
        self._exits = ExitStack()
        self._socket: WebSocketSession | None = None

    def request(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        seconds: float = _REQUEST_SECONDS,
    ) -> dict[str, Any]:
        """One HTTP request and the JSON of its answer, waited for so many seconds.

        Raises:
            CloudError: as the answer, or its absence, demands.
        """
        content = json.dumps(body).encode() if body is not None else b""
        headers = {"Content-Type": "application/json"} if content else {}
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        with self._translated(), self._told_sent(what, _ids_of(body), content):
            response = self._client.request(
                method, path, content=content, headers=headers, timeout=timeout
            )
        self._tell_received(what)
        return _read(response)

    def exchange(self, path: str, frame: bytes, token_ids: tuple[int, ...]) -> bytes:
        """Send one frame on the WebSocket at `path`, opened if need be; the answer.

        Raises:
            ConnectionLostError: the socket broke; a new one may be tried.
            StoppedError: the person stopped.
        """
        socket = self._socket or self._connect(path)
        try:
            with self._told_sent("block", token_ids, frame):
                socket.send_bytes(frame)
            answer = self._receive(socket)
        except _BROKEN as error:
            self.disconnect()
            raise ConnectionLostError(f"lost the server at {self.url}") from error
        self._tell_received("verdict")
        return answer

    def disconnect(self) -> None:
        """Close the WebSocket; the next exchange opens another."""
        self._socket = None
        exits, self._exits = self._exits, ExitStack()
        try:
            exits.close()
        except (*_BROKEN, OSError):
            return  # it was broken, which is why it is closed

    def close(self) -> None:
        """Close everything."""
        self.disconnect()
        self._client.close()

    def _connect(self, path: str) -> WebSocketSession:
        with self._translated(), self._told_sent("stream", (), b""):
            self._socket = self._exits.enter_context(
                connect_ws(path, self._client, max_message_size_bytes=_LARGEST_ANSWER)
            )
        self._tell_received("stream")
        return self._socket

    def _receive(self, socket: WebSocketSession) -> bytes:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline:
            if self._stop.is_set():
                raise StoppedError("stopped while waiting for the server")
            try:
                return socket.receive_bytes(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
        raise CloudUnreachableError(f"the server at {self.url} does not answer")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except WebSocketUpgradeError as error:
            # The body of a refused upgrade cannot always be read; the status can.
            if error.response.status_code == httpx.codes.NOT_FOUND:
                raise SessionLostError("the server has lost the session") from error
            raise _refusal(error.response) from error
        except httpx.InvalidURL as error:
            raise MessageError("the server named a session that none can be") from error
        except (httpx.TransportError, HTTPXWSException) as error:
            raise CloudUnreachableError(
                f"there is no answer from the server at {self.url}"
            ) from error

    @contextmanager
    def _told_sent(
        self, what: str, token_ids: tuple[int, ...], payload: bytes
    ) -> Iterator[None]:
        """Tell what went out meanwhile, also where no answer came to it."""
        try:
            yield
        finally:
            size = self._counter.up - self._told.up
            self._told.up = self._counter.up
            if size:
                now = time.time()
                self._emit(Sent(now, self.url, what, size, token_ids, payload))

    def _tell_received(self, what: str) -> None:
        size, self._told.down = self._counter.down - self._told.down, self._counter.down
        self._emit(Received(time.time(), what, size))


class ConnectionLostError(CloudError):
    """A WebSocket broke. The verifier connects again and repeats the round."""


def _checked(url: str) -> str:
    try:
        parsed = httpx.URL(url)
        sound = parsed.scheme in ("http", "https") and bool(parsed.host)
    except httpx.InvalidURL:
        sound = False
    if not sound:
        raise CloudRefusedError(
            f"'{url}' is no server address; it looks like http://192.168.1.20:8765"
        )
    return url.rstrip("/")


def _authorization(token: str) -> dict[str, str]:
    """Without a token the server is asked all the same: it says what is missing."""
    if not token:
        return {}
    if not (token.isascii() and token.isprintable()):
        raise CloudRefusedError("the token holds characters that no token has")
    return {"Authorization": f"Bearer {token}"}


def _ids_of(body: Any) -> tuple[int, ...]:
    if not isinstance(body, dict):
        return ()
    return (*body.get("settled", ()), *body.get("drafted", ()))


def _read(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise _refusal(response)
    if not response.content:
        return {}
    try:
        body = response.json()
    except ValueError as error:
        raise MessageError("the server's answer is not JSON") from error
    if not isinstance(body, dict):
        raise MessageError("the server's answer is not an object")
    return body


def _refusal(response: httpx.Response) -> CloudError:
    try:
        body = json.loads(response.read())
    except (ValueError, httpx.HTTPError, httpx.StreamError):
        body = {}
    return error_of(
        str(response.request.url.copy_with(path="/")).rstrip("/"),
        response.status_code,
        body if isinstance(body, dict) else {},
        response.headers.get("Retry-After"),
    )
