"""The first token in which the vocabularies of a device and a server differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import MessageError
from edge_app.transport.client import CloudVerifier
from models.running.interface import token_list_id


class Server:
    """Answers as `GET /v1/vocabulary/{count}` does."""

    def __init__(self, names):
        self.names, self.asked = names, 0

    def request(self, what, method, path):
        assert (what, method) == ("vocabulary", "GET")
        self.asked += 1
        first = self.names[: int(path.removeprefix("/v1/vocabulary/"))]
        last = first[-1].hex() if first else ""
        return {"size": len(self.names), "id": token_list_id(first), "last": last}


def found(here, server):
    verifier = CloudVerifier("http://127.0.0.1:1", "", lambda _: None)
    verifier._connection = server
    return verifier.first_difference(here)


names = st.lists(st.sampled_from([b"a", b"b", b"\xff"]), min_size=1, max_size=40)


@given(names, names)
def test_the_first_token_that_differs_is_found(here, there):
    at = next(
        (i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
        min(len(here), len(there)),
    )
    server = Server(there)
    assert found(here, server).startswith(f"token {at} is ")
    assert server.asked < 10


@pytest.mark.parametrize(
    "answer", [{}, {"size": "x"}, {"size": 1, "id": "", "last": "z"}]
)
def test_a_server_that_tells_nonsense_is_no_help(answer):
    server = Server([b"a"])
    server.request = lambda *_: answer
    with pytest.raises(MessageError):
        found([b"a"], server)
