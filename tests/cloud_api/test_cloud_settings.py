"""Settings by file and environment, and one server per state folder."""

import os
import socket

import pytest
from click.testing import CliRunner

from cloud_api import run
from cloud_api.auth import OWNER
from cloud_api.cli import main
from cloud_api.run import state_lock
from models.files import locate
from models.local import describing as memory
from models.local.describing import MachineMemory


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("SPECSTEER"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def started(monkeypatch):
    """What servers would have started with: models, token, where to listen."""
    found = []

    def serve(*given, **where):
        found.append((*given, where))
        return True

    monkeypatch.setattr(run, "serve", serve)
    return found


def serve(*words, stdin="", **environment):
    words = ["serve", *map(str, words)]
    return CliRunner().invoke(main, words, input=stdin, env=environment)


def test_what_is_typed_counts_before_the_environment_and_that_before_the_file(
    home, started
):
    """What another program starts for itself has its own settings: else it would listen
    where the household's server does."""
    lines = 'port = 1\nsessions = 7\nthreads = 3\nopenai = true\ntoken = "of-file"\n'
    (home / "cloud.toml").write_text(lines)
    here = {"SPECSTEER_CLOUD_PORT": "2", "SPECSTEER_CLOUD_SESSIONS": "5"}
    assert serve("--port", "3", **here).exit_code == 0
    assert serve("--exit-with-stdin", "--token", "x", **here).exit_code == 0
    (models, admitted, where), (others, _, elsewhere) = started
    assert (where["port"], models.slots, models.engine.threads) == (3, 5, 3)
    assert where["openai"]
    assert admitted.authority.caller("of-file") == OWNER
    assert (elsewhere["port"], others.slots, elsewhere["openai"]) == (8765, 4, False)


def test_the_first_line_of_stdin_is_the_token(home, started):
    """Whatever the environment holds; what follows is no part of it. A long line is not
    cut into a token."""
    other = {"SPECSTEER_CLOUD_TOKEN": "other"}
    for line in ("abc\nmore\n", "without-an-end"):
        assert serve("--token-from-stdin", stdin=line, **other).exit_code == 0
        assert started[-1][1].authority.caller(line.split("\n")[0])
    for line in ("", "\n", "two words\n", "é\n", "a" * 100_000, "\0\n"):
        done = serve("--token-from-stdin", stdin=line)
        assert done.exit_code == 1
        assert "token" in done.stderr
        assert line.strip() not in done.stderr or not line.strip()
    assert len(started) == 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("prot = 1", "there is no setting 'prot'; known are: "),
        ('port = "1"', "port must be a whole number, not '1'"),
        ("port = 70000", "port: 70000 is not in the range"),
        ("port = true", "port must be a whole number"),
        ("openai = 1", "openai must be true or false"),
        ("address_file = '/x'", "there is no setting 'address_file'"),
        ("port =", "cannot be read"),
        ("host = " + "[" * 5000, "cannot be read"),
    ],
)
def test_a_file_that_is_wrong_is_told_in_one_sentence(home, started, line, sentence):
    (home / "cloud.toml").write_text(line)
    done = serve()
    assert (done.exit_code, started) == (1, [])
    assert f"{home / 'cloud.toml'}" in done.output
    assert sentence in done.output
    assert "Traceback" not in done.output
    assert serve("--help").exit_code == 0


def test_settings_are_printed_without_secrets(home, started):
    """With where each comes from; the output can be kept as a file again."""
    (home / "cloud.toml").write_text('generalist = "large.gguf"\nsessions = 2\n')
    secrets = {"SPECSTEER_CLOUD_TOKEN": "hush1", "SPECSTEER_GENERALIST_KEY": "hush2"}
    address = "http://me:hush3@h"

    done = serve("--print-settings", "--base-url", address, **secrets)

    assert (done.exit_code, started) == (0, [])
    assert "hush" not in done.output
    assert "sessions = 2  # file" in done.output
    assert 'token = "(set)"  # environment' in done.output
    assert 'base_url = "http://(set)@h"  # typed' in done.output
    assert f'generalist = "{home / "large.gguf"}"  # file' in done.output
    assert "# the variable SPECSTEER_GENERALIST_KEY is set" in done.output
    (home / "cloud.toml").write_text(done.output)
    assert serve("--print-settings").exit_code == 0


def test_one_server_at_a_time_works_from_a_folder(home, started):
    """Whoever comes second is told who is there. Gateways share it, and a server with
    a token given takes no lock: each app starts one of its own."""
    gateway = "--generalist-url", "http://127.0.0.1:1", "--no-base"
    with state_lock(home):
        assert serve("--token", "x").exit_code == 0
        for words in ((), gateway):
            refused = serve(*words)
            assert refused.exit_code == 1
            assert f"process {os.getpid()}" in refused.output
            assert "SPECSTEER_HOME" in refused.output
    with state_lock(home, shared=True):
        assert serve(*gateway).exit_code == 0
        assert serve().exit_code == 1
    assert serve().exit_code == 0
    assert len(started) == 3


def doctor(home, lines):
    """The exit code, and the words, with these lines in the file."""
    (home / "cloud.toml").write_text(lines)
    done = CliRunner().invoke(main, ["doctor"])
    return done.exit_code, done.output


def test_init_writes_settings_that_a_start_takes(home, started):
    """With what was asked for; a second time only by force."""
    invoke = CliRunner().invoke
    done = invoke(main, ["init", "--port", "9001", "--base", str(locate("specialist"))])

    assert done.exit_code == 0, done.output
    path = home / "cloud.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "specsteer-cloud pair" in done.output
    assert serve().exit_code == 0
    assert started[0][2]["port"] == 9001
    assert started[0][0].base == locate("specialist")
    before = path.read_bytes()
    assert invoke(main, ["init"]).exit_code == 1
    assert path.read_bytes() == before
    assert invoke(main, ["init", "--force"]).exit_code == 0
    assert b"# port = 8765" in path.read_bytes()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ('generalist = "gone.gguf"', "gone.gguf"),
        ('generalist = "text.gguf"', "text.gguf"),
        ('port = 0\ntls_certificate = "text.gguf"', "are no certificate"),
        ('port = 0\nhost = "192.0.2.1"\nallow_remote = true', "cannot listen"),
        ('base_model = "x"', "--base-model goes with --base-url"),
        ("port = 0", "chmod go= {home}"),
        ("port = 0", "choose a smaller model, or fewer --sessions, --context"),
    ],
)
def test_the_doctor_says_what_is_wrong(home, monkeypatch, lines, sentence):
    home.chmod(0o755 if "chmod" in sentence else 0o700)
    if "smaller" in sentence:
        little = MachineMemory(total=1 << 20, available=1 << 19)
        monkeypatch.setattr(memory, "machine_memory", lambda: little)
    (home / "text.gguf").write_text("no model")
    code, words = doctor(home, lines)
    assert code == 1
    bad = [line for line in words.split("\n") if line.startswith("BAD")]
    assert any(sentence.format(home=home) in line for line in bad)
    assert "Traceback" not in words


def test_the_doctor_knows_a_server_that_runs_and_one_that_is_a_stranger(home):
    home.chmod(0o700)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, words = doctor(home, f"port = {port}")
        assert (code, f"port {port} on 127.0.0.1 is in use" in words) == (1, True)
        with state_lock(home):
            code, words = doctor(home, f"port = {port}")
    assert code == 0, words
    assert "a server of this folder runs" in words
    code, words = doctor(home, "port = 0")
    assert code == 0, words
    assert [line[:3] for line in words.splitlines()] == ["ok "] * 7


def test_which_base_is_loaded(home, started):
    """The embedded one beside the embedded generalist; else the one that is named."""
    file = home / "model.gguf"
    file.write_bytes(b"GGUF")
    large, both = ("--generalist", file), ("--generalist", file, "--base", file)
    said = [serve(*words).stderr for words in ((), ("--no-base",), large, both)]
    expected = ["specialist.gguf", None, None, "model.gguf"]
    assert [models.base and models.base.name for models, *_ in started] == expected
    told = ["no base is loaded" in words for words in said]
    assert told == [name is None for name in expected]
