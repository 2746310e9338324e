import socket
import threading
from itertools import pairwise

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from base.bounded_http import BoundedBackend, Line
from decoding_core.errors import CloudUnreachableError
from edge_app.decoding.events import TextDecoder
from edge_app.transport.client import Connection, watched_transport
from models.never_drawn import MARKS


@given(st.text(), st.data())
def test_tokens_joined_give_the_text(text, data):
    """However the bytes are cut into tokens; only a text that breaks off in the mark of
    a block of thoughts stays without it."""
    begun = text.lstrip()
    assume(not any(mark.startswith(begun) for both in MARKS for mark in both))
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    bounds = [0, *cuts, len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(bounds)]
    decoder = TextDecoder(lambda index: pieces[index])
    assert "".join(decoder.push(i) for i in range(len(pieces))) == text


def test_a_fork_leaves_the_settled_text_alone():
    pieces = ["é".encode()[:1], "é".encode()[1:], b"x"]
    settled = TextDecoder(pieces.__getitem__)
    assert settled.push(0) == ""
    waiting = settled.fork()
    assert waiting.push(1) == "é"
    assert waiting.push(2) == "x"
    assert settled.push(1) == "é"


def test_the_place_where_bytes_are_counted_is_still_there():
    """httpx has no public one; should this fail, the ledger would be wrong."""
    transport = watched_transport(Line(), "http://127.0.0.1")
    assert isinstance(transport._pool._network_backend, BoundedBackend)
    assert isinstance(httpx.HTTPTransport()._pool._network_backend, object)


def test_what_was_sent_is_told_even_when_nobody_answers():
    """A peer may read a request and hang up; the ledger must not understate."""
    listener = socket.create_server(("127.0.0.1", 0))

    def read_and_hang_up():
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.close()

    thread = threading.Thread(target=read_and_hang_up)
    thread.start()
    events = []
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    connection = Connection(url, "token", events.append)
    with pytest.raises(CloudUnreachableError):
        connection.request("open", "POST", "/v1/sessions", {"prompt_ids": [1, 2]})
    thread.join()
    listener.close()
    connection.close()
    assert [event.what for event in events] == ["open"]
    assert events[0].size > 100
    assert events[0].payload == b'{"prompt_ids": [1, 2]}'
