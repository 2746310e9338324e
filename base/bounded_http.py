"""Connections of httpcore whose bytes are counted and whose every wait ends.

Bytes are counted where httpcore writes, below HTTP and WebSocket framing; under TLS
before encryption. Waits are short and repeated: they end when somebody stops, when an
answer takes too long as a whole, also byte by byte, and when it is too large.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import httpcore

LARGEST_HEAD = 128 << 10
TOO_SLOW = "takes too long to answer"
TOO_LONG = "sends more than its answer can hold"
_POLL_SECONDS = 0.05
_WRITE_SECONDS = 15.0
_CHUNK = 64 << 10


class Line:
    """Counts of bytes since the start, and the bounds of the next wait."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        self.up = self.down = 0
        self.complaint = ""
        """Why the exchange was given up; empty if it was not."""
        self._stop = stop or threading.Event()
        self._may_stop = True
        self._deadline: float | None = None
        self._most_down: float | None = None

    def attach(self, stop: threading.Event) -> None:
        """From now on end a wait when `stop` is set."""
        self._stop = stop

    def allow(
        self, size: float, seconds: float | None = None, *, may_stop: bool = True
    ) -> None:
        """From now on take `size` bytes at most, within `seconds`."""
        self.complaint = ""
        self._may_stop = may_stop
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._most_down = self.down + size

    def check(self) -> None:
        """Raise httpcore.ReadError if nothing more is to be waited for."""
        if self._may_stop and self._stop.is_set():
            raise httpcore.ReadError("stopped")
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.give_up(TOO_SLOW)
        if self._most_down is not None and self.down > self._most_down:
            self.give_up(TOO_LONG)

    def give_up(self, complaint: str) -> None:
        """End the exchange with a complaint."""
        self.complaint = complaint
        raise httpcore.ReadError(complaint)

    def wait_for(
        self, connect: Callable[[], httpcore.NetworkStream]
    ) -> httpcore.NetworkStream:
        """Return or raise what `connect` does, called in a thread: looking up a name
        and shaking hands cannot be interrupted, only abandoned."""
        result: queue.SimpleQueue[httpcore.NetworkStream | Exception] = (
            queue.SimpleQueue()
        )

        def put_result() -> None:
            try:
                result.put(connect())
            except Exception as error:  # noqa: BLE001  (raised in the other thread)
                result.put(error)

        threading.Thread(target=put_result, name="connect", daemon=True).start()
        while True:
            try:
                found = result.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                self.check()
                continue
            if isinstance(found, Exception):
                raise found
            return found


class BoundedStream(httpcore.NetworkStream):
    """A connection that the current line bounds."""

    def __init__(self, inner: httpcore.NetworkStream, line: Callable[[], Line]) -> None:
        self._inner = inner
        self._line = line

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        line = self._line()
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            line.check()
            try:
                data = self._inner.read(max_bytes, _POLL_SECONDS)
            except httpcore.ReadTimeout:
                if end is not None and time.monotonic() > end:
                    raise
                continue
            line.down += len(data)
            line.check()
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Counted first: of what fails in the middle, a part may have left.
        line = self._line()
        line.up += len(buffer)
        for start in range(0, len(buffer), _CHUNK):
            if start:
                line.check()
            part = buffer[start : start + _CHUNK]
            self._inner.write(part, _WRITE_SECONDS if timeout is None else timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        def greet() -> httpcore.NetworkStream:
            return self._inner.start_tls(ssl_context, server_hostname, timeout)

        try:
            return BoundedStream(self._line().wait_for(greet), self._line)
        except BaseException:
            # The timeout is for each piece of a greeting: an abandoned one ends here.
            with suppress(OSError, AttributeError):
                self.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class BoundedBackend(httpcore.NetworkBackend):
    """Opens connections that the line of the moment bounds."""

    def __init__(
        self, inner: httpcore.NetworkBackend, line: Callable[[], Line]
    ) -> None:
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
        stream = self._line().wait_for(
            lambda: self._inner.connect_tcp(
                host, port, timeout, local_address, socket_options
            )
        )
        return BoundedStream(stream, self._line)
