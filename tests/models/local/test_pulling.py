"""Models come from a hub whole and right, or not at all; the client is the real one."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import partial
from threading import Thread

import pytest

from base.locks import lock
from models.files import hub_models, locate
from models.local import pulling
from models.local.describing import describe
from models.local.finding import folder_of, pulled_folder, read_note
from tests import command
from tests.models.local.small_hub import REVISION, asked_hub, lfs
from tests.waiting import PATIENCE, ROOT, let_pass, wait_until

REPOSITORY, FILE = "maker/Tiny-GGUF", "tiny-q4_0.gguf"


def model_bytes(role="specialist"):
    return locate(role).read_bytes()


@pytest.fixture
def hub(monkeypatch):
    with asked_hub(monkeypatch) as one:
        yield one


specsteer = partial(command.specsteer, "models")


def sentence(done):
    """The error, which is one line and no traceback."""
    assert done.exit_code == 1, done.output
    assert done.stderr.count("Error: ") == 1
    line = done.stderr.rpartition("Error: ")[2].strip()
    assert "\n" not in line
    return line


def test_a_model_is_pulled_checked_and_kept_with_its_checksum(hub):
    content = model_bytes()
    hub.has(REPOSITORY, {FILE: content, "README.md": b"# Tiny"}, small={"README.md"})
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert done.exit_code == 0, done.output
    path = folder_of(REPOSITORY) / FILE
    assert path.read_bytes() == content
    assert done.stdout.strip() == str(path)
    assert "licence: apache-2.0" in done.stderr
    assert "checksum as the hub names it" in done.stderr
    note = read_note(folder_of(REPOSITORY))
    assert (note.revision, note.files[FILE].sha256) == (REVISION, lfs(content))
    assert describe(path).vocabulary_size == 8192
    assert {s.path for s in hub.seen} == {
        f"/api/models/{REPOSITORY}",
        f"/{REPOSITORY}/resolve/{REVISION}/{FILE}",
        f"/store/{REPOSITORY}/{FILE}",
    }
    assert {s.agent for s in hub.seen} == {"specsteer"}

    listed = specsteer("list")
    assert f"{REPOSITORY}/{FILE}" in listed.output

    sent = hub.sent
    again = specsteer("pull", f"{REPOSITORY}/{FILE}")  # agreed to once, and here
    assert again.exit_code == 0
    assert hub.sent == sent

    path.write_bytes(content[:-1] + b"?")
    changed = specsteer("check", f"{REPOSITORY}/{FILE}", "embedded-generalist")
    assert "its checksum has changed" in sentence(changed)

    gone = specsteer("remove", f"{REPOSITORY}/{FILE}", "--yes")
    assert gone.exit_code == 0, gone.output
    assert list(pulled_folder().rglob("*")) == []


def test_a_pull_that_was_killed_half_way_goes_on(hub, home):
    """A real process, killed for good while the hub holds the second half back."""
    content = model_bytes("generalist")
    hub.has(REPOSITORY, {FILE: content})
    hub.hold_after = 22 << 20
    words = ["-m", "edge_app.cli", "models", "pull", f"{REPOSITORY}/{FILE}", "--yes"]
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "SPECSTEER_HOME": str(home)},
    )

    def kept():
        assert process.poll() is None, process.stderr.read()
        return sum(part.stat().st_size for part in pulled_folder().rglob(".*.part"))

    wait_until(lambda: kept() == 22 << 20, "half of the file did not come")
    half = kept()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    hub.go_on.set()
    assert not (folder_of(REPOSITORY) / FILE).exists()

    done = specsteer("pull", f"{REPOSITORY}/{FILE}")
    assert done.exit_code == 0, done.output
    assert hub.ranges() == ["", f"bytes={half}-"]
    assert (folder_of(REPOSITORY) / FILE).read_bytes() == content
    assert list(pulled_folder().rglob("*.part")) == []


@pytest.mark.parametrize(
    ("alter", "words", "parts"),
    [
        (lambda x: x[:-1] + b"?", "checksum than the hub names, so it was deleted", 0),
        (lambda x: x + b"more", "came with another size", 1),
    ],
)
def test_another_file_than_the_hub_named_is_refused(hub, alter, words, parts):
    hub.has(REPOSITORY, {FILE: model_bytes()})
    hub.alter = alter
    assert words in sentence(specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes"))
    left = {path.name for path in folder_of(REPOSITORY).rglob("*")} - {"pulled.json"}
    assert [name.endswith(".part") for name in left] == [True] * parts


def test_what_the_catalogue_names_must_be_what_the_hub_has(hub):
    known = next(one for one in hub_models() if one.sha256)
    hub.has(known.repository, {known.file: model_bytes()})
    done = specsteer("pull", known.name, "--yes")
    assert "than the catalogue names" in sentence(done)
    assert not folder_of(known.repository).exists()


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ((401, "GatedRepo"), "accept its terms"),
        ((403, "GatedRepo"), "accept its terms"),
        ((401, "RepoNotFound"), "HF_TOKEN must hold a token"),
        ((403, ""), "HF_TOKEN holds no token that may read it"),
        ((429, ""), "asked too often"),
        ((503, ""), "answers with status 503"),
    ],
)
def test_what_a_hub_refuses_is_said_in_a_sentence(hub, refusal, words, monkeypatch):
    hub.has(REPOSITORY, {FILE: model_bytes()}, refusal=refusal)
    assert words in sentence(specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert done.exit_code == 0, done.output
    assert "hf_secret" not in done.output
    told = [s.path for s in hub.seen if s.authorization]
    assert told
    assert not [path for path in told if path.startswith("/store/")]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maker/Nothing/x.gguf", "shows no repository maker/Nothing"),
        (f"{REPOSITORY}/other.gguf", f"give one of: {REPOSITORY}/{FILE}"),
        (REPOSITORY, "holds several models; give one of"),
        ("maker/Empty", "no GGUF file and no safetensors"),
        ("qwen3-8b", "could not be checked with a hub when it was written"),
        ("nothing", "the catalogue has no nothing"),
        ("../../etc/passwd", "is no name of a model on a hub"),
        ("maker/Tiny-GGUF/../x.gguf", "is no name of a model on a hub"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(hub, name, words):
    hub.has(REPOSITORY, {FILE: b"GGUF", "second.gguf": b"GGUF"})
    hub.has("maker/Empty", {"README.md": b"#"})
    assert words in sentence(specsteer("pull", name, "--yes"))
    assert not pulled_folder().exists()


@pytest.mark.parametrize("path", ["/api/", "/store/"])
def test_a_hub_that_hardly_answers_is_left(hub, monkeypatch, path):
    """About a repository, and in a file; each byte that drips came in time."""
    monkeypatch.setattr(pulling, "_SECONDS", 0.3)
    hub.has(REPOSITORY, {FILE: b"GGUF" * 1250})
    hub.drips = path
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert not hub.go_on.is_set()
    hub.go_on.set()
    assert "hardly answers" in sentence(done)


def test_a_hub_that_tells_without_end_is_left(hub, monkeypatch):
    monkeypatch.setattr(pulling, "_LONGEST_LISTING", 1 << 20)
    hub.has(REPOSITORY, {FILE: b"GGUF"})
    hub.drips, hub.burst = "/api/", b" " * (1 << 18)
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert not hub.go_on.is_set()
    hub.go_on.set()
    assert "hardly answers" in sentence(done)


def test_a_greeting_that_drips_is_left(monkeypatch):
    """That of an encrypted connection has its time as a whole."""
    monkeypatch.setattr(pulling, "_SECONDS", 0.3)

    def greet(listening):
        with suppress(OSError), listening.accept()[0] as peer:
            peer.sendall(b"\x16\x03\x03\x20\x00\x02\x00\x1f\xfc\x03\x03")
            while True:
                peer.sendall(b"\0")
                let_pass(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"https://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        greeting = Thread(target=greet, args=(listening,), daemon=True)
        greeting.start()
        done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert "hardly answers" in sentence(done)


def test_what_is_no_hub_is_called_so(hub, monkeypatch):
    hub.has(REPOSITORY, {FILE: b"GGUF"})
    monkeypatch.setattr("tests.models.local.small_hub.REVISION", "main")
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert "is no hub of models" in sentence(done)


def test_a_full_disk_is_said_before_anything_is_pulled(hub, monkeypatch):
    hub.has(REPOSITORY, {FILE: model_bytes()})
    usage = shutil.disk_usage("/")._replace(free=1 << 20)
    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: usage)
    done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert "has no room" in sentence(done)
    assert hub.sent == 0


def test_nothing_is_pulled_before_the_licence_is_agreed_to(hub):
    card = {"license": "other", "license_name": "llama3.2", "license_link": "LICENSE"}
    hub.has(REPOSITORY, {FILE: model_bytes()}, card=card)
    done = specsteer("pull", f"{REPOSITORY}/{FILE}")  # no terminal to ask in
    assert "--yes does it" in sentence(done)
    assert "licence: llama3.2, LICENSE" in done.stderr
    assert hub.sent == 0


def test_a_folder_for_transformers_comes_without_what_could_run(hub):
    small = dict.fromkeys(("config.json", "tokenizer.json", "run.py", "x.bin"), b"{}")
    weights = {"model.safetensors": b"weights"}
    hub.has(REPOSITORY, {**small, **weights}, small=set(small))
    done = specsteer("pull", REPOSITORY, "--yes")
    assert done.exit_code == 0, done.output
    there = {p.name for p in folder_of(REPOSITORY).iterdir()}
    assert there == {*small, *weights, "pulled.json"} - {"run.py", "x.bin"}
    assert done.stdout.strip() == str(folder_of(REPOSITORY))


def test_two_pulls_of_one_file_do_not_meet(hub):
    hub.has(REPOSITORY, {FILE: model_bytes()})
    offer = pulling.ask_hub(REPOSITORY, FILE)
    folder_of(REPOSITORY).mkdir(parents=True)
    with pulling._part(offer, offer.files[0]).open("wb") as other:
        lock(other)
        done = specsteer("pull", f"{REPOSITORY}/{FILE}", "--yes")
    assert "another pull of" in sentence(done)
