"""A server that drips, packs, floods or says nothing: every wait ends, by itself and
with the first Ctrl-C."""

import base64
import gzip
import hashlib
import json
import socket
import threading
import tracemalloc

import pytest

from base.bounded_http import BoundedBackend, Line
from decoding_core.errors import (
    CloudBusyError,
    CloudSlowError,
    CloudUnreachableError,
    ContextFullError,
    DecodingError,
    MessageError,
    StoppedError,
)
from decoding_core.foreign_text import one_line
from decoding_core.messages import (
    DraftBlock,
    Kind,
    OpenSession,
    Signal,
    Verdict,
    digest,
)
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from edge_app.decoding.events import Notice, Sent
from edge_app.decoding.session import VerifierSession
from edge_app.transport import client
from edge_app.transport.client import (
    CloudVerifier,
    Connection,
    error_of,
    watched_transport,
)
from tests.fakes import verdict_on
from tests.waiting import PATIENCE, let_pass, moments

TERMS = MethodSettings(draft_length=2).terms()
FRAMES = role_of(TERMS).frames
OPENED = json.dumps({"session_id": "s", "generalist": "g", "base": "b"}).encode()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine is no silent server: only the wait under test is short."""
    monkeypatch.setattr(client, "_CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(client, "_REQUEST_SECONDS", PATIENCE)


class Spiteful:
    """A listening socket whose connections are served by a function, one thread each;
    it may set `reached` when it has come to where the device waits."""

    def __init__(self, serve):
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.reached, self.over = threading.Event(), threading.Event()
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            if self.over.is_set():
                peer.close()
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._run, args=(peer,)))
            self._threads[-1].start()

    def _run(self, peer):
        with peer:
            try:
                self._serve(self, peer)
            except OSError:
                return  # the device hung up, which is what is wanted

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        with socket.create_connection(self._listener.getsockname()):
            pass  # wakes accept
        self._threads[0].join()
        self._listener.close()
        for thread in self._threads[1:]:
            thread.join()


def request_of(peer):
    """The head of a request, and its body read and thrown away."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += peer.recv(65536)
    head, _, body = head.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += peer.recv(65536)
    return head


def answer(peer, body, status=b"200 OK", *headers):
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    peer.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)


def upgrade(peer, head):
    """Answer a WebSocket's handshake."""
    key = next(
        line.split(b":")[1].strip()
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"sec-websocket-key:")
    )
    magic = key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(magic).digest())
    peer.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def frame_head(size, *, opcode=2, final=True):
    """Of a WebSocket message from a server."""
    length = bytes([126]) + size.to_bytes(2) if size > 125 else bytes([size])
    return bytes([opcode | 0x80 * final]) + length


def drip(server, peer, head=b""):
    """One byte now and then, for ever."""
    peer.sendall(head)
    for _ in moments("the server is not told that it is over", pause=0.01):
        if server.over.is_set():
            return
        peer.sendall(b" ")
        server.reached.set()


def drip_head(server, peer):
    request_of(peer)
    drip(server, peer, b"HTTP/1.1 200 OK\r\nX-Long:")


def drip_body(server, peer):
    request_of(peer)
    drip(server, peer, b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")


def silent(server, peer):
    request_of(peer)
    server.reached.set()
    server.over.wait()


def open_then(after):
    """A server that opens sessions, takes a socket and does something after a block."""

    def serve(server, peer):
        head = request_of(peer)
        if head.startswith(b"GET"):
            upgrade(peer, head)
            peer.recv(65536)
            after(server, peer)
        else:
            answer(peer, OPENED, b"201 Created", b"Connection: close")

    return serve


def drip_frame(server, peer):
    drip(server, peer, frame_head(FRAMES.down_size))


def no_verdict(server, peer):
    server.reached.set()
    server.over.wait()


def no_frame(server, peer):
    """Bytes that are no WebSocket frame: of a kind that there is not, or with a length
    written in more bytes than it needs, which the library takes differently."""
    frames = [b"\xff" * 40, bytes([0x82, 127]) + (100).to_bytes(8) + b"x" * 100]
    peer.sendall(frames[server.connections % 2])
    server.over.wait()


def flood(server, peer):
    """A message without end, in fragments."""
    chunk = b"x" * 50_000
    first = True
    while not server.over.is_set():
        opcode, first = (2 if first else 0), False
        peer.sendall(frame_head(len(chunk), opcode=opcode, final=False) + chunk)


def drip_upgrade(server, peer):
    """A session that opens, and a stream that never does."""
    head = request_of(peer)
    if head.startswith(b"POST"):
        answer(peer, OPENED, b"201 Created", b"Connection: close")
    elif head.startswith(b"GET"):
        drip(server, peer, b"HTTP/1.1 101 Switching Protocols\r\nX-Long:")


def ping_forever(server, peer):
    """The line lives, and no answer comes."""
    for _ in moments("the server is not told that it is over", pause=0.01):
        if server.over.is_set():
            return
        peer.sendall(frame_head(0, opcode=9))


def crumbs(server, peer):
    """Thousands of messages of no bytes."""
    peer.sendall(frame_head(0) * 4_000)
    server.over.wait()


def stale(server, peer):
    """Sound answers, each in time, to a block of before."""
    old = FRAMES.encode_signal(Signal(Kind.RESYNC, 0, 0, 0))
    for _ in moments("the server is not told that it is over", pause=0.05):
        if server.over.is_set():
            return
        peer.sendall(frame_head(len(old)) + old)


def break_off(server, peer):
    """A line that is lost each time, only just before it would be too slow."""
    let_pass(0.2)


def ask(connection):
    return connection.request("open", "POST", "/v1/sessions", {"prompt_ids": [1]})


def verify(url, stop=None, emit=lambda _: None, number=0):
    verifier = CloudVerifier(url, "", emit, stop)
    try:
        verifier.open(OpenSession((1, 2), (), "v", TERMS))
        return verdict_on(verifier, DraftBlock(0, number, 0, digest(()), (), (3,)))
    finally:
        verifier.close()


LINE = {"_MOST_SOCKETS": 1000, "_MOST_STALE": 1000, "_BLOCK_SECONDS": 0.3}
"""A block has so long over all its lines, however many answers to others come."""


@pytest.mark.parametrize(
    ("serve", "limits", "says"),
    [
        (drip_upgrade, {"_REQUEST_SECONDS": 0.3}, "takes too long"),
        (open_then(drip_frame), {"_REST_SECONDS": 0.1}, "takes too long"),
        (open_then(stale), LINE, "the server at"),
        (open_then(break_off), LINE, "the server at"),
        # The threads of the socket end with these, too.
        (open_then(crumbs), {}, r"faulty|more than its answer|every"),
        (open_then(no_frame), {}, "breaks every connection"),
    ],
)
def test_every_wait_for_a_verdict_ends(serve, limits, says, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(client, name, value)
    kind = CloudSlowError if limits else DecodingError
    with Spiteful(serve) as server, pytest.raises(kind, match=says):
        verify(server.url, number=1)


@pytest.mark.parametrize("serve", [drip_head, drip_body, silent])
def test_an_answer_has_so_long_as_a_whole(serve):
    with Spiteful(serve) as server:
        connection = Connection(server.url, "", lambda _: None)
        with pytest.raises(CloudUnreachableError, match=r"takes too long|no answer"):
            connection.request("open", "POST", "/v1/sessions", {}, seconds=0.3)
        connection.close()


@pytest.mark.parametrize("after", [drip_frame, no_verdict, ping_forever])
def test_a_verdict_has_so_long_as_a_whole(after, monkeypatch):
    """Also one that comes byte by byte, or that never comes while the line is alive;
    then it is asked for once more on another line, and no more."""
    monkeypatch.setattr(client, "_ANSWER_SECONDS", 0.3)
    with Spiteful(open_then(after)) as server:
        with pytest.raises(CloudSlowError, match="takes too long"):
            verify(server.url)
        assert server.connections == 1 + 2 + 1  # opened, asked twice, closed


def test_the_person_is_told_what_is_waited_for(monkeypatch):
    monkeypatch.setattr(client, "_WORD_SECONDS", 0.1)
    monkeypatch.setattr(client, "_ANSWER_SECONDS", 0.4)
    told = []
    with Spiteful(open_then(no_verdict)) as server, pytest.raises(CloudSlowError):
        verify(server.url, emit=told.append)
    (notice,) = (one.text for one in told if isinstance(one, Notice))
    assert notice.startswith(f"the server at {server.url} has not answered for")


def test_a_server_that_does_not_read_is_too_slow():
    with Spiteful(lambda server, _: server.over.wait()) as server:
        connection = Connection(server.url, "", lambda _: None)
        body = {"prompt_ids": [1] * 8_000_000}
        with pytest.raises(CloudSlowError, match="takes too long"):
            connection.request("open", "POST", "/v1/sessions", body, seconds=0.3)
        connection.close()


def test_a_stream_that_is_slow_again_and_again_is_left(monkeypatch):
    """Though each block has its answer once it is asked over another stream."""
    monkeypatch.setattr(client, "_REST_SECONDS", 0.1)

    def serve(server, peer):
        head = request_of(peer)
        if not head.startswith(b"GET"):
            return answer(peer, OPENED, b"201 Created", b"Connection: close")
        upgrade(peer, head)
        peer.recv(65536)
        if server.connections == 3:
            found = Verdict(0, 0, 1, ())
            frame = FRAMES.encode_verdict(found, 1)
            peer.sendall(frame_head(len(frame)) + frame)
            peer.recv(65536)
        return drip_frame(server, peer)

    with Spiteful(serve) as server:
        verifier = CloudVerifier(server.url, "", lambda _: None)
        verifier.open(OpenSession((1, 2), (), "v", TERMS))
        first = DraftBlock(0, 0, 0, digest(()), (), (3,))
        assert verdict_on(verifier, first).accepted == 1
        with pytest.raises(CloudSlowError):
            verdict_on(verifier, DraftBlock(0, 1, 1, digest((3,)), (), (3,)))
        assert server.connections == 3
        verifier.close()


def test_a_text_goes_on_alone_after_one_slow_block(monkeypatch):
    """It is not asked for again and again, and the server not before half a minute."""
    monkeypatch.setattr(client, "_REST_SECONDS", 0.1)
    notices, now = [], [0.0]
    with Spiteful(open_then(drip_frame)) as server:
        verifier = CloudVerifier(server.url, "", lambda _: None)
        request = OpenSession((1, 2), (), "v", TERMS)
        session = VerifierSession(
            verifier, request, notices.append, clock=lambda: now[0]
        )
        session.open()
        session.submit([], [3], 0.5)
        assert session.collect([]) is None
        asked = server.connections
        now[0] = 29.0
        session.return_if_due([3])
        assert session.alone
        assert server.connections == asked == 3
        now[0] = 31.0
        session.return_if_due([3])
        assert not session.alone
        session.close()
    assert len(notices) == 1
    assert "takes too long to answer; the rest is written" in notices[0]


def test_a_block_is_not_put_off_for_ever():
    """A server that is busy, and slow to say so, is left when the time is over."""
    now = [0.0]

    class Busy:
        local = False

        def open(self, _):
            now[0] += 14.0
            raise CloudBusyError("busy", 0.0)

    request = OpenSession((1, 2), (), "v", TERMS)
    session = VerifierSession(Busy(), request, lambda _: None, clock=lambda: now[0])
    session._wait = lambda _: None
    assert session.open() is None
    assert now[0] < 60.0 + 30.0 + 15.0


HEAD = b"HTTP/1.1 200 OK\r\n"
ODD = {
    "a place of no host": b"HTTP/1.1 302 Found\r\nLocation: http://xn--a\r\n\r\n",
    "a place of no address": b"HTTP/1.1 302 Found\r\nLocation: http://[::\r\n\r\n",
    "no bytes": b"",
    "no HTTP": b"\x16\x03\x01\x00\x00",
    "no status": b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 X\r\n\r\n",
    "to go on, and on": b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000,
    "a length that cannot be": HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "a part that cannot be": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 99,
    "a head of other bytes": HEAD + b"\xff\x00: \xff\r\n\r\n",
    "brackets": HEAD + b"\r\n" + b"[" * 60_000,
    "a number": HEAD + b"\r\n" + b"9" * 5000,
    "half a character": HEAD + b'\r\n{"session_id": "\\ud83d"}',
    "bytes that are no text": HEAD + b"\r\n\xff\xfe{}",
    "a reason of lists": b'HTTP/1.1 400 X\r\n\r\n{"detail": %b}'
    % (b"[" * 900 + b"]" * 900),
    "a reason of controls": b'HTTP/1.1 400 X\r\n\r\n{"detail": "\\u001b[2J\\ud83d"}',
    "a reason without words": b'HTTP/1.1 400 X\r\n\r\n{"detail": "\\u202e\\n"}',
    "a wait of no number": b"HTTP/1.1 503 X\r\nRetry-After: \xff\r\n\r\n{}",
    "a version of no number": b"HTTP/1.1 400 X\r\nSpecSteer-Protocol: 9-\xff\r\n\r\n"
    b'{"code": "protocol-version", "detail": 7}',
}


@pytest.mark.parametrize("what", ODD)
def test_whatever_is_answered_ends_in_a_sentence(what):
    """On one line, that steers no terminal."""

    def serve(_, peer):
        request_of(peer)
        peer.sendall(ODD[what])

    with Spiteful(serve) as server, pytest.raises(DecodingError) as caught:
        verify(server.url)
    sentence = str(caught.value)
    assert sentence == one_line(sentence)
    assert sentence.strip(" :") == sentence


STOPPED = {
    "head": drip_head,
    "body": drip_body,
    "silence": silent,
    "verdict byte by byte": open_then(drip_frame),
    "no verdict": open_then(no_verdict),
}


@pytest.mark.parametrize("place", STOPPED)
def test_the_first_ctrl_c_ends_every_wait(place):
    """No time-out is waited for: the longest is a minute, and the suite would be too
    slow; the server says when the device has come to the wait."""
    stop = threading.Event()
    with Spiteful(STOPPED[place]) as server:

        def press():
            server.reached.wait()
            stop.set()

        thread = threading.Thread(target=press, daemon=True)
        thread.start()
        with pytest.raises(StoppedError):
            verify(server.url, stop)
        assert not server.over.is_set()
        thread.join()


def test_the_first_ctrl_c_ends_a_connection_that_is_not_taken(monkeypatch):
    stop, reached, over = threading.Event(), threading.Event(), threading.Event()

    def hang(*_, **__):
        reached.set()
        over.wait()
        raise OSError("over")

    monkeypatch.setattr(socket, "create_connection", hang)
    connection = Connection("http://slow.example.org", "", lambda _: None, stop)
    thread = threading.Thread(target=lambda: (reached.wait(), stop.set()), daemon=True)
    thread.start()
    with pytest.raises(StoppedError):
        ask(connection)
    over.set()
    thread.join()
    connection.close()


def test_a_session_is_closed_on_the_server_after_a_stop():
    """Ctrl-C ends the text, not the word to the server that it may forget it; here the
    stream is refused, so nothing else says so."""
    seen, stop = [], threading.Event()

    def serve(_, peer):
        head = request_of(peer)
        seen.append(head.split(b" ")[0])
        answer(
            peer,
            OPENED if head.startswith(b"POST") else b"",
            b"200 OK",
            b"Connection: close",
        )

    with Spiteful(serve) as server:
        verifier = CloudVerifier(server.url, "", lambda _: None, stop)
        verifier.open(OpenSession((1, 2), (), "v", TERMS))
        stop.set()
        verifier.close()
    assert seen == [b"POST", b"GET", b"DELETE"]


def test_a_packed_answer_is_refused_unread():
    asked, packed = [], gzip.compress(b" " * 20_000_000)

    def serve(_, peer):
        asked.append(request_of(peer).lower())
        answer(peer, packed, b"200 OK", b"Content-Encoding: gzip")

    with Spiteful(serve) as server:
        connection = Connection(server.url, "", lambda _: None)
        tracemalloc.start()
        with pytest.raises(MessageError, match="packs its answers"):
            ask(connection)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        connection.close()
    assert most < 5_000_000
    assert b"accept-encoding: identity" in asked[0]


@pytest.mark.parametrize("status", [b"200 OK", b"500 Oops"])
def test_a_body_is_no_longer_than_an_answer_can_be(status):
    """Neither a good one nor an error's, with a length or without."""

    def serve(server, peer):
        request_of(peer)
        peer.sendall(b"HTTP/1.1 " + status + b"\r\n\r\n")
        while not server.over.is_set():
            peer.sendall(b"x" * 65536)

    with Spiteful(serve) as server:
        events = []
        connection = Connection(server.url, "", events.append)
        with pytest.raises(CloudUnreachableError, match="more than its answer can"):
            ask(connection)
        connection.close()


def test_a_message_is_no_longer_than_the_terms_allow():
    with Spiteful(open_then(flood)) as server:
        tracemalloc.start()
        with pytest.raises(CloudUnreachableError, match="breaks every connection"):
            verify(server.url)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 5_000_000


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5", 5), ("1e9", 10), ("inf", 10), ("nan", 1), ("-3", 1), ("soon", 1), (None, 1)],
)
def test_retry_after_is_believed_within_reason(header, seconds):
    error = error_of("http://x", 503, {}, header)
    assert error.retry_after == seconds


def test_no_room_on_the_server_is_the_end_of_the_text():
    """Not an error: what is written stays."""
    problem = {"code": "context-full", "detail": "no room"}
    assert isinstance(error_of("http://x", 413, problem, None), ContextFullError)


def test_the_text_that_an_opening_holds_is_told_as_sent():
    """What was written alone, or stood there before, leaves with it."""
    told = []
    with Spiteful(open_then(no_verdict)) as server:
        verifier = CloudVerifier(server.url, "", told.append)
        verifier.open(OpenSession((1, 2), (5, 6, 7), "v", TERMS))
        verifier.close()
    assert [e.token_ids for e in told if isinstance(e, Sent) and e.what == "open"] == [
        (5, 6, 7)
    ]


def test_the_place_where_bytes_are_counted_is_still_there():
    """httpx has no public one; should this fail, the ledger would be wrong."""
    transport = watched_transport(Line(), "http://127.0.0.1")
    assert isinstance(transport._pool._network_backend, BoundedBackend)
