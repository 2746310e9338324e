"""Counts the bytes that are really handed to the socket, and those that come back.

The count is taken where httpx writes, below HTTP and WebSocket framing; under TLS it
is the count before encryption.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx


class Counter:
    """Bytes since the start."""

    def __init__(self) -> None:
        self.up = self.down = 0


class _CountingStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, counter: Counter) -> None:
        self._inner = inner
        self._counter = counter

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, timeout)
        self._counter.down += len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Counted first: of what fails in the middle, a part may have left.
        self._counter.up += len(buffer)
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _CountingStream(inner, self._counter)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _CountingBackend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend, counter: Counter) -> None:
        self._inner = inner
        self._counter = counter

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp(
            host, port, timeout, local_address, socket_options
        )
        return _CountingStream(stream, self._counter)


def counting_transport(counter: Counter, url: str) -> httpx.HTTPTransport:
    """A transport to `url` whose traffic is counted.

    httpx has no public place to put a network backend, so the pool's own is wrapped;
    `tests/edge_app/test_traffic.py` fails when that place moves.
    """
    # Reading the certificates takes 70 ms, and plain http needs none.
    verify = url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx.HTTPTransport(verify=verify)
    pool = transport._pool
    pool._network_backend = _CountingBackend(pool._network_backend, counter)
    return transport
