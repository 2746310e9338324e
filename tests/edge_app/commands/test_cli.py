"""The process `specsteer`: its streams, imports and exit status, one sentence for all
that can be foreseen, and commands that other packages add."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import click
import pytest

from decoding_core.errors import CloudUnreachableError
from edge_app import cli as installed
from edge_app.privacy.ledger import check_room
from models.folders import state_folder
from personal_store import Store
from tests.waiting import PATIENCE

ASK = """
import json, sys
from edge_app.cli import cli
for arguments in (["--help"], ["sent"], ["status"], ["search", "x"]):
    cli.main(arguments, prog_name="specsteer", standalone_mode=False)
heavy = ("textual", "llama_cpp", "fastapi", "torch", "httpx")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


def specsteer(command, **environment):
    """Run a shell command in which `specsteer` is ours."""
    line = command.replace("specsteer", f"{sys.executable} -m edge_app.cli")
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=PATIENCE,
        check=False,
    )


def test_quick_commands_load_no_screen_and_no_model():
    """`--help`, `sent`, `status` and `search` stay quick."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_streams_that_cannot_be_used_are_no_traceback():
    """Closed ones, in whose place nothing else is opened; a reader that leaves; a full
    disk, of which Python adds no sentence of its own at the end. What Latin-1 cannot
    show becomes a question mark."""
    done = specsteer("specsteer status <&- >&- 2>&-")
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    done = specsteer("specsteer status | true; exit ${PIPESTATUS[0]}")
    assert (done.stderr, done.returncode in (0, 1)) == (b"", True)
    if Path("/dev/full").exists():
        done = specsteer("specsteer status > /dev/full")
        assert done.stderr == b"Error: no space left on device\n"
        assert done.returncode == 1
    home = os.environ["SPECSTEER_HOME"] + "/日本"
    done = specsteer(
        "specsteer status", PYTHONIOENCODING="latin-1", SPECSTEER_HOME=home
    )
    assert (done.stderr, b"/??\n" in done.stdout) == (b"", True)


def test_what_was_not_agreed_to_is_said_by_the_status_alone(letters, monkeypatch):
    monkeypatch.setattr("sys.argv", ["specsteer", "exclude", "1"])
    with pytest.raises(SystemExit) as ended:
        installed.main()
    assert ended.value.code == 1


def sentence(result):
    """The one line of an error."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert (result.stdout, result.exit_code) == ("", 1)
    return lines[0]


REJECTION = ("--method", "rejection", "--temperature", "0")
GENERALIST = ("--method", "generalist", "--no-history")
BOTH = ("--method", "generalist_with_history", "--no-history", "--server")


def test_a_wrong_value_is_explained(run):
    """With status 1 and without loading a model."""
    for arguments, words in (
        (["write", ""], "the request is empty"),
        (["write", "x", "--method", "magic"], "there is no method 'magic'"),
        (["write", "x", "--specialist", "/no/such.gguf"], "there is no model /no"),
        (["write", "x", "--specialist", "/"], "holds no model"),
        (["write", "x", "--specialist", __file__], "is not a GGUF file"),
        (["write", "x", "--max-tokens", "0"], "at least 1"),
        (["write", "x", "--draft-length", "65"], "between 1 and 64"),
        (["write", "x", "--temperature", "nan"], "temperature must lie"),
        (["write", "x", "--threshold", "inf"], "threshold must lie"),
        (["write", "x", "--strength", "-1"], "strength must lie"),
        (["write", "x", *REJECTION], "needs a temperature above"),
        (["write", "x", *GENERALIST, "--offline"], "does nothing offline"),
        (["write", "x", *BOTH, "http://a.example"], "gives your history to the large"),
        (["write", "x", *BOTH, "http://10.1.2.3"], "only, not at http://10.1.2.3"),
        (["import", "carrier_pigeon", "/"], "There is no importer"),
    ):
        assert words in sentence(run(*arguments))


def test_wrong_usage_is_status_2(run):
    """As of every command, with where to find help."""
    for arguments, words in (
        ([], "needs a terminal"),
        (["write", "x", "--offline", "--no-offline"], "exclude each other"),
        (["write", "x", "--server", "http://a", "--generalist", "b"], "--generalist"),
        (["search", "x", "--limit", "0"], "is not in the range"),
        (["import", "csv", "x", "--map", "text"], "FIELD=COLUMN"),
        (["import", "mbox", "x", "--me", "Tess"], "--me takes an address"),
        (["import", "imap", "a@example.org"], "needs --server"),
        (["import", "mbox", "a", "--server", "x"], "needs --server"),
        (["import", "imap", "a@example.org", "--server", "x:y"], "NAME:PORT"),
    ):
        result = run(*arguments)
        assert words in result.stderr
        assert "--help' for help" in result.stderr
        assert result.exit_code == 2


@pytest.mark.parametrize("command", ["status", "sent", "search x", "write x --offline"])
def test_a_state_folder_that_cannot_be(run, monkeypatch, tmp_path, command):
    """Every command says so, and how to name another."""
    (file := tmp_path / "file").touch()
    for place in (file, file / "below", "~no-such-user/x"):
        monkeypatch.setenv("SPECSTEER_HOME", str(place))
        said = sentence(run(*command.split()))
        assert "SPECSTEER_HOME can name another" in said


def test_a_store_that_fails_within(run, home):
    """As where its disk is full, or somebody damaged it."""
    with Store.open(home / "store.db") as store:
        store.db.execute("DROP TABLE record")
    said = sentence(run("search", "milk", "--received"))
    assert "The store cannot be used: no such table: record." in said


def test_broken_settings_are_one_sentence(run, home):
    """That names the file and what is wrong in it."""
    for body, words in (
        ("threads = 'x'", "threads must be a whole number, not 'x'"),
        ("threads = true", "threads must be a whole number, not True"),
        ("threads = 0", "threads must lie between 1 and 512, not 0"),
        ("exact = 'yes'", "exact must be true or false"),
        ("server = 5", "server must be a text"),
        ("colour = 'red'", "there is no setting 'colour'; known are: also_at, ascii"),
        ("method = 'steering'", "[method] is a table, not 'steering'"),
        ("[method]\ntemperature = 'hot'", "temperature must be a number, not 'hot'"),
        ("[method]\nrule = 'kind'", "rule must be greedy or stochastic, not 'kind'"),
        ("[method]\nwindow = 5", "window must lie between 1 and 4"),
        ("this is not toml", "cannot be read"),
        ("a = " + "[" * 5000, "cannot be read"),
        ("\xff\xfe", "cannot be read"),
    ):
        (home / "settings.toml").write_text(body, "latin-1")
        said = sentence(run("write", "x", "--offline"))
        assert words in said
        assert "settings.toml" in said


def test_the_state_folder_is_for_its_owner_alone(monkeypatch, tmp_path):
    """It is made with its parents; ~ is the person's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SPECSTEER_HOME", "~/a/b")
    assert state_folder() == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def on_a_full_disk(*words):
    """What `specsteer` says in a process whose files may hold three bytes, which the
    index of a log has when it is empty."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3, 3)); "
        "from edge_app.cli import main; main()"
    )
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_store_is_read_though_the_disk_takes_no_byte_more(run, letters):
    """Not even the index of the log, which readers share."""
    told = on_a_full_disk("status", "--json")
    assert json.loads(told.stdout)["store"]["usable"] == 2
    refused = on_a_full_disk("exclude", "1", "--yes")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 2  # the text that is meant, the error
    assert "Traceback" not in refused.stderr
    assert json.loads(run("status", "--json").stdout)["store"]["usable"] == 2


def test_nothing_is_sent_that_cannot_be_noted(home, monkeypatch):
    """The ledger would lack it."""
    check_room(home / "ledger.jsonl")
    full = SimpleNamespace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(CloudUnreachableError, match="the disk is full"):
        check_room(home / "ledger.jsonl")


@click.command("hello")
def hello() -> None:
    """Say hello."""
    click.echo("hello")


@pytest.fixture
def adding(monkeypatch):
    """Has a package add an entry point; returns what looks it up."""

    def add(name, value, group=installed.COMMANDS):
        found = EntryPoints([EntryPoint(name, value, group)])
        monkeypatch.setattr(installed, "entry_points", Mock(side_effect=found.select))
        return installed.entry_points

    return add


@pytest.mark.parametrize(("group", "above"), [("COMMANDS", ()), ("LAB", ("lab",))])
def test_an_added_command_is_found(run, adding, group, above):
    """By its name, and in the help; one of the lab is unknown above it."""
    adding("hello", f"{__name__}:hello", getattr(installed, group))
    assert run(*above, "hello").stdout == "hello\n"
    assert "Say hello." in run(*above, "--help").stdout
    assert run("hello").exit_code == (2 if above else 0)


def test_a_broken_command_is_a_sentence(run, adding, tmp_path, monkeypatch):
    """With whatever options it is called; the help goes on working."""
    (tmp_path / "raises_on_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    for value, reason in (
        ("no_such_module:x", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:dumps", "json:dumps is no command"),
        ("raises_on_import:x", "ZeroDivisionError"),
    ):
        adding("broken", value)
        said = sentence(run("broken", "deeper", "--with", "options", "--help"))
        assert "the command 'broken'" in said
        assert reason in said
        assert "(cannot be loaded)" in run("--help").stdout


def test_our_own_commands_ask_for_no_others(run, adding):
    """Nor can another package stand in for one."""
    looked_up = adding("status", f"{__name__}:hello")
    assert "hello" not in run("status").stdout
    assert not looked_up.called
