"""A verifier behind an address: a session, its blocks, and broken sockets.

When a socket breaks, the blocks that are out are sent again over another, and the
server replays its answers if it had them. A session that is lost is the business of
`VerifierSession`, which is handed the text: nothing of it is kept here.

The session stays open from one text to the next until `close`: another version of a
text, or one that goes on, begins inside it, so that the server need not read again what
both have in common.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from decoding_core.errors import (
    CloudError,
    CloudSlowError,
    CloudUnreachableError,
    DecodingError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import (
    DraftBlock,
    FrameFormat,
    Kind,
    OpenSession,
    Problem,
    SessionOpened,
    Signal,
    Verdict,
)
from decoding_core.verifier import BlocksOut, VerifierRole, role_of
from decoding_core.wire_json import open_to_json, opened_from_json
from edge_app.decoding.events import Emit
from edge_app.transport import Cadence
from edge_app.transport.client import (
    Connection,
    ConnectionLostError,
    ConnectionSlowError,
    error_of_signal,
)
from models.running.interface import shown_token, token_list_id

_MOST_SOCKETS = 3  # broken in succession over one block: then the server counts as gone
_MOST_STALE = 16
_BLOCK_SECONDS = 60.0
"""For the answer to a block, over however many sockets."""
_DOUBTED = 16
"""Verdicts after which a stream that was too slow is forgotten."""
_AGAIN_SECONDS = 10.0
"""The same for a server that was too slow for the last block."""
_CLOSE_SECONDS = 1.0
_SESSIONS = "/v1/sessions"


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
    ) -> None:
        """Prepare a session; with a cadence, in milliseconds, rounds leave at multiples
        of it after the text began."""
        self._connection = Connection(url, token, emit, stop, certificate)
        self._cadence = Cadence(cadence) if cadence else None
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

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.url

    def attach(self, emit: Emit, stop: threading.Event) -> None:
        """Tell another text's `emit` what is sent from now on, and end when its `stop`
        is set."""
        self._connection.attach(emit, stop)
        self._stop, self._seconds, self._doubted = stop, _BLOCK_SECONDS, 0

    def reach(self) -> None:
        """Open the connection before a text needs it; raises as `Connection.request`
        does."""
        self._connection.request("hello", "GET", "/healthz")

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text on the server, or go on with one: inside the session that is
        open, else in a new one.

        Raises:
            CloudBusyError: the server asks to come back later.
            CloudUnreachableError: there is no answer.
            CloudRefusedError: the server said no.
            ContextFullError: the text leaves no room in the server's models.
            StoppedError: the person stopped.
        """
        role, body = role_of(request.terms), open_to_json(request)
        frames = role.frames
        same = bool(self._session_id) and frames == self._frames
        if not same or self._connection.awaits_answers:
            self._connection.disconnect()
        self._role, self._frames = role, frames
        self._out.clear()
        self._answer = self._error = None
        if self._cadence is not None:
            self._cadence.begin()
        opened: SessionOpened | None = None
        if self._session_id:
            try:
                answer = self._connection.request(
                    "open", "PUT", self._path(), body, pad=True
                )
                opened = opened_from_json(answer)
            except SessionLostError:
                self._session_id = ""
                self._connection.disconnect()
        if opened is None:
            answer = self._connection.request("open", "POST", _SESSIONS, body, pad=True)
            opened = opened_from_json(answer)
        self._session_id = opened.session_id
        # Now, while the specialist reads its prompt. The first block tries again, and
        # says what is wrong.
        try:
            self._connection.connect(f"{self._path()}/stream")
        except CloudSlowError:
            raise
        except CloudError:
            pass
        return opened

    def first_difference(self, names: Sequence[bytes]) -> str:
        """The first token that the server has otherwise, in words, found by
        halving; `names` are the device's. Raises what `open` does, and MessageError."""
        until = time.monotonic() + _BLOCK_SECONDS

        def ask(count: int) -> tuple[int, str, bytes]:
            path = f"/v1/vocabulary/{count}"
            if time.monotonic() > until:
                raise CloudSlowError("the server takes too long to tell its tokens")
            answer = self._connection.request("vocabulary", "GET", path)
            try:
                size, name, last = answer["size"], answer["id"], answer["last"]
                if type(size) is not int or not isinstance(name, str):
                    raise TypeError
                return size, name, bytes.fromhex(last)
            except (KeyError, TypeError, ValueError) as error:
                raise MessageError("the server does not tell its tokens") from error

        size, _, _ = ask(1)
        same, other = 0, max(0, min(size, len(names))) + 1
        while other - same > 1:
            count = (same + other) // 2
            if ask(count)[1] == token_list_id(names[:count]):
                same = count
            else:
                other = count
        here = names[same : same + 1]
        there = [ask(same + 1)[2]] if same < size else []
        mine, theirs = (shown_token(*some) for some in (here, there))
        return f"token {same} is {mine} here and {theirs} there"

    def submit(self, block: DraftBlock) -> None:
        """Send one block, over as many sockets as it takes; raises what `collect` does,
        and MessageError where too many wait for their verdicts."""
        self._out.add(block)
        if len(self._out) == 1:  # nothing that was told before is an answer to it
            self._tries, self._answer, self._error = _MOST_SOCKETS, None, None
        with self._all_or_none():
            try:
                self._send(block)
            except ConnectionLostError:
                self._send_again()

    def collect(self) -> Verdict:
        """The verdict on the oldest block; all are sent again where a socket breaks.

        Raises:
            SessionLostError: the server no longer has the session, or another text.
            CloudBusyError: the server asks to come back later.
            CloudSlowError: no answer came in time.
            CloudUnreachableError: the server is gone.
            CloudRefusedError: the server said no.
            ContextFullError: the block does not fit into the server's models.
            EngineError: a model of the server failed; the block may be sent again.
            MessageError: the answer is none to this block.
            StoppedError: the person stopped.
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
            if answer.accepted > count or len(answer.rows) != len(rows):
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
                self._connection.request(
                    "close",
                    "DELETE",
                    self._path(),
                    seconds=_CLOSE_SECONDS,
                    may_stop=False,
                )
        except DecodingError:
            return  # the server forgets idle sessions by itself
        finally:
            self._session_id = ""
            self._connection.close()

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """An error takes all blocks out of the window. They may be sent again, so what
        is still to come on this socket would be taken for the answers to that."""
        try:
            yield
        except BaseException as error:
            self._out.clear()
            if self._connection.awaits_answers:
                self._connection.disconnect()
            self._answer = self._error = None
            if isinstance(error, SessionLostError):
                self._session_id = ""
            raise

    def _send(self, block: DraftBlock) -> None:
        """Hand a block to the socket, which is opened if need be."""
        if self._frames is None or not self._session_id:
            raise MessageError("submit was called before open")
        if self._cadence is not None:
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
        """The answer to the oldest block; None: it is not there yet, and not to be
        waited for. Late answers to blocks before it are dropped; what the server says
        of the whole stream bears the key of the newest block it saw."""
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
