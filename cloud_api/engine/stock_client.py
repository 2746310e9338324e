"""HTTP to a stock server (vLLM), bounded: no wait, no body, no header without an end.

Nothing is taken from the environment here, no redirect is followed, and no body is
unpacked: what is sent goes to the address that was given, and its key nowhere else.
Foreign exceptions become ours in this module.
"""

from __future__ import annotations

import json
import threading
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpcore

from base.bounded_http import LARGEST_HEAD, TOO_LONG, TOO_SLOW, BoundedBackend, Line
from decoding_core.errors import (
    CloudBusyError,
    EngineError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.foreign_text import one_line

SECONDS = 50.0
"""For one exchange from its first byte to its last; a device waits a minute."""
_CONNECT_SECONDS = 3.0
_RETRY_SECONDS = 1.0
_MOST_CONNECTIONS = 8
_SMALL = 1 << 20
"""Bytes of an answer that holds no rows: names, limits, errors."""
_LONGEST_DETAIL = 300
_BROKEN = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


class StockServerError(EngineError):
    """A stock server said no, or answered what no such server should. Whoever starts
    the gateway reads it; a device is told that the model failed."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP; 0 if the answer itself was at fault."""


def checked_url(url: str) -> str:
    """The address of a server without the `/v1` that is often written behind it.

    Raises:
        InvalidSettingsError: it is invalid, or a key stands in it.
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or not url.isascii():
        raise InvalidSettingsError(
            f"'{one_line(url)}' is no address of a server; it looks like "
            "http://127.0.0.1:8000"
        )
    if parts.username or parts.password:
        raise InvalidSettingsError(
            "a key in an address ends up in logs and lists of processes; put it into "
            "SPECSTEER_GENERALIST_KEY (or SPECSTEER_BASE_KEY) and leave it out there"
        )
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


class StockClient:
    """Exchanges of JSON with one server. Several threads may use it at once."""

    def __init__(
        self, url: str, role: str, key: str = "", seconds: float = SECONDS
    ) -> None:
        """Prepare for the server at `url`, which runs the model of this role; nothing
        is sent yet. Raises InvalidSettingsError for an address or a key that is none.
        """
        self.url = checked_url(url)
        self.role = role
        """What its model is here: 'generalist' or 'base'."""
        if not (key.isascii() and key.isprintable()):
            raise InvalidSettingsError(
                f"SPECSTEER_{role.upper()}_KEY holds characters that no key has"
            )
        self._headers: dict[bytes | str, bytes | str] = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # what a few bytes unpack to has no bound
            "User-Agent": "specsteer-cloud",
        }
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._seconds = seconds
        self._stop = threading.Event()
        self._of_thread = _LineOfThread(self._stop)
        self._pool = httpcore.ConnectionPool(
            max_connections=_MOST_CONNECTIONS,
            network_backend=BoundedBackend(
                httpcore.SyncBackend(), lambda: self._of_thread.line
            ),
        )

    def get(self, path: str) -> dict[str, Any]:
        """The JSON object at `path`; raises as `post` does."""
        return self._exchange("GET", path, b"", _SMALL)

    def post(self, path: str, body: Any, size: int = _SMALL) -> dict[str, Any]:
        """The JSON object that answers `body`, of at most `size` bytes.

        Raises:
            CloudBusyError: the server is away, too slow, or asks to wait.
            StockServerError: it said no, or its answer is invalid.
            StoppedError: `interrupt` was called.
        """
        return self._exchange("POST", path, json.dumps(body).encode(), size)

    def interrupt(self) -> None:
        """End all exchanges, from any thread; there are no more."""
        self._stop.set()

    def close(self) -> None:
        """Close the connections."""
        self._stop.set()
        self._pool.close()

    def _exchange(
        self, method: str, path: str, content: bytes, size: int
    ) -> dict[str, Any]:
        headers: dict[bytes | str, bytes | str] = dict(self._headers)
        if content:
            headers["Content-Type"] = "application/json"
        line = self._of_thread.line
        line.allow(LARGEST_HEAD + size, self._seconds)
        try:
            with self._pool.stream(
                method,
                self.url + path,
                headers=headers,
                content=content,
                extensions={"timeout": {"connect": _CONNECT_SECONDS}},
            ) as response:
                read = response.read()
        except (*_BROKEN, OSError) as error:
            if line.complaint == TOO_LONG:
                self._say(TOO_LONG)
            if line.complaint == TOO_SLOW:
                raise CloudBusyError(
                    f"the {self.role}'s server takes more than {self._seconds:g} "
                    "seconds to answer",
                    _RETRY_SECONDS,
                ) from error
            if self._stop.is_set():
                raise StoppedError("stopped while waiting for a server") from error
            away = isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout)
            raise CloudBusyError(
                f"the {self.role}'s server "
                + ("does not answer" if away else "broke the connection off"),
                _RETRY_SECONDS,
            ) from error
        return self._read(response.status, read)

    def _read(self, status: int, content: bytes) -> dict[str, Any]:
        """The object in the body of an answer, or what its status demands."""
        if status in (401, 403):
            self._say(
                "refuses the key: put the server's own into "
                f"SPECSTEER_{self.role.upper()}_KEY",
                status,
            )
        if 300 <= status < 400:
            self._say(
                "sends its visitors elsewhere, which is not followed, as the key would "
                "go along: give the server's own address",
                status,
            )
        if status in (408, 429) or status >= 500:
            raise CloudBusyError(
                f"the {self.role}'s server is not ready (status {status})",
                _RETRY_SECONDS,
            )
        try:
            body = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError):
            body = None
        if status != 200:
            self._say(f"refused (status {status}){_detail(body)}", status)
        if not isinstance(body, dict):
            what = "a web page" if content.lstrip()[:1] == b"<" else "no JSON object"
            self._say(f"answers with {what}; is there a vLLM server at this address?")
        return body

    def _say(self, what: str, status: int = 0) -> NoReturn:
        raise StockServerError(f"the {self.role}'s server {what}", status)


def _detail(body: Any) -> str:
    """What a refusal says, on one line; it may be anything."""
    error = body.get("error", body) if isinstance(body, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    return f": {one_line(said)[:_LONGEST_DETAIL]}" if isinstance(said, str) else ""


def _no_number(name: str) -> float:
    raise ValueError(name)


class _LineOfThread(threading.local):
    """The bounds of the exchange that a thread has under way."""

    def __init__(self, stop: threading.Event) -> None:
        self.line = Line(stop)
