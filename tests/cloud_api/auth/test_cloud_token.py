"""The token of `specsteer-cloud serve --token-from-stdin`."""

import pytest
from click.testing import CliRunner

from cloud_api import run
from cloud_api.cli import main


@pytest.fixture
def started(monkeypatch):
    """The tokens that servers would have started with."""
    tokens = []

    def serve(options, admission, **where):
        tokens.append(admission.authority)
        return True

    monkeypatch.setattr(run, "serve", serve)
    return tokens


TOKENS = "abc", "without-an-end"


def start(line, **environment):
    words = ["serve", "--token-from-stdin"]
    return CliRunner().invoke(main, words, input=line, env=environment)


def test_the_token_is_the_first_line(started):
    """Whatever the environment holds; what follows is no part of it."""
    assert start("abc\nmore\n", SPECSTEER_CLOUD_TOKEN="other").exit_code == 0
    assert start("without-an-end").exit_code == 0
    assert all(one.caller(token) for one, token in zip(started, TOKENS, strict=True))


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
