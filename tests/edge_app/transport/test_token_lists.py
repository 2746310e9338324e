"""The tokens of a server's model: fetched once, kept, and never believed blindly."""

import os
import re

import pytest

from decoding_core.errors import CloudRefusedError, MessageError
from decoding_core.messages import VERSIONS
from decoding_core.wire_json import (
    MOST_TOKENS,
    pieces_to_json,
    tokens_from_bytes,
    tokens_id,
    tokens_to_bytes,
)
from edge_app.transport.client import CloudVerifier
from edge_app.transport.token_lists import TokenLists

PIECES, ENDS = [b"", *(b"%d" % at for at in range(20_000))], [0]


class Server:
    """Answers as `GET /v1/vocabulary/pieces/{start}` does."""

    url = "http://127.0.0.1:1"

    def __init__(self, pieces=PIECES, versions=VERSIONS, **lies):
        self.pieces, self.versions, self.lies = pieces, list(versions), lies
        self.tokens = tokens_id(tokens_to_bytes(pieces, ENDS))
        self.asked = 0

    def request(self, what, method, path):
        if path == "/v1/models":
            return {"versions": self.versions}
        assert (what, method) == ("vocabulary", "GET")
        self.asked += 1
        start = int(path.removeprefix("/v1/vocabulary/pieces/"))
        return pieces_to_json(self.pieces, ENDS, self.tokens, start) | self.lies


def client_of(server, folder):
    lists = TokenLists(folder)
    client = CloudVerifier("http://127.0.0.1:1", "", lambda _: None, token_lists=lists)
    client._connection = server
    return client


def test_they_are_fetched_once(tmp_path):
    """The next client asks for the first page alone, which names them."""
    server, folder = Server(), tmp_path / "kept"
    client = client_of(server, folder)
    assert client.vocabulary().pieces == PIECES
    assert client.vocabulary() is client.vocabulary()
    assert server.asked > 2
    server.asked = 0
    again = client_of(server, folder).vocabulary()
    assert (again.pieces, again.end_ids, server.asked) == (PIECES, frozenset(ENDS), 1)
    client.forget_vocabulary()
    assert not list(folder.iterdir())
    assert client.vocabulary().pieces == PIECES


def test_a_damaged_file_is_as_good_as_none(tmp_path):
    server = Server()
    client_of(server, tmp_path).vocabulary()
    (file,) = tmp_path.iterdir()
    for damaged in (b"", file.read_bytes()[:-1], b"[0]\n"):
        file.write_bytes(damaged)
        assert client_of(server, tmp_path).vocabulary().pieces == PIECES
        assert tokens_id(file.read_bytes()) == file.name
    file.unlink()
    file.mkdir()
    assert client_of(server, tmp_path).vocabulary().pieces == PIECES


def test_the_last_used_are_kept(tmp_path):
    lists = TokenLists(tmp_path)
    every = [tokens_to_bytes([b"%d" % at], ()) for at in range(10)]
    for at, data in enumerate(every):
        lists.keep(data)
        os.utime(tmp_path / tokens_id(data), (at, at))
        lists.find(tokens_id(every[0]))
    kept = [lists.find(tokens_id(data)) is not None for data in every]
    assert (kept[0], kept[1], sum(kept)) == (True, False, 8)


def test_what_no_list_of_tokens_can_be(tmp_path):
    """Refused in a sentence, and not kept; an id is no path."""
    long = [b"x" * 1024] * 40_000
    for server, words in (
        (Server(id="0" * 64), "others than it says"),
        (Server(id="../../store.db"), "others than it says"),
        (Server(pieces=long), "longer than any model"),
        (Server(size=MOST_TOKENS + 1), "no vocabulary"),
        (Server(end_ids=[0] * 65), "no vocabulary"),
        (Server(pieces=[]), "no vocabulary"),
    ):
        with pytest.raises(MessageError, match=words):
            client_of(server, tmp_path).vocabulary()
    assert not list(tmp_path.iterdir())
    with pytest.raises(CloudRefusedError, match=re.escape("update SpecSteer there")):
        client_of(Server(versions=[3]), tmp_path).vocabulary()


@pytest.mark.slow
def test_the_largest_list_is_read_back():
    data = tokens_to_bytes([b"%d" % at for at in range(MOST_TOKENS)], range(100))
    pieces, ends = tokens_from_bytes(data)
    assert (len(pieces), pieces[-1], len(ends)) == (MOST_TOKENS, b"1048575", 64)
