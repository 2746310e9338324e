"""Tokens: how one is made, shown and kept, and which routes ask for none."""

import zlib

import pytest
from websockets.exceptions import InvalidStatus

from cloud_api.auth import PREFIX, make_token
from tests.cloud_api.cloud_fakes import TOKEN, ask, running, stream


@pytest.fixture(scope="module")
def server():
    with running(openai=True) as server:
        yield server


WRONG = f"{TOKEN}x", TOKEN[:-1], TOKEN.upper(), f"{TOKEN} {TOKEN}", ""


@pytest.mark.parametrize(
    "shown", [*(f"Bearer {one}" for one in WRONG), f"Basic {TOKEN}", TOKEN]
)
def test_no_header_but_the_bearer_token_is_let_in(server, shown):
    """Neither over HTTP nor as a stream; which routes exist is not said. The scheme may
    be written in any case."""
    right = {"Authorization": f"bearer  {TOKEN}"}
    assert ask("GET", f"{server.url}/v1/models", headers=right).status_code == 200
    headers = {"Authorization": shown.strip()}
    odd = {"Authorization": "Bearer ü".encode("latin-1")}
    for path in ("/v1/models", "/openai/v1/models", "/nowhere"):
        for given in (headers, odd):
            response = ask("GET", server.url + path, headers=given)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
    with pytest.raises(InvalidStatus) as denied:
        stream(server, "x", headers)
    response = denied.value.response
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"


def test_tokens_are_256_bits_in_base_62_with_a_checksum():
    tokens = {make_token() for _ in range(50)}
    assert len(tokens) == 50
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for token in tokens:
        given = token.removeprefix(PREFIX)
        random, check = given[:43], given[43:]
        assert len(check) == 6
        value = 0
        for digit in check:
            value = 62 * value + digits.index(digit)
        assert value == zlib.crc32(random.encode())
