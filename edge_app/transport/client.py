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
    DecodingError,
    MessageError,
    SessionLostError,
    StoppedError,
)
from edge_app.decoding.events import Emit, Received, Sent
from edge_app.transport.problems import error_of
from edge_app.transport.traffic import Line, watched_transport

_CONNECT_SECONDS = 3.0
_REQUEST_SECONDS = 15.0
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.05
_LARGEST_HEAD = 128 << 10
_LARGEST_BODY = 64 << 10
"""Of answers in JSON: names, problems, limits. What is longer is none of ours."""
_CONTROL_BYTES = 16 << 10
"""Pings and framing that may come beside an answer on a WebSocket."""
_CHUNK = 64 << 10
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
        self._line, self._told = Line(self._stop), Line()
        self._client = httpx.Client(
            base_url=self.url,
            headers={
                "User-Agent": "specsteer",
                "Accept-Encoding": "identity",  # sizes are bounded as they travel
                **_authorization(token),
            },
            timeout=httpx.Timeout(_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
            transport=watched_transport(self._line, self.url),
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
        may_stop: bool = True,
    ) -> dict[str, Any]:
        """One HTTP request and the JSON of its answer, waited for so many seconds, and
        unless `may_stop` is false, no longer than until the person stops.

        Raises:
            DecodingError: as the answer, or its absence, demands.
            StoppedError: the person stopped.
        """
        content = json.dumps(body).encode() if body is not None else b""
        headers = {"Content-Type": "application/json"} if content else {}
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        self._line.allow(_LARGEST_HEAD + _LARGEST_BODY, seconds, may_stop=may_stop)
        with (
            self._translated(),
            self._told_sent(what, _ids_of(body), content),
            self._client.stream(
                method, path, content=content, headers=headers, timeout=timeout
            ) as response,
        ):
            answer = _plain_body(response)
        self._tell_received(what)
        return _read(response, answer)

    def send(
        self, path: str, frame: bytes, token_ids: tuple[int, ...], *, answer_size: int
    ) -> None:
        """Send one frame on the WebSocket at `path`, opened if need be; its answer will
        have so many bytes.

        Raises:
            ConnectionLostError: the socket broke; a new one may be tried.
            DecodingError: there is no socket to be had.
            StoppedError: the person stopped.
        """
        socket = self._socket or self._connect(path)
        self._line.allow(answer_size + _CONTROL_BYTES)
        with self._broken_is_lost(), self._told_sent("block", token_ids, frame):
            socket.send_bytes(frame)

    def receive(self) -> bytes:
        """The next frame on the WebSocket.

        Raises:
            ConnectionLostError: the socket broke; a new one may be tried.
            CloudUnreachableError: nothing comes.
            StoppedError: the person stopped.
        """
        if self._socket is None:
            raise ConnectionLostError(f"lost the server at {self.url}")
        with self._broken_is_lost():
            answer = self._receive(self._socket)
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
        self._line.allow(_LARGEST_HEAD, _REQUEST_SECONDS)
        with self._translated(), self._told_sent("stream", (), b""):
            self._socket = self._exits.enter_context(
                connect_ws(path, self._client, max_message_size_bytes=_CHUNK)
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
        self.disconnect()  # an answer that comes now would be taken for the next one
        raise CloudUnreachableError(f"the server at {self.url} does not answer")

    @contextmanager
    def _broken_is_lost(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            self.disconnect()
            self._raise_if_stopped(error)
            raise ConnectionLostError(
                f"the server at {self.url} {self._line.complaint or 'is lost'}"
            ) from error

    def _raise_if_stopped(self, error: Exception) -> None:
        if self._stop.is_set():
            raise StoppedError("stopped while waiting for the server") from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except WebSocketUpgradeError as error:
            # The body of a refused upgrade cannot always be read; the status can.
            if error.response.status_code == httpx.codes.NOT_FOUND:
                raise SessionLostError("the server has lost the session") from error
            raise _refusal(error.response, b"") from error
        except httpx.InvalidURL as error:
            raise MessageError("the server named a session that none can be") from error
        except (httpx.TransportError, HTTPXWSException) as error:
            self._raise_if_stopped(error)
            if self._line.complaint:
                raise CloudUnreachableError(
                    f"the server at {self.url} {self._line.complaint}"
                ) from error
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
            size = self._line.up - self._told.up
            self._told.up = self._line.up
            if size:
                now = time.time()
                self._emit(Sent(now, self.url, what, size, token_ids, payload))

    def _tell_received(self, what: str) -> None:
        size, self._told.down = self._line.down - self._told.down, self._line.down
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


def _plain_body(response: httpx.Response) -> bytes:
    """The body as it travels; raises MessageError for one that is packed: what a few
    bytes unpack to has no bound."""
    packing = response.headers.get("Content-Encoding", "identity")
    if packing.strip().lower() not in ("", "identity"):
        raise MessageError("the server packs its answers, which nobody asked for")
    return b"".join(response.iter_raw())


def _read(response: httpx.Response, content: bytes) -> dict[str, Any]:
    if not response.is_success:  # a redirect, too: the token goes nowhere else
        raise _refusal(response, content)
    if not content:
        return {}
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise MessageError("the server's answer is not JSON") from error
    if not isinstance(body, dict):
        raise MessageError("the server's answer is not an object")
    return body


def _refusal(response: httpx.Response, content: bytes) -> DecodingError:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = {}
    return error_of(
        str(response.request.url.copy_with(path="/")).rstrip("/"),
        response.status_code,
        body if isinstance(body, dict) else {},
        response.headers.get("Retry-After"),
    )
