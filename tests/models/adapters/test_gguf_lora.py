"""A LoRA's file is read whole, or refused with a sentence before llama.cpp sees it."""

import numpy as np
import pytest

from decoding_core.errors import ModelError, ModelNotFoundError
from models.adapters.lora import (
    Heads,
    Lora,
    check_fits,
    for_network,
    permuted,
    read_file,
    write_lora,
)
from models.files import locate
from models.gguf_header import read_layout
from tests.gguf_files import F32, STRING, U32
from tests.loras import ALPHA, LoraFile, random_lora

HEADS = Heads(6, 2)


def small(rank=2):
    made = LoraFile()
    a, b = np.ones((rank, 8), np.float32), np.ones((6, rank), np.float32)
    made.add("blk.0.ffn_up.weight", a, 2 * b)
    return made


def test_a_plain_lora_is_read(tmp_path):
    made = small()
    made.add(
        "blk.0.ffn_down.weight", np.ones((2, 6), np.float16), np.ones((8, 2), "f4")
    )
    file = read_file(made.write(tmp_path / "a.gguf"))
    assert (file.architecture, file.alpha) == ("llama", 8.0)
    lora = for_network(file, HEADS)
    assert (lora.rank, lora.strength) == (2, 4.0)
    a, b = lora.matrices["model.layers.0.mlp.up_proj"]
    assert (a.shape, b.shape, b[0, 0]) == ((2, 8), (6, 2), 2.0)
    assert lora.matrices["model.layers.0.mlp.down_proj"][0].dtype == np.float32


def test_rows_go_to_the_other_order_and_back(tmp_path):
    """Pairs of neighbours where the other has halves, head by head; what is written is
    read again as it was."""
    rows = np.arange(8, dtype=np.float32)[:, None]
    there = permuted("blk.3.attn_q.weight", rows, "llama", Heads(2, 1))
    assert there[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    there = permuted("blk.3.attn_k.weight", rows, "llama", Heads(2, 1))
    assert there[:, 0].tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    for weight, architecture in (("attn_v", "llama"), ("attn_q", "qwen3")):
        same = permuted(f"blk.3.{weight}.weight", rows, architecture, Heads(2, 1))
        assert same is rows
    pytest.importorskip("gguf")
    rng = np.random.default_rng(0)
    matrices = {
        f"model.layers.1.self_attn.{name}": (
            rng.normal(size=(3, 16)).astype("f4"),
            rng.normal(size=(rows, 3)).astype("f4"),
        )
        for name, rows in (("q_proj", 24), ("k_proj", 8), ("o_proj", 16))
    }
    path = tmp_path / "a.gguf"
    write_lora(path, Lora(6.0, 3, matrices), "llama", HEADS, "mine")
    assert path.stat().st_mode & 0o777 == 0o600
    again = for_network(read_file(path), HEADS)
    assert (again.alpha, again.rank) == (6.0, 3)
    for name, pair in matrices.items():
        for one, other in zip(pair, again.matrices[name], strict=True):
            np.testing.assert_array_equal(one, other)


def value(name, kind, one):
    return lambda made: made.values.__setitem__(name, (kind, one))


def tensor(name, array):
    return lambda made: made.tensors.__setitem__(name, array)


def taken(name):
    return lambda made: made.tensors.pop(name)


UP = "blk.0.ffn_up.weight"
EVIL = {
    "no LoRA": value("adapter.type", STRING, "control"),
    "is no LoRA": value("general.type", STRING, "model"),
    "is no text": value("adapter.type", U32, 7),
    "is no number": value(ALPHA, U32, 7),
    "'adapter.lora.alpha' is no number": value(ALPHA, F32, np.nan),
    "begins in mid-text": value("adapter.alora.invocation_tokens", U32, 7),
    "lacks two matrices": taken(f"{UP}.lora_b"),
    "that fit together": tensor(f"{UP}.lora_b", np.ones((6, 3), np.float32)),
    "besides pairs of": tensor("blk.0.attn_norm.weight", np.ones(8, np.float32)),
    "is no matrix": tensor(f"{UP}.lora_a", np.ones((2, 8), np.int8)),
    "is no matrix of": tensor(f"{UP}.lora_a", np.ones((1, 2, 8), np.float32)),
    "is no plain LoRA": tensor("token_embd.weight.lora_a", np.ones((2, 8), "f4")),
}


@pytest.mark.parametrize("sentence", EVIL)
def test_what_is_no_plain_lora_is_refused(tmp_path, sentence):
    made = small()
    EVIL[sentence](made)
    with pytest.raises(ModelError, match=sentence):
        read_file(made.write(tmp_path / "a.gguf"))


def test_what_is_missing_cut_or_no_number_is_refused(tmp_path):
    with pytest.raises(ModelNotFoundError, match="adapter list"):
        read_file(tmp_path / "none.gguf")
    path = small().write(tmp_path / "a.gguf")
    whole = path.read_bytes()
    for size in (3, 40, len(whole) - 200, len(whole) - 40):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"damaged|not a GGUF"):
            read_file(path)
    made = small()
    made.tensors[f"{UP}.lora_a"][1, 3] = np.inf
    with pytest.raises(ModelError, match="what is no number"):
        read_file(made.write(path))


def test_what_was_made_for_another_model_is_refused(tmp_path):
    model = read_layout(locate("specialist"))
    made = random_lora()
    check_fits(read_file(made.write(tmp_path / "a.gguf")), model, "specialist")
    made.values["general.architecture"] = STRING, "qwen3"
    with pytest.raises(ModelError, match=r"'qwen3', and specialist is of 'llama'"):
        check_fits(read_file(made.write(tmp_path / "b.gguf")), model, "specialist")
    for weight in ("blk.0.ffn_up.weight", "blk.99.ffn_up.weight"):
        made = small()
        made.tensors = {
            name.replace(UP, weight): one for name, one in made.tensors.items()
        }
        with pytest.raises(ModelError, match="fits no weight there; train one"):
            check_fits(read_file(made.write(tmp_path / "c.gguf")), model, "specialist")
