"""Tokens: how one is made, shown and kept, and which routes ask for none."""

import zlib

import pytest
from click.testing import CliRunner
from websockets.exceptions import InvalidStatus

from cloud_api import run
from cloud_api.auth import PREFIX, make_token
from cloud_api.cli import main
from tests.cloud_api.cloud_fakes import TOKEN, ask, connect, running


@pytest.fixture(scope="module")
def server():
    with running(openai=True) as server:
        yield server


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN.upper()}"},
        {"Authorization": f"Bearer {TOKEN} {TOKEN}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer"},
        {"X-Token": TOKEN},
    ],
)
def test_no_header_but_the_bearer_token_is_let_in(server, headers):
    """Neither over HTTP nor as a stream; which routes exist is not said. The scheme may
    be written in any case."""
    right = {"Authorization": f"bearer  {TOKEN}"}
    assert ask("GET", f"{server.url}/v1/models", headers=right).status_code == 200
    odd = {"Authorization": "Bearer ü".encode("latin-1")}
    for path in ("/v1/models", "/openai/v1/models", "/nowhere"):
        for given in (headers, odd):
            response = ask("GET", server.url + path, headers=given)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
    url = server.url.replace("http", "ws") + "/v1/sessions/x/stream"
    with pytest.raises(InvalidStatus) as denied:
        connect(url, additional_headers=headers)
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


@pytest.fixture
def started(monkeypatch):
    """The authorities that servers would have started with."""
    found = []

    def serve(options, admission, **where):
        found.append(admission.authority)
        return True

    monkeypatch.setattr(run, "serve", serve)
    return found


def start(line, **environment):
    words = ["serve", "--token-from-stdin"]
    return CliRunner().invoke(main, words, input=line, env=environment)


def test_the_first_line_of_stdin_is_the_token(started):
    """Whatever the environment holds; what follows is no part of it."""
    assert start("abc\nmore\n", SPECSTEER_CLOUD_TOKEN="other").exit_code == 0
    assert start("without-an-end").exit_code == 0
    assert started[0].caller("abc")
    assert started[1].caller("without-an-end")


def test_a_line_that_is_no_token_is_refused(started):
    """A long one is not cut into another."""
    for line in ("", "\n", "two words\n", "é\n", "a" * 100_000, "\0\n"):
        done = start(line)
        assert done.exit_code == 1
        assert "token" in done.stderr
        assert line.strip() not in done.stderr or not line.strip()
    assert started == []
