"""A verifier behind an address: a session, its blocks, and broken sockets.

`Connection` is the only place where the device opens one. Everything handed to the
socket is reported to `emit`, with the bytes that a bounded line counts. Foreign
exceptions become ours here and nowhere else.

When a socket breaks, `CloudVerifier` sends the blocks that are out again over another,
and the server replays its answers if it had them. A session that is lost is the
business of `VerifierSession`, which is handed the text: nothing of it is kept here. The
session stays open from one text to the next until `close`: another version of a text,
or one that goes on, begins inside it, so that the server need not read again what both
have in common.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
from httpx_ws import (
    HTTPXWSException,
    WebSocketNetworkError,
    WebSocketSession,
    WebSocketUpgradeError,
    connect_ws,
)
from wsproto.events import Event, Message
from wsproto.utilities import ProtocolError

from base.bounded_http import LARGEST_HEAD, TOO_SLOW, BoundedBackend, Line
from decoding_core import wire_json
from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import (
    CertificateError,
    CloudBusyError,
    CloudError,
    CloudRefusedError,
    CloudSlowError,
    CloudUnreachableError,
    ContextFullError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
    StoppedError,
    VocabularyMismatchError,
)
from decoding_core.foreign_text import one_line
from decoding_core.messages import (
    BYTES_VERSION,
    VERSIONS,
    DraftBlock,
    FrameFormat,
    Kind,
    OpenSession,
    Problem,
    SessionOpened,
    Signal,
    Verdict,
)
from decoding_core.verifier import BlocksOut, VerifierRole, bytes_role, role_of
from edge_app.decoding.events import Emit, Notice, Received, Sent
from edge_app.transport import Cadence, padded
from edge_app.transport.token_lists import TokenLists

_CONNECT_SECONDS = 3.0
_REQUEST_SECONDS = 15.0
_ANSWER_SECONDS = 30.0  # for an answer on a WebSocket; it may come on another one
_REST_SECONDS = 15.0  # for the rest of an answer, once a part of it is there
_WORD_SECONDS = 10.0  # after which the person is told what is waited for
_POLL_SECONDS = 0.05
_LARGEST_BODY = 64 << 10  # of answers in JSON: names, problems, limits
_CONTROL_BYTES = 16 << 10  # pings and framing beside an answer on a WebSocket
_CHUNK = 64 << 10
_TEXT_DONE, _GOES_ON = 1000, 1001  # close codes: the first ends the session
_BROKEN = (
    HTTPXWSException,
    httpx.TransportError,
    httpcore.NetworkError,
    httpcore.TimeoutException,
    ProtocolError,
)


def watched_transport(
    line: Line, url: str, certificate: str = ""
) -> httpx.HTTPTransport:
    """A transport to `url` over a line that is counted and bounded. With a certificate,
    as PEM, that one alone is taken, whatever authorities say.

    httpx has no public place to put a network backend, so the pool's own is wrapped;
    `tests/edge_app/transport/test_line.py` fails when that place moves.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # As browsers do: docs/check-it-yourself.md.
    if keys := os.environ.get("SSLKEYLOGFILE"):
        context.keylog_filename = keys
    if certificate:
        context.check_hostname = False  # it is the certificate that is known
        context.load_verify_locations(cadata=certificate)
        # It may have been signed by another one, which need not be known then.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # Reading the authorities takes 70 ms, and plain http needs none.
    known = certificate or not url.startswith("https:")
    transport = httpx.HTTPTransport(verify=context if known else True)
    pool = transport._pool
    pool._network_backend = BoundedBackend(pool._network_backend, lambda: line)
    return transport


class _Stream(WebSocketSession):
    """A WebSocket that knows when a partial answer began, and whose threads end in
    silence, whatever a server sends."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.begun: float | None = None  # when an unfinished answer began
        received = self.connection.events

        def noted() -> Iterator[Event]:
            for event in received():
                if isinstance(event, Message):
                    begun = self.begun or time.monotonic()
                    self.begun = None if event.message_finished else begun
                yield event

        self.connection.events = noted  # type: ignore[method-assign, assignment]

    def _background_receive(self, *args: Any) -> None:
        self._run(super()._background_receive, *args)

    def _background_keepalive_ping(self, *args: Any) -> None:
        self._run(super()._background_keepalive_ping, *args)

    def _run(self, work: Callable[..., None], *args: Any) -> None:
        try:
            work(*args)
        except Exception:  # noqa: BLE001 - such as a ping that comes while it closes
            self._events.put(WebSocketNetworkError())


class Connection:
    """HTTP requests and one WebSocket to one server."""

    def __init__(
        self,
        url: str,
        token: str,
        emit: Emit,
        stop: threading.Event | None = None,
        certificate: str = "",
    ) -> None:
        """Prepare a connection, to a server with this certificate (PEM) alone.

        Raises CloudRefusedError for an invalid address, token or certificate.
        """
        self.url = _checked(url)
        self._token, self._certificate = token, certificate
        if certificate and not self.url.startswith("https://"):
            raise CloudRefusedError(
                f"{self.url} has no TLS, and this device was paired with a server that "
                "has: give the address that begins with https"
            )
        headers = {
            "User-Agent": "specsteer",
            "Accept-Encoding": "identity",  # sizes are bounded as they travel
        }
        if token:  # without one the server says what is missing
            if not (token.isascii() and token.isprintable()):
                raise CloudRefusedError("the token holds characters that no token has")
            headers["Authorization"] = f"Bearer {token}"
        self._emit = emit
        self._stop = stop or threading.Event()
        self._line, self._emitted = Line(self._stop), Line()
        try:
            transport = watched_transport(self._line, self.url, certificate)
        except (ssl.SSLError, ValueError) as error:
            raise CloudRefusedError(
                "the certificate that is kept of the server cannot be read: pair the "
                "device again"
            ) from error
        self._client = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=httpx.Timeout(_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
            transport=transport,
            # Else it is looked at, though no redirect is followed.
            event_hooks={"response": [lambda told: told.headers.pop("Location", None)]},
        )
        self._exits = ExitStack()
        self._socket: _Stream | None = None
        self._awaited = 0  # answers that are still to come on the WebSocket
        self._has_said = False  # in this text, that an answer is waited for

    @property
    def awaits_answers(self) -> bool:
        """Whether answers to what was sent on the WebSocket are still to come."""
        return self._awaited > 0

    def moved(self, url: str) -> Connection:
        """Another one in its place, to the same server at another address."""
        self.close()
        return Connection(url, self._token, self._emit, self._stop, self._certificate)

    def attach(self, emit: Emit, stop: threading.Event) -> None:
        """Report to another `emit`, and end waits when another `stop` is set."""
        self._emit, self._stop, self._has_said = emit, stop, False
        self._line.attach(stop)

    def request(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        seconds: float = _REQUEST_SECONDS,
        may_stop: bool = True,
        pad: bool = False,
    ) -> dict[str, Any]:
        """One HTTP request and its answer's JSON, within `seconds`, or until the person
        stops; `pad` fills the body up to one of a few sizes.

        Raises DecodingError by the answer or its absence, StoppedError.
        """
        content = json.dumps(body).encode() if body is not None else b""
        content = padded(content) if pad else content
        headers = {"Content-Type": "application/json"} if content else {}
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        ids: tuple[int, ...] = ()
        if isinstance(body, dict):
            names = ("text_ids", "settled", "drafted")
            ids = tuple(token for name in names for token in body.get(name, ()))
        self._line.allow(LARGEST_HEAD + _LARGEST_BODY, seconds, may_stop=may_stop)
        with (
            self._translated(),
            self._sent(what, ids, content),
            self._client.stream(
                method, path, content=content, headers=headers, timeout=timeout
            ) as response,
        ):
            answer = _plain_body(response)
        self._line.allow(_CONTROL_BYTES)  # what may come on an idle WebSocket
        self._received(what)
        return _read(response, answer)

    def send(
        self, path: str, frame: bytes, token_ids: tuple[int, ...], *, answer_size: int
    ) -> None:
        """Send a frame on the WebSocket at `path`, opened if need be.

        Raises ConnectionLostError if the socket broke and another may be tried,
        DecodingError if there is none, StoppedError.
        """
        socket = self.connect(path)
        self._awaited += 1
        self._line.allow(self._awaited * answer_size + _CONTROL_BYTES)
        with self._broken_is_lost(), self._sent("block", token_ids, frame):
            socket.send_bytes(frame)

    def receive(self, *, wait: bool = True, until: float = math.inf) -> bytes | None:
        """The next frame, waited for until `until` (monotonic); None: not there yet.

        Raises ConnectionLostError, ConnectionSlowError, StoppedError.
        """
        if self._socket is None:
            raise ConnectionLostError(f"lost the server at {self.url}")
        with self._broken_is_lost():
            if wait:
                answer = self._receive(self._socket, until)
            else:
                try:
                    answer = self._socket.receive_bytes(timeout=0.0)
                except queue.Empty:
                    return None
        self._awaited -= 1
        self._received("verdict")
        return answer

    def disconnect(self) -> None:
        """Close the WebSocket; the session goes on over the next one."""
        self._hang_up(_GOES_ON)

    def end(self) -> bool:
        """Close the WebSocket and the session; whether the server was told."""
        return self._hang_up(_TEXT_DONE)

    def _hang_up(self, code: int) -> bool:
        socket, self._socket, self._awaited = self._socket, None, 0
        exits, self._exits = self._exits, ExitStack()
        try:
            with self._sent("end", (), b""), exits:
                if socket is not None:
                    socket.close(code)
        except (*_BROKEN, OSError):
            return False  # it was broken, which is why it is closed
        return socket is not None

    def close(self) -> None:
        """Close everything."""
        self.disconnect()
        self._client.close()

    def connect(self, path: str) -> _Stream:
        """The WebSocket at `path`, opened if need be; raises as `request`."""
        if self._socket is not None:
            return self._socket
        self._line.allow(LARGEST_HEAD, _REQUEST_SECONDS)
        with self._translated(), self._sent("stream", (), b""):
            self._socket = self._exits.enter_context(
                connect_ws(
                    path,
                    self._client,
                    max_message_size_bytes=_CHUNK,
                    queue_size=0,  # what comes is bounded in bytes
                    session_class=_Stream,
                )
            )
        self._line.allow(_CONTROL_BYTES)
        self._received("stream")
        return self._socket

    def _receive(self, socket: _Stream, until: float) -> bytes:
        asked = time.monotonic()
        until = min(until, asked + _ANSWER_SECONDS)
        while True:
            if self._stop.is_set():
                raise StoppedError("stopped while waiting for the server")
            try:
                return socket.receive_bytes(timeout=_POLL_SECONDS)
            except queue.Empty:
                now, begun = time.monotonic(), socket.begun
            if now > asked + _WORD_SECONDS and not self._has_said:
                self._has_said = True
                self._emit(
                    Notice(
                        f"the server at {self.url} has not answered for "
                        f"{_WORD_SECONDS:g} seconds; it is waited for, up to a minute"
                    )
                )
            if now > until or (begun is not None and now > begun + _REST_SECONDS):
                # An answer that comes now would be taken for the next one.
                self.disconnect()
                raise ConnectionSlowError(f"the server at {self.url} {TOO_SLOW}")

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
            raise _refusal(error.response) from error
        except httpx.InvalidURL as error:
            raise MessageError("the server named a session that none can be") from error
        except (httpx.TransportError, HTTPXWSException) as error:
            self._raise_if_stopped(error)
            complaint = self._line.complaint
            if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
                complaint = complaint or TOO_SLOW
            if complaint:
                slow = complaint == TOO_SLOW
                kind = CloudSlowError if slow else CloudUnreachableError
                raise kind(f"the server at {self.url} {complaint}") from error
            raise _no_answer(error, self.url, pinned=bool(self._certificate)) from error

    @contextmanager
    def _sent(
        self, what: str, token_ids: tuple[int, ...], payload: bytes
    ) -> Iterator[None]:
        """Emit what went out meanwhile, also if no answer came."""
        try:
            yield
        finally:
            size = self._line.up - self._emitted.up
            self._emitted.up = self._line.up
            if size:
                now = time.time()
                self._emit(Sent(now, self.url, what, size, token_ids, payload))

    def _received(self, what: str) -> None:
        size, self._emitted.down = self._line.down - self._emitted.down, self._line.down
        self._emit(Received(time.time(), what, size))


class ConnectionLostError(CloudError):
    """A WebSocket broke. The verifier connects again and repeats the round."""


class ConnectionSlowError(ConnectionLostError):
    """A WebSocket brought no whole answer in time, and was closed."""


def certificate_at(url: str, stop: threading.Event | None = None) -> str:
    """The certificate that an https address shows, as PEM, unchecked; nothing but a TLS
    greeting is sent.

    Raises CloudRefusedError for no address or no TLS, CloudUnreachableError.
    """
    address, line = httpx.URL(_checked(url)), Line(stop)
    line.allow(LARGEST_HEAD, _REQUEST_SECONDS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        backend = BoundedBackend(httpcore.SyncBackend(), lambda: line)
        host, port = address.host, address.port or 443
        raw = backend.connect_tcp(host, port, _CONNECT_SECONDS)
        try:
            stream = raw.start_tls(context, host, _REQUEST_SECONDS)
            shown = stream.get_extra_info("socket").getpeercert(binary_form=True)
            stream.close()
        finally:
            raw.close()
    except (httpcore.NetworkError, httpcore.TimeoutException, OSError) as error:
        raise _no_answer(error, url, pinned=False) from error
    return ssl.DER_cert_to_PEM_cert(shown)


def post_form(url: str, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Post a form as OAuth 2 does (RFC 6749): the status, and the object in the answer,
    empty if there is none.

    Raises CloudUnreachableError, MessageError; nothing is sent to an address without a
    certificate that this device trusts.
    """
    line = Line()
    line.allow(LARGEST_HEAD + _LARGEST_BODY, _REQUEST_SECONDS)
    headers = {"User-Agent": "specsteer", "Accept-Encoding": "identity"}
    timeout = httpx.Timeout(_REQUEST_SECONDS, connect=_CONNECT_SECONDS)
    transport = watched_transport(line, url)
    try:
        with (
            httpx.Client(
                headers=headers, timeout=timeout, transport=transport
            ) as client,
            client.stream("POST", url, data=fields) as response,
        ):
            body = _plain_body(response)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        fault, why = _tls_fault(error), line.complaint or "cannot be reached"
        if isinstance(fault, ssl.SSLCertVerificationError):
            why = f"shows a certificate that is not trusted ({fault.verify_message})"
        host = urlsplit(url).hostname
        raise CloudUnreachableError(one_line(f"{host} {why}")) from error
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    return response.status_code, answer if isinstance(answer, dict) else {}


def _tls_fault(error: BaseException) -> ssl.SSLError | None:
    fault: BaseException | None = error
    while fault is not None and not isinstance(fault, ssl.SSLError):
        fault = fault.__cause__ or fault.__context__
    return fault


def _no_answer(error: BaseException, url: str, *, pinned: bool) -> CloudError:
    """What to tell of a connection that did not come about, or broke."""
    fault = _tls_fault(error)
    if isinstance(fault, ssl.SSLCertVerificationError) and pinned:
        return CertificateError(
            f"the certificate at {url} is another one than at pairing, so nothing was "
            "sent. If the server was set up anew, pair again: 'specsteer-cloud pair' "
            "there, 'specsteer pair' here. If not, somebody else may be answering"
        )
    if isinstance(fault, ssl.SSLCertVerificationError):
        return CloudRefusedError(
            f"the certificate at {url} is none that this device trusts "
            f"({one_line(fault.verify_message)}), so nothing was sent: pair the device "
            "with the server ('specsteer-cloud pair' there shows how)"
        )
    if isinstance(fault, ssl.SSLError) and not isinstance(
        fault, ssl.SSLEOFError | ssl.SSLZeroReturnError
    ):
        return CloudRefusedError(
            f"what answers at {url} does not speak TLS, so it is not the server meant, "
            "and nothing was sent"
        )
    return CloudUnreachableError(f"there is no answer from the server at {url}")


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


def _plain_body(response: httpx.Response) -> bytes:
    """The body as it travels; raises MessageError for a packed one, without a bound."""
    packing = response.headers.get("Content-Encoding", "identity")
    if packing.strip().lower() not in ("", "identity"):
        raise MessageError("the server packs its answers, which nobody asked for")
    return b"".join(response.iter_raw())


def _read(response: httpx.Response, content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        if response.is_success:
            raise MessageError("the server's answer is not JSON") from error
        body = None
    if not response.is_success:  # a redirect, too: the token goes nowhere else
        raise _refusal(response, body)
    if not isinstance(body, dict):
        raise MessageError("the server's answer is not an object")
    return body


def _refusal(response: httpx.Response, body: Any = None) -> DecodingError:
    return error_of(
        str(response.request.url.copy_with(path="/")).rstrip("/"),
        response.status_code,
        body if isinstance(body, dict) else {},
        response.headers.get("Retry-After"),
        response.headers.get(wire_json.VERSION_HEADER),
    )


_MOST_WAIT = 10.0  # seconds; what a server asks for is not to be trusted
_LONGEST_DETAIL = 400  # characters shown of a server's reason


def error_of(
    url: str,
    status: int,
    problem: Mapping[str, Any],
    retry_after: str | None,
    version: str | None = None,
) -> DecodingError:
    """The error for an HTTP status and its problem+json body; `version` is the header
    that names the server's protocol."""
    said = problem.get("detail") or problem.get("title")
    detail = one_line((said if isinstance(said, str) else "")[:_LONGEST_DETAIL])
    detail = detail.strip() or f"status {status}"
    match status, problem.get("code"):
        case 403, "forbidden":
            return CloudRefusedError(
                f"the server at {url} knows this device, but its token is not good for "
                "this: pair the device again, with other scopes"
            )
        case (401, _) | (403, _) if problem.get("code") != "pairing-refused":
            return CloudRefusedError(
                f"the server at {url} refused the token; pair this device with it, or "
                "give the server's own with --token or SPECSTEER_TOKEN"
            )
        case 413, "context-full":
            return ContextFullError(f"the server at {url}: {detail}")
        case 404, "session-lost":
            return SessionLostError(detail)
        case 409, "vocabulary-mismatch":
            return VocabularyMismatchError(f"the server at {url} refused: {detail}")
        case 400, "protocol-version":
            if number := re.fullmatch("[0-9]{1,3}", version or ""):
                update = wire_json.which_to_update(VERSIONS[-1], int(number[0]))
                return CloudRefusedError(f"{update} ({url})")
            return CloudRefusedError(
                f"the server at {url} speaks another version of the protocol; update "
                "SpecSteer on the server and on this device"
            )
        case ((404 | 405 | 501), _):
            return CloudRefusedError(f"there is no SpecSteer server at {url}")
        case ((429 | 503), _):
            seconds = _seconds(retry_after)
            return CloudBusyError(f"the server at {url}: {detail}", seconds)
    if 300 <= status < 400:
        return CloudRefusedError(
            f"{url} sends its visitors elsewhere (status {status}), which is not "
            "followed, as the token would go along: give the server's own address"
        )
    if status >= 500 or status == 408:
        return CloudUnreachableError(f"the server at {url} failed: {detail}")
    return CloudRefusedError(f"the server at {url} refused: {detail}")


def check_speaks_bytes(url: str, models: Mapping[str, Any]) -> None:
    """Raise CloudRefusedError if the server that describes its models so is too old for
    a device of another vocabulary."""
    told = models.get("versions")
    if not (isinstance(told, list) and BYTES_VERSION in told):
        raise CloudRefusedError(
            f"the server at {url} runs a large model of another vocabulary and is too "
            "old for texts in bytes: update SpecSteer there"
        )


def error_of_signal(signal: Signal) -> DecodingError:
    """The error for a frame that is no verdict."""
    if signal.kind is Kind.RESYNC:
        return SessionLostError("the server holds another text")
    if signal.kind is Kind.BUSY:
        seconds = min(signal.value / 1000, _MOST_WAIT)
        return CloudBusyError("the server is busy", seconds)
    match signal.value:
        case Problem.CONTEXT_FULL:
            return ContextFullError("the text no longer fits into the server's model")
        case Problem.ENGINE:
            return EngineError("the server's model failed")
        case Problem.STOPPING:
            return CloudUnreachableError("the server is stopping")
    return MessageError("the server did not understand a block")


def _seconds(retry_after: str | None) -> float:
    try:
        seconds = float(retry_after or 1.0)
    except ValueError:
        return 1.0
    return min(seconds, _MOST_WAIT) if seconds >= 0.0 else 1.0  # "nan" is no number


_MOST_SOCKETS = 3  # broken in succession over one block: then the server counts as gone
_MOST_STALE = 16
_BLOCK_SECONDS = 60.0  # for the answer to a block, over however many sockets
_DOUBTED = 16  # verdicts after which a stream that was too slow is forgotten
_AGAIN_SECONDS = 10.0  # the same for a server that was too slow for the last block
_CLOSE_SECONDS = 1.0
_SESSIONS = "/v1/sessions"
_MOST_PIECES = 32 << 20  # bytes of all tokens of a vocabulary


class CloudVerifier:
    """Verifies drafts by asking a server."""

    local = False

    def __init__(
        self,
        url: str,
        token: str,
        emit: Emit,
        stop: threading.Event | None = None,
        certificate: str = "",
        cadence: float = 0.0,
        token_lists: TokenLists | None = None,
        others: Sequence[str] = (),
    ) -> None:
        """Prepare a session; `cadence` is in milliseconds, and tokens of the server
        that are not the device's are kept in `token_lists`. Where nobody answers, the
        `others` are tried in turn: addresses of the same household."""
        self._others = deque(map(_checked, others))
        self._connection = Connection(url, token, emit, stop, certificate)
        self._cadence = Cadence(cadence)
        self._stop = stop or threading.Event()
        self._role: VerifierRole | None = None
        self._frames: FrameFormat | None = None
        self._session_id = ""
        self._out = BlocksOut()
        self._answer: Verdict | Signal | None = None  # to the oldest block
        self._error: DecodingError | None = None
        self._tries = 0
        self._seconds = _BLOCK_SECONDS
        self._doubted = 0  # verdicts during which no second stream may be too slow
        self._token_lists = token_lists
        self._tokens_id = ""
        self._vocabulary: ByteVocabulary | None = None

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.url

    def attach(self, emit: Emit, stop: threading.Event) -> None:
        """Report another text to its `emit`, and end when its `stop` is set."""
        self._connection.attach(emit, stop)
        self._stop, self._seconds, self._doubted = stop, _BLOCK_SECONDS, 0

    def reach(self) -> None:
        """Open the connection before it is needed; raises as `request`."""
        self._connection.request("hello", "GET", "/healthz")

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text, or go on with one in the session that is open.

        Raises CloudBusyError, CloudUnreachableError, CloudRefusedError, StoppedError,
        and ContextFullError if the text leaves no room in the server's models.
        """
        for _ in range(len(self._others)):
            try:
                return self._open(request)
            except CloudUnreachableError:
                self._move()
        return self._open(request)

    def _move(self) -> None:
        """Go on at the next address, where no session is open."""
        self._others.append(self.url)
        self._connection = self._connection.moved(self._others.popleft())
        self._session_id = ""

    def _open(self, request: OpenSession) -> SessionOpened:
        """The same at the present address."""
        role, body = role_of(request.terms), wire_json.open_to_json(request)
        if request.version == BYTES_VERSION:
            role = bytes_role(role)
        frames = role.frames
        same = bool(self._session_id) and frames == self._frames
        if not same or self._connection.awaits_answers:
            self._connection.disconnect()
        self._role, self._frames = role, frames
        self._out.clear()
        self._answer = self._error = None
        self._cadence.begin()
        ask = partial(self._connection.request, "open", body=body, pad=True)
        answer = None
        if self._session_id:
            try:
                answer = ask("PUT", self._path())
            except SessionLostError:
                self._session_id = ""
                self._connection.disconnect()
        opened = wire_json.opened_from_json(answer or ask("POST", _SESSIONS))
        self._session_id = opened.session_id
        # Now, while the specialist reads its prompt. The first block tries again, and
        # says what is wrong.
        try:
            self._connection.connect(f"{self._path()}/stream")
        except CloudError as error:
            if isinstance(error, CloudSlowError):
                raise
        return opened

    @property
    def speaks_bytes(self) -> bool:
        """Whether the server was found to have other tokens."""
        return self._vocabulary is not None

    def vocabulary(self) -> ByteVocabulary:
        """The generalist's tokens by their bytes, asked for once. Raises as `open`, and
        MessageError if the answers are no list of tokens."""
        if self._vocabulary is None:
            self._vocabulary = self._fetched()
        return self._vocabulary

    def forget_vocabulary(self) -> None:
        """Ask for the generalist's tokens again when they are needed: they turned out
        to be others than the server said."""
        if self._vocabulary is not None and self._token_lists is not None:
            self._token_lists.drop(self._tokens_id)
        self._vocabulary = None

    def _fetched(self) -> ByteVocabulary:
        until = time.monotonic() + _BLOCK_SECONDS
        check_speaks_bytes(
            self.url, self._connection.request("models", "GET", "/v1/models")
        )
        pieces, size, end_ids, total = list[bytes](), 1, list[int](), 0
        while len(pieces) < size:
            if time.monotonic() > until:
                raise CloudSlowError("the server takes too long to tell its tokens")
            path = f"/v1/vocabulary/pieces/{len(pieces)}"
            answer = self._connection.request("vocabulary", "GET", path)
            if not pieces:
                self._tokens_id = str(answer.get("id"))
                lists = self._token_lists
                if lists is not None and (kept := lists.find(self._tokens_id)):
                    return kept
            before = len(pieces)
            size, end_ids = wire_json.take_pieces(answer, pieces)
            total += sum(map(len, pieces[before:]))
            if total > _MOST_PIECES:
                raise MessageError("the server's tokens are longer than any model's")
        data = wire_json.tokens_to_bytes(pieces, end_ids)
        if wire_json.tokens_id(data) != self._tokens_id:
            raise MessageError("the server's tokens are others than it says")
        if self._token_lists is not None:
            self._token_lists.keep(data)
        return ByteVocabulary(pieces, end_ids)

    def submit(self, block: DraftBlock) -> None:
        """Send a block, over as many sockets as it takes; raises as `collect`, and
        MessageError if too many are out."""
        self._out.add(block)
        if len(self._out) == 1:  # nothing that was told before is an answer to it
            self._tries, self._answer, self._error = _MOST_SOCKETS, None, None
        with self._all_or_none():
            try:
                self._send(block)
            except ConnectionLostError:
                self._send_again()

    def collect(self) -> Verdict:
        """The verdict on the oldest block; all are sent again if a socket breaks.

        Raises SessionLostError, CloudBusyError, CloudSlowError, CloudUnreachableError,
        CloudRefusedError, ContextFullError, EngineError (the block may be sent again),
        MessageError (an answer to no block of ours), StoppedError.
        """
        if self._role is None or not self._out:
            raise MessageError("collect was called before submit")
        with self._all_or_none():
            if self._error is not None:
                raise self._error
            until = time.monotonic() + self._seconds
            while self._answer is None:
                try:
                    self._answer = self._receive(wait=True, until=until)
                except ConnectionLostError as error:
                    late = isinstance(error, ConnectionSlowError)
                    if (late and self._doubted) or time.monotonic() > until:
                        self._seconds = _AGAIN_SECONDS
                        raise CloudSlowError(str(error)) from error
                    if late:
                        self._doubted = _DOUBTED
                    self._send_again()
            block, answer = self._out[0], self._answer
            if isinstance(answer, Signal):
                raise error_of_signal(answer)
            count = len(block.drafted)
            rows = self._role.positions(answer.accepted, count)
            fits = len(answer.rows) == len(rows)
            if self._role.in_bytes:  # as many as the server's tokens are
                fits = bool(answer.rows)
            if answer.accepted > count or not fits:
                raise MessageError("the server's verdict does not fit the block")
        self._out.popleft()
        self._answer, self._tries = None, _MOST_SOCKETS
        self._seconds, self._doubted = _BLOCK_SECONDS, max(self._doubted - 1, 0)
        return answer

    def ready(self) -> bool:
        """Whether the answer to the oldest block is there, or the socket is broken."""
        if self._answer is None:
            try:
                self._answer = self._receive(wait=False)
            except ConnectionLostError:
                return True
            except DecodingError as error:
                self._error = error
                return True
        return self._answer is not None

    def close(self) -> None:
        """End the session, on the server too, and the connection."""
        try:
            # The server ends the session of a stream that is closed in order.
            streamed = self._connection.end()
            if self._session_id and not streamed:
                how: Any = {"seconds": _CLOSE_SECONDS, "may_stop": False}
                self._connection.request("close", "DELETE", self._path(), **how)
        except DecodingError:
            return  # the server forgets idle sessions by itself
        finally:
            self._session_id = ""
            self._connection.close()

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """An error takes all blocks out of the window; later answers are dropped, or
        they would be taken for those to a second sending."""
        try:
            yield
        except BaseException as error:
            self._out.clear()
            if self._connection.awaits_answers:
                self._connection.disconnect()
            self._answer = self._error = None
            if isinstance(error, SessionLostError):
                self._session_id = ""
            elif self._others and type(error) is CloudUnreachableError:
                self._move()
                raise SessionLostError("another server is asked") from error
            raise

    def _send(self, block: DraftBlock) -> None:
        """Hand a block to the socket, which is opened if need be."""
        if self._frames is None or not self._session_id:
            raise MessageError("submit was called before open")
        self._cadence.wait(self._stop)
        self._connection.send(
            f"{self._path()}/stream",
            self._frames.encode_block(block),
            (*block.settled, *block.drafted),
            answer_size=self._frames.down_size,
        )

    def _send_again(self) -> None:
        """Hand all blocks that are out to another socket."""
        while self._tries:
            self._tries -= 1
            try:
                for block in self._out:
                    self._send(block)
                return
            except ConnectionLostError:
                continue
        raise CloudUnreachableError(f"the server at {self.url} breaks every connection")

    def _receive(
        self, *, wait: bool, until: float = math.inf
    ) -> Verdict | Signal | None:
        """The answer to the oldest block; None: not there. Late answers are dropped;
        what concerns the whole stream bears the newest key that the server saw."""
        assert self._frames is not None
        wanted = self._out[0].epoch, self._out[0].round
        newest = self._out[-1].epoch, self._out[-1].round
        for _ in range(_MOST_STALE):
            frame = self._connection.receive(wait=wait, until=until)
            if frame is None:
                return None
            try:
                answer = self._frames.decode_answer(frame)
            except MessageError as error:
                raise MessageError(
                    f"the server at {self.url} answers as no model can ({error}); it "
                    "is faulty, so choose another with --server, or write with "
                    "--offline"
                ) from error
            key = answer.epoch, answer.round
            if key == wanted:
                return answer
            if key > newest:
                break
            if isinstance(answer, Signal):
                stopping = answer.kind is Kind.ERROR and answer.value in (
                    Problem.MESSAGE,
                    Problem.STOPPING,
                )
                lost = answer.kind is Kind.RESYNC and key > wanted
                if stopping or lost:
                    return answer
            if key > wanted:
                break
        raise MessageError("the server answered another round")

    def _path(self) -> str:
        return f"{_SESSIONS}/{self._session_id}"
