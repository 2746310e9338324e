"""HTTP to a stock server, bounded: no wait, no body, no header without an end.

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

from base.addresses import is_loopback
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
_SMALL = 1 << 20  # bytes of an answer that holds no rows: names, limits, errors
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
    """The address of a server without the `/v1` that is often written behind it. Raises
    InvalidSettingsError if it is invalid, or a key stands in it."""
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
        is sent yet. Raises InvalidSettingsError if the address or the key is invalid.
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
        self._of_thread = threading.local()
        self._pool = httpcore.ConnectionPool(
            max_connections=_MOST_CONNECTIONS,
            network_backend=BoundedBackend(httpcore.SyncBackend(), self._line),
        )

    @property
    def on_this_machine(self) -> bool:
        """Whether the address is this machine's own."""
        return is_loopback(urlsplit(self.url).hostname or "")

    def ask(self, path: str, body: Any = None, size: int = _SMALL) -> dict[str, Any]:
        """The JSON object at `path`, of at most `size` bytes; with a body, the one that
        answers it.

        Raises:
            CloudBusyError: the server is away, too slow, or asks to wait.
            StockServerError: it said no, or its answer is invalid.
            StoppedError: `interrupt` was called.
        """
        headers, content = dict(self._headers), b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        line = self._line()
        line.allow(LARGEST_HEAD + size, self._seconds)
        try:
            response = self._pool.request(
                "GET" if body is None else "POST",
                self.url + path,
                headers=headers,
                content=content,
                extensions={"timeout": {"connect": _CONNECT_SECONDS}},
            )
        except (*_BROKEN, OSError) as error:
            if line.complaint == TOO_LONG:
                self._say(TOO_LONG)
            if self._stop.is_set() and line.complaint != TOO_SLOW:
                raise StoppedError("stopped while waiting for a server") from error
            what = "broke the connection off"
            if line.complaint == TOO_SLOW:
                what = f"takes more than {self._seconds:g} seconds to answer"
            elif isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout):
                what = "does not answer"
            raise self._busy(what) from error
        return self._read(response.status, response.content)

    def interrupt(self) -> None:
        """End all exchanges, from any thread; there are no more."""
        self._stop.set()

    def close(self) -> None:
        """Close the connections."""
        self._stop.set()
        self._pool.close()

    def _line(self) -> Line:
        """The bounds of the exchange that this thread has under way."""
        line: Line = self._of_thread.__dict__.setdefault("line", Line(self._stop))
        return line

    def _read(self, status: int, content: bytes) -> dict[str, Any]:
        """The object in the body of an answer, or what its status demands."""
        if status in (408, 429) or status >= 500:
            raise self._busy(f"is not ready (status {status})")
        try:
            body = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError):
            body = None
        what = ""
        if status in (401, 403):
            key = f"SPECSTEER_{self.role.upper()}_KEY"
            what = f"refuses the key: put the server's own into {key}"
        elif 300 <= status < 400:
            what = (
                "sends its visitors elsewhere, which is not followed, as the key would "
                "go along: give the server's own address"
            )
        elif status != 200:
            what = f"refused (status {status}){_detail(body)}"
        elif not isinstance(body, dict):
            kind = "a web page" if content.lstrip()[:1] == b"<" else "no JSON object"
            what = (
                f"answers with {kind}; is there a vLLM or llama-server at this address?"
            )
        if what:
            self._say(what, 0 if status == 200 else status)
        found: dict[str, Any] = body
        return found

    def _busy(self, what: str) -> CloudBusyError:
        return CloudBusyError(f"the {self.role}'s server {what}", _RETRY_SECONDS)

    def _say(self, what: str, status: int = 0) -> NoReturn:
        raise StockServerError(f"the {self.role}'s server {what}", status)


def _detail(body: Any) -> str:
    """What a refusal says, on one line; it may be anything."""
    error = body.get("error", body) if isinstance(body, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    return f": {one_line(said)[:_LONGEST_DETAIL]}" if isinstance(said, str) else ""


def _no_number(name: str) -> float:
    raise ValueError(name)
