"""A verifier behind an address: a session, its blocks, and broken sockets.

When a socket breaks, the block is sent again over another, and the server replays its
answer if it had one. A session that is lost is the business of `VerifierSession`, which
is handed the text: nothing of it is kept here.
"""

from __future__ import annotations

import threading

from decoding_core.errors import (
    CloudUnreachableError,
    DecodingError,
    MessageError,
)
from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict
from decoding_core.verifier import VerifierRole, role_of
from decoding_core.wire import FrameFormat, Kind, Problem, Signal
from decoding_core.wire_json import open_to_json, opened_from_json
from edge_app.decoding.events import Emit
from edge_app.transport.client import Connection, ConnectionLostError
from edge_app.transport.problems import error_of_signal

_MOST_SOCKETS = 3  # broken in succession over one block: then the server counts as gone
_MOST_STALE = 8
_CLOSE_SECONDS = 1.0
_SESSIONS = "/v1/sessions"


class CloudVerifier:
    """Verifies drafts by asking a server."""

    local = False

    def __init__(
        self, url: str, token: str, emit: Emit, stop: threading.Event | None = None
    ) -> None:
        self._stop = stop or threading.Event()
        self._connection = Connection(url, token, emit, self._stop)
        self._role: VerifierRole | None = None
        self._frames: FrameFormat | None = None
        self._session_id = ""
        self._submitted: DraftBlock | None = None
        self._tries = 0

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.url

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text on the server, or go on with one in a new session.

        Raises:
            CloudBusyError: the server asks to come back later.
            CloudUnreachableError: there is no answer.
            CloudRefusedError: the server said no.
            ContextFullError: the text leaves no room in the server's models.
            StoppedError: the person stopped.
        """
        self._connection.disconnect()
        self._role = role_of(request.terms)
        self._frames = self._role.frames
        self._submitted = None
        opened = opened_from_json(
            self._connection.request("open", "POST", _SESSIONS, open_to_json(request))
        )
        self._session_id = opened.session_id
        return opened

    def submit(self, block: DraftBlock) -> None:
        """Send one block, over as many sockets as it takes; raises what `collect` does,
        and MessageError where the verdict on another block was not collected."""
        if self._submitted is not None:
            raise MessageError("a block waits for its verdict already")
        self._tries = _MOST_SOCKETS
        self._send(block)
        self._submitted = block

    def collect(self) -> Verdict:
        """The verdict on the block, which is sent again where a socket breaks.

        Raises:
            SessionLostError: the server no longer has the session, or another text.
            CloudBusyError: the server asks to come back later.
            CloudUnreachableError: the server is gone.
            CloudRefusedError: the server said no.
            ContextFullError: the block does not fit into the server's models.
            EngineError: a model of the server failed; the block may be sent again.
            MessageError: the answer is none to this block.
            StoppedError: the person stopped.
        """
        block, self._submitted = self._submitted, None
        if self._role is None or block is None:
            raise MessageError("collect was called before submit")
        while True:
            try:
                answer = self._answer(block)
                break
            except ConnectionLostError:
                self._send(block)
        if isinstance(answer, Signal):
            raise error_of_signal(answer)
        count = len(block.drafted)
        rows = self._role.positions(answer.accepted, count)
        if answer.accepted > count or len(answer.rows) != len(rows):
            raise MessageError("the server's verdict does not fit the block")
        return answer

    def close(self) -> None:
        """End the session, on the server too, and the connection."""
        try:
            self._connection.disconnect()
            if self._session_id:
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

    def _send(self, block: DraftBlock) -> None:
        """Hand a block to a socket that takes it."""
        if self._frames is None or not self._session_id:
            raise MessageError("submit was called before open")
        while self._tries:
            self._tries -= 1
            try:
                self._connection.send(
                    f"{self._path()}/stream",
                    self._frames.encode_block(block),
                    (*block.settled, *block.drafted),
                    answer_size=self._frames.down_size,
                )
                return
            except ConnectionLostError:
                continue
        raise CloudUnreachableError(f"the server at {self.url} breaks every connection")

    def _answer(self, block: DraftBlock) -> Verdict | Signal:
        """The answer to a block. Late answers to blocks before it are dropped; what
        the server says of the whole stream bears the key of the newest block it saw."""
        assert self._frames is not None
        wanted = block.epoch, block.round
        for _ in range(_MOST_STALE):
            answer = self._frames.decode_answer(self._connection.receive())
            key = answer.epoch, answer.round
            of_the_stream = (
                isinstance(answer, Signal)
                and answer.kind is Kind.ERROR
                and answer.value in (Problem.MESSAGE, Problem.STOPPING)
            )
            if key == wanted or (key < wanted and of_the_stream):
                return answer
            if key > wanted:
                break
        raise MessageError("the server answered another round")

    def _path(self) -> str:
        return f"{_SESSIONS}/{self._session_id}"
