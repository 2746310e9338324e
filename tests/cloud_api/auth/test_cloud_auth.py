"""Tokens: how one is made, shown and kept, and which routes ask for none."""

import zlib

import pytest
from click.testing import CliRunner
from websockets.exceptions import InvalidStatus

from cloud_api import run
from cloud_api.auth import (
    PREFIX,
    check_token,
    digest_of,
    make_token,
    shown_token,
)
from cloud_api.cli import main
from cloud_api.middleware import OPEN_PATHS
from decoding_core.errors import InvalidSettingsError
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
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer"},
        {"X-Token": TOKEN},
    ],
)
def test_no_header_but_the_bearer_token_is_let_in(server, headers):
    """Neither over HTTP nor as a stream; which routes exist is not said."""
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


def test_open_routes_are_only_these():
    """How the server is, the form of the page, and what a new device asks."""
    pairing = {"/v1/pair", "/v1/pair/proof"}
    page = {"/", "/status.css", "/status/enter", "/status/leave"}
    assert {"/healthz", "/readyz"} | pairing | page == OPEN_PATHS


def test_the_scheme_may_be_written_in_any_case():
    assert shown_token(f"bearer  {TOKEN} ") == TOKEN
    assert shown_token(f"Bearer {TOKEN} {TOKEN}") != TOKEN
    assert shown_token("Bearer") == shown_token(f"Basic {TOKEN}") == ""


def test_tokens_are_256_bits_in_base_62_with_a_checksum():
    tokens = {make_token() for _ in range(50)}
    assert len(tokens) == 50
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for token in tokens:
        given = token.removeprefix(PREFIX)
        random, check = given[:43], given[43:]
        assert len(check) == 6
        value = sum(
            digits.index(digit) * 62**at for at, digit in enumerate(reversed(check))
        )
        assert value == zlib.crc32(random.encode())
    assert digest_of(token) != digest_of(token[:-1])


@pytest.mark.parametrize("token", ["", "a b", "tokén", "a\n"])
def test_a_token_that_no_header_carries_is_refused(token):
    with pytest.raises(InvalidSettingsError, match="printable ASCII"):
        check_token(token)


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


@pytest.mark.parametrize(
    "line", ["", "\n", "two words\n", "é\n", "a" * 100_000, "\0\n"], ids=range(6)
)
def test_a_line_that_is_no_token_is_refused(started, line):
    """A long one is not cut into another."""
    done = start(line)
    assert done.exit_code == 1
    assert "token" in done.stderr
    assert line.strip() not in done.stderr or not line.strip()
    assert started == []
