"""A recipe goes on from the pair as it was, wherever that is still to be had."""

import hashlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")

from decoding_core.errors import ModelNotFoundError  # noqa: E402
from training.config import recipe  # noqa: E402
from training.network import Network  # noqa: E402
from training.start import before  # noqa: E402


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A repository that had a file, which is another one by now."""
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    file = folder / "tiny.gguf"
    file.write_bytes(b"as it was")
    hashed = subprocess.run(
        ["git", "-C", folder, "hash-object", "-w", file],
        check=True,
        capture_output=True,
        text=True,
    )
    sha256 = hashlib.sha256(b"as it was").hexdigest()
    monkeypatch.setattr(before, "EMBEDDED", folder)
    monkeypatch.setattr(before, "FILES", {"tiny": (hashed.stdout.strip(), sha256)})
    monkeypatch.setattr(before.parent, "read", lambda path: path)
    return folder


def test_the_file_itself_is_read_while_it_is_there(history, tmp_path):
    assert before.load("tiny", tmp_path / "work") == history / "tiny.gguf"


def test_a_file_that_was_replaced_comes_out_of_the_history(history, tmp_path):
    (history / "tiny.gguf").write_bytes(b"as it is now")
    found = before.load("tiny", tmp_path / "work")
    assert found.read_bytes() == b"as it was"
    assert before.load("tiny", tmp_path / "work") == found


def test_without_a_history_one_sentence_says_what_is_missing(history, tmp_path):
    (history / "tiny.gguf").unlink()
    (blob,) = {blob for blob, _ in before.FILES.values()}
    (history / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(ModelNotFoundError, match=r"tiny goes on .* clone it whole"):
        before.load("tiny", tmp_path / "work")
    assert not (tmp_path / "work" / "tiny-before.gguf").exists()


def test_a_model_without_an_earlier_file_is_told_so(tmp_path):
    with pytest.raises(ModelNotFoundError, match="no earlier file of the generalist"):
        before.load("generalist", tmp_path)


@pytest.mark.parametrize("name", before.FILES)
def test_a_model_that_was_fits_its_recipe(name, tmp_path):
    plan = recipe(name, "full", tmp_path)
    found = before.load(name, tmp_path)
    assert found.shape == plan.shape
    Network(plan.shape).load_state_dict(found.weights)
