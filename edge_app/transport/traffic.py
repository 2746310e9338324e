"""The line to a server: what goes over it is counted and bounded.

Bytes are counted where httpx writes, below HTTP and WebSocket framing; under TLS it is
the count before encryption. Every wait on the line is short and repeated, so that it
ends when the person stops, when the answer as a whole takes too long (also one that
comes byte by byte), and when more bytes come than the answer can have.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Any

import httpcore
import httpx

_POLL_SECONDS = 0.05
_WRITE_SECONDS = 15.0


class Line:
    """Bytes since the start, and what bounds the wait for the next ones."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        self.up = self.down = 0
        self.complaint = ""
        """Why the line was given up, where it was."""
        self._stop = stop or threading.Event()
        self._may_stop = True
        self._deadline: float | None = None
        self._most_down: int | None = None

    def allow(
        self, size: int, seconds: float | None = None, *, may_stop: bool = True
    ) -> None:
        """From now on take so many bytes, in so many seconds."""
        self.complaint = ""
        self._may_stop = may_stop
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._most_down = self.down + size

    def check(self) -> None:
        """Raise httpcore.ReadError where nothing more is to be waited for."""
        if self._may_stop and self._stop.is_set():
            raise httpcore.ReadError("stopped")
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._give_up("takes too long to answer")
        if self._most_down is not None and self.down > self._most_down:
            self._give_up("sends more than its answer can hold")

    def wait_for(
        self, connect: Callable[[], httpcore.NetworkStream]
    ) -> httpcore.NetworkStream:
        """What `connect` returns or raises, called in a thread: looking up a name and
        shaking hands cannot be broken off, only left alone."""
        result: SimpleQueue[httpcore.NetworkStream | Exception] = SimpleQueue()

        def put_result() -> None:
            try:
                result.put(connect())
            except Exception as error:  # noqa: BLE001 - raised in the other thread
                result.put(error)

        threading.Thread(target=put_result, name="connect", daemon=True).start()
        while True:
            try:
                found = result.get(timeout=_POLL_SECONDS)
            except Empty:
                self.check()
                continue
            if isinstance(found, Exception):
                raise found
            return found

    def _give_up(self, complaint: str) -> None:
        self.complaint = complaint
        raise httpcore.ReadError(complaint)


class _WatchedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, line: Line) -> None:
        self._inner = inner
        self._line = line

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            self._line.check()
            try:
                data = self._inner.read(max_bytes, _POLL_SECONDS)
            except httpcore.ReadTimeout:
                if end is not None and time.monotonic() > end:
                    raise
                continue
            self._line.down += len(data)
            self._line.check()
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Counted first: of what fails in the middle, a part may have left.
        self._line.up += len(buffer)
        self._inner.write(buffer, _WRITE_SECONDS if timeout is None else timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        inner = self._line.wait_for(
            lambda: self._inner.start_tls(ssl_context, server_hostname, timeout)
        )
        return _WatchedStream(inner, self._line)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _WatchedBackend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend, line: Line) -> None:
        self._inner = inner
        self._line = line

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._line.wait_for(
            lambda: self._inner.connect_tcp(
                host, port, timeout, local_address, socket_options
            )
        )
        return _WatchedStream(stream, self._line)


def watched_transport(line: Line, url: str) -> httpx.HTTPTransport:
    """A transport to `url` over a line that is counted and bounded.

    httpx has no public place to put a network backend, so the pool's own is wrapped;
    `tests/edge_app/decoding/test_text_and_traffic.py` fails when that place moves.
    """
    # Reading the certificates takes 70 ms, and plain http needs none.
    verify = url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx.HTTPTransport(verify=verify)
    pool = transport._pool
    pool._network_backend = _WatchedBackend(pool._network_backend, line)
    return transport
