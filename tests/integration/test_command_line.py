"""`specsteer write` with real models and real servers."""

import json
import os
import signal
from contextlib import closing

import pytest

from edge_app.commands import write as write_command
from edge_app.config.settings import ledger_path
from edge_app.decoding.events import Settled
from edge_app.privacy.ledger import read_ledger
from edge_app.transport.child_server import ChildServer
from models.files import locate
from models.gguf_header import read_layout
from tests.command import specsteer

pytestmark = pytest.mark.usefixtures("same_kernels")
CLEAR = "--token-in-clear"
LONG = (
    *("--method", "generalist", "--temperature", "10", "--top-p", "1"),
    *("--seed", "1"),
)
"""So hot that hardly any text ends by itself, and a round for each token."""


@pytest.fixture
def write(server):
    """`specsteer write` with the server of the tests; its result."""

    def call(*arguments, **options):
        at = ("--server", server.url, "--token", server.token, CLEAR)
        return specsteer("write", *at, *arguments, **options)

    return call


@pytest.fixture(scope="session")
def other_vocabulary(tmp_path_factory):
    """A copy of the embedded specialist in which one rare token reads otherwise."""
    model = locate("specialist")
    header = read_layout(model).values
    tokens = header["tokenizer.ggml.tokens"]
    merged = {part for pair in header["tokenizer.ggml.merges"] for part in pair.split()}
    known = {*tokens, *merged}
    old = next(
        token
        for token in reversed(tokens)
        if token.isascii() and token.isalpha() and token[::-1] not in known
        if len(token) > 3 and token not in merged
    )
    data, copy = model.read_bytes(), tmp_path_factory.mktemp("other") / "other.gguf"
    assert _entry(old) in data
    copy.write_bytes(data.replace(_entry(old), _entry(old[::-1]), 1))
    return copy


def _entry(token):
    return len(token).to_bytes(8, "little") + token.encode()


def sentence(result):
    """The only line on stderr but for the hint that there is no history."""
    lines = [line for line in result.stderr.splitlines() if "no history" not in line]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert result.stdout == ""
    return lines[0]


def test_a_text_with_its_numbers_and_sources(write):
    """All of `--json`, from the sample letters over a real socket."""
    result = write(
        *("--json", "-v", "--sample", "--to", "Ana", "--max-tokens", "16"),
        *("--temperature", "0", "--threshold", "2", "Thank Ana for the photos."),
    )
    body = json.loads(result.stdout)
    assert result.exit_code == 0
    assert body["text"] == "".join(token["text"] for token in body["tokens"])
    assert 0 < len(body["tokens"]) <= 16
    numbers = body["statistics"]
    counts = {one: numbers[one] for one in ("accepted", "recovered", "bonus", "local")}
    origins = [token["origin"] for token in body["tokens"]]
    assert counts == {name: origins.count(name) for name in counts}
    assert numbers["drafted"] >= numbers["accepted"]
    assert numbers["rounds"] > 0
    assert numbers["round_trip_ms"] > 0
    assert "Ana" in body["sources"][0]["title"]
    assert body["sources"][0]["record_id"] > 0
    assert body["sources"][0]["excerpt"]
    assert body["settings"]["threshold"] == 2
    entries = list(read_ledger(ledger_path()))
    # The session ends when the service closes, after the last text's numbers.
    assert [entry.what for entry in entries].count("end") == 1
    assert entries[-1].what == "end"
    assert numbers["bytes_up"] == sum(entry.size for entry in entries[:-1])
    assert f"redrawn {counts['recovered']}" in result.stderr


def test_a_specialist_of_another_vocabulary_at_a_server(write, home, other_vocabulary):
    """Nothing needs to be set up: it writes over bytes, the tokens of the server are
    kept, and where the base runs is said to whoever named another place. A method that
    cannot do it says so."""
    strange = ("x", "--max-tokens", "8", "--specialist", other_vocabulary)
    result = write(*strange, "--base", "cloud")
    assert (result.exit_code, bool(result.stdout.strip())) == (0, True), result.stderr
    assert "so the base runs on this device" in result.stderr
    assert len(list((home / "token-lists").iterdir())) == 1
    asked = [entry.what for entry in read_ledger(ledger_path())].count("vocabulary")
    assert write(*strange).exit_code == 0
    more = [entry.what for entry in read_ledger(ledger_path())].count("vocabulary")
    assert (asked > 1, more - asked) == (True, 1)
    done = write(*strange, "--method", "generalist_with_history")
    assert "needs a specialist with the generalist's vocabulary" in done.stderr


def test_no_server_writes_on_alone_or_fails(home):
    """As the person chose; status 3 is for this alone."""
    nowhere = ("--server", "http://127.0.0.1:9", "--max-tokens", "5")
    alone = specsteer("write", "x", *nowhere)
    assert "written on this device alone" in alone.stderr
    assert alone.exit_code == 0
    strict = specsteer("write", "x", "--no-offline", *nowhere)
    assert "there is no answer from the server" in sentence(strict)
    assert strict.exit_code == 3


@pytest.mark.slow
@pytest.mark.parametrize("option", [(), ("--no-offline",)])
def test_a_server_killed_in_mid_text(monkeypatch, option):
    """The text is completed here and the person told, or it fails with status 3; what
    is settled is shown either way."""
    with closing(ChildServer(locate("generalist"), locate("specialist"))) as child:
        child.wait()

        def add(output, event, shown=write_command.Output.add):
            shown(output, event)
            if isinstance(event, Settled) and not child.ended:
                os.kill(child._process.pid, signal.SIGKILL)
                child._process.wait()

        monkeypatch.setattr(write_command.Output, "add", add)
        at = ("--server", child.url, "--token", child.token, CLEAR)
        words = (*LONG, "--max-tokens", "24", *option, "x")
        result = specsteer("write", "--json", *at, *words)
    body = json.loads(result.stdout)
    assert body["text"]
    assert body["tokens"][0]["origin"] != "local"
    if option:
        assert (result.exit_code, body["ended"]) == (3, "failed")
        assert "Error: there is no answer" in result.stderr
    else:
        assert (result.exit_code, body["ended"]) in ((0, "length"), (0, "end"))
        assert "the rest is written on this device alone" in result.stderr


def test_doctor_finds_all_well_and_says_what_is_not(home, server, other_vocabulary):
    """One line for each thing; status 1 when one is bad."""
    settings = home / "settings.toml"
    settings.write_text(
        f"server = '{server.url}'\ntoken = '{server.token}'\ntoken_in_clear = true\n"
    )
    well = specsteer("doctor")
    assert well.exit_code == 0, well.stdout
    assert f"{server.url} answers" in well.stdout
    with settings.open("a") as file:
        file.write(f"specialist = '{other_vocabulary}'\n")
    strange = specsteer("doctor")
    assert strange.stdout.count("texts go as bytes") == 2
    assert strange.exit_code == 0
    settings.write_text(f"server = 'http://127.0.0.1:9'\nspecialist = '{home}/none'\n")
    ill = specsteer("doctor")
    bad = [line for line in ill.stdout.splitlines() if line.startswith("BAD")]
    assert [line.split()[1] for line in bad] == ["models", "threads", "server"]
    assert ill.exit_code == 1
    settings.write_text("threads = 'x'")
    broken = specsteer("doctor")
    assert "BAD  settings" in broken.stdout
    assert broken.exit_code == 1
