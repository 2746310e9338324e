"""A verifier behind an address: sessions, rounds, and mending both.

The device holds the truth. When the server has lost the session, it is opened anew
with the text so far; when the socket breaks, the round is sent again, and the server
replays its answer if it had one.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from decoding_core.duty import Duty, duty_of
from decoding_core.errors import (
    CloudBusyError,
    CloudError,
    CloudUnreachableError,
    MessageError,
    SessionLostError,
    StoppedError,
)
from decoding_core.messages import (
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.wire import FrameFormat
from decoding_core.wire_json import open_to_json, opened_from_json
from edge_app.cloud_client import Connection, ConnectionLostError
from edge_app.cloud_problems import error_of_signal
from edge_app.events import Emit

_TRIES = 5
_CLOSE_SECONDS = 1.0
_SESSIONS = "/v1/sessions"


class CloudVerifier:
    """Judges drafts by asking a server."""

    local = False

    def __init__(
        self, url: str, token: str, emit: Emit, stop: threading.Event | None = None
    ) -> None:
        self._stop = stop or threading.Event()
        self._connection = Connection(url, token, emit, self._stop)
        self._request: OpenSession | None = None
        self._duty: Duty | None = None
        self._format: FrameFormat | None = None
        self._session_id = ""
        self._text: list[int] = []

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.url

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text on the server.

        Raises:
            CloudUnreachableError: there is no answer.
            CloudRefusedError: the server said no.
            StoppedError: the person stopped.
        """
        self._request, self._text = request, list(request.text_ids)
        self._duty = duty_of(request.terms)
        self._format = self._duty.frames
        return self._open()

    def verify(self, block: DraftBlock) -> Verdict:
        """Have one block judged, over as many connections as it takes.

        Raises:
            CloudUnreachableError: the server is gone.
            CloudRefusedError: the server said no.
            StoppedError: the person stopped.
        """
        self._text[block.position :] = block.settled
        for _ in range(_TRIES):
            try:
                return self._ask(block)
            except ConnectionLostError:
                continue
            except SessionLostError:
                self._open()
                block = self._after_opening(block)
            except CloudBusyError as error:
                self._wait(error.retry_after)
        raise CloudUnreachableError(f"the server at {self.url} is lost or too busy")

    def close(self) -> None:
        """End the session, on the server too, and the connection."""
        try:
            self._connection.disconnect()
            if self._session_id:
                self._connection.request(
                    "close", "DELETE", self._path(), seconds=_CLOSE_SECONDS
                )
        except CloudError:
            return  # the server forgets idle sessions by itself
        finally:
            self._session_id = ""
            self._connection.close()

    def _open(self) -> SessionOpened:
        assert self._request is not None
        self._connection.disconnect()
        request = replace(self._request, text_ids=tuple(self._text))
        for _ in range(_TRIES):
            try:
                body = self._connection.request(
                    "open", "POST", _SESSIONS, open_to_json(request)
                )
            except CloudBusyError as error:
                self._wait(error.retry_after)
                continue
            opened = opened_from_json(body)
            self._session_id = opened.session_id
            return opened
        raise CloudUnreachableError(f"the server at {self.url} is too busy")

    def _ask(self, block: DraftBlock) -> Verdict:
        if self._duty is None or self._format is None or not self._session_id:
            raise MessageError("verify was called before open")
        answer = self._format.decode_answer(
            self._connection.exchange(
                f"{self._path()}/stream",
                self._format.encode_block(block),
                (*block.settled, *block.drafted),
            )
        )
        if not isinstance(answer, Verdict):
            raise error_of_signal(answer)
        if (answer.epoch, answer.round) != (block.epoch, block.round):
            raise MessageError("the server answered another round")
        count = len(block.drafted)
        rows = self._duty.positions(answer.accepted, count)
        if answer.accepted > count or len(answer.rows) != len(rows):
            raise MessageError("the server's verdict does not fit the block")
        return answer

    def _after_opening(self, block: DraftBlock) -> DraftBlock:
        """The block for a server that now holds all that is settled."""
        return replace(
            block, position=len(self._text), digest=digest(self._text), settled=()
        )

    def _path(self) -> str:
        return f"{_SESSIONS}/{self._session_id}"

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise StoppedError("stopped while waiting for the server")
