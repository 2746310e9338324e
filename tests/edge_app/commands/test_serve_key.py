"""The key of `specsteer serve`: programs that were given it once go on with it."""

import json

import pytest

from base.owner_only import exposure
from edge_app.commands.serve import key_path
from edge_app.endpoint.app import EndpointServer
from edge_app.service.service import WritingService


@pytest.fixture
def started(run, home, monkeypatch):
    """Starts `specsteer serve`, without models; what it printed."""
    monkeypatch.setattr(WritingService, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(EndpointServer, "listen", lambda self: self._on_listening("x"))

    def start(*options):
        done = run("serve", "--offline", *options)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["api_key"]

    return start


def test_the_key_stays_until_another_is_wanted(started):
    """The file is for its owner's eyes alone, also where somebody copied it with other
    rights."""
    first = started()
    key_path().chmod(0o644)
    assert started() == first
    assert exposure(key_path()) == ""
    other = started("--new-key")
    assert other != first
    assert started() == other
    assert first not in key_path().read_text()


def test_a_file_that_holds_no_key_is_refused(run, home):
    """An empty key would let anybody ask. The app in a browser has none: its link opens
    once."""
    assert run("serve", "--web", "--new-key").exit_code == 2
    assert not key_path().exists()
    words = "holds no key: 'specsteer serve --new-key' makes another"
    for content in (b"", b"\n", b"short\n", b"\xff" * 43, b"a b" * 20):
        key_path().write_bytes(content)
        done = run("serve", "--offline")
        assert done.stderr == f"Error: {key_path()} {words}\n", content
        assert done.exit_code == 1
