"""The generalist behind the messages of the protocol, and the bytes of those.

In this process, every message is encoded, counted and decoded, so the generalist knows
what travelled and nothing else. What HTTP and WebSocket add is not counted: 2 to 14
bytes a frame, and some hundred for each opening. Over a socket, the count is the
socket's own and holds all of it.
"""

from __future__ import annotations

import json
import threading
import time

from benchmarks.pair.pair import Connect, Pair
from decoding_core.errors import MessageError
from decoding_core.messages import (
    DraftBlock,
    FrameFormat,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.protocols import Verifier
from decoding_core.verifier import VerifierHere, role_of
from decoding_core.wire_json import (
    open_from_json,
    open_to_json,
    opened_from_json,
    opened_to_json,
)
from edge_app.decoding.events import Emit, Received, Sent
from edge_app.transport.child_server import ChildServer
from edge_app.transport.verifier import CloudVerifier

_PLACE = "in-process"


class FramedVerifier(VerifierHere):
    """Another verifier, to which everything goes as bytes."""

    local = False

    def __init__(self, inner: Verifier, emit: Emit) -> None:
        super().__init__()
        self._inner = inner
        self._emit = emit
        self._format: FrameFormat | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._format = role_of(request.terms).frames
        self._out.clear()
        body = self._sent("open", json.dumps(open_to_json(request)).encode())
        checked = json.loads(body)
        del checked["version"]  # as the server's checks leave it
        opened = self._inner.open(open_from_json(checked))
        answer = self._received("open", json.dumps(opened_to_json(opened)).encode())
        return opened_from_json(json.loads(answer))

    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block; raises what the verifier inside raises."""
        if self._format is None:
            raise MessageError("verify was called before open")
        frame = self._sent("block", self._format.encode_block(block))
        self._inner.submit(self._format.decode_block(frame))
        verdict = self._inner.collect()
        drafted = len(block.drafted)
        answer = self._format.decode_answer(
            self._received("block", self._format.encode_verdict(verdict, drafted))
        )
        assert isinstance(answer, Verdict)
        return answer

    def close(self) -> None:
        """End the text."""
        self._inner.close()

    def _sent(self, what: str, data: bytes) -> bytes:
        self._emit(Sent(time.time(), _PLACE, what, len(data), (), b""))
        return data

    def _received(self, what: str, data: bytes) -> bytes:
        self._emit(Received(time.time(), what, len(data)))
        return data


def framed(pair: Pair) -> Connect:
    """Leads to the generalist of a pair, over encoded messages."""
    return lambda emit: FramedVerifier(pair.verifier(), emit)


def over_socket(server: ChildServer, stop: threading.Event) -> Connect:
    """Leads to a server on this machine, over a real socket."""
    return lambda emit: CloudVerifier(server.url, server.token, emit, stop)
