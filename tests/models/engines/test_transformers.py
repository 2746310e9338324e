"""The engine `transformers`: what it reads of folders, and what it refuses."""

import json
import threading
from pathlib import Path

import pytest

from decoding_core.errors import InvalidSettingsError, ModelError, StoppedError
from decoding_core.protocols import Reading
from models.files import find
from models.running.loading import load_model
from models.running.settings import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

CPU = EngineSettings(device="cpu", threads=1)
WORDS = ["<unk>", "<s>", "</s>", "<0x0A>", "<0xF0>", "▁the", "the", "▁", "<pad>"]


def vocabulary(backend, **named):
    from models.engines.transformers import TransformersVocabulary

    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **named)
    return TransformersVocabulary(wrapped, [None])


def sentence_pieces():
    backend = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {name: i for i, name in enumerate(WORDS)},
            [],
            byte_fallback=True,
            unk_token="<unk>",
        )
    )
    backend.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("▁", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
        ]
    )
    backend.add_special_tokens(["<s>", "</s>"])
    backend.add_tokens(["<think>"])
    return backend


def test_pieces_of_a_vocabulary_with_a_sign_for_the_space():
    """As Gemma's and Mistral's: bytes have names of their own."""
    found = vocabulary(sentence_pieces(), eos_token="</s>")

    assert [found.piece(i) for i in (3, 4, 5, 6, 7)] == [
        *(b"\n", b"\xf0", b" the", b"the", b" ")
    ]
    assert (found.piece(1), found.piece(2)) == (b"", b"")
    assert found.piece(9) == b"<think>", "no control token: it is written"
    assert 2 in found.end_ids
    assert found.size == 10
    assert found.begins_with_blank


def test_pieces_of_a_vocabulary_of_bytes():
    """As Llama's and Qwen's: each sign stands for a byte."""
    signs = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    names = {sign: i for i, sign in enumerate(signs)} | {"Ġé": 256}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(names, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    found = vocabulary(backend)

    assert sorted(found.piece(i) for i in range(256)) == [
        bytes([byte]) for byte in range(256)
    ]
    assert found.piece(256) == b" \xe9"
    assert not found.begins_with_blank
    for text in ("naïve 🎉\n", "\ud800x"):
        ids = found.tokenize(text)
        assert found.detokenize(ids) == text.encode("utf-8", "replace").decode()


def tiny(folder, kind="Qwen3", config=None, **changes):
    """A model of random weights in a folder, its embedding filled up from 10 to 16."""
    sizes = {
        "vocab_size": 16,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 512,
        **changes,
    }
    torch.manual_seed(0)
    made = getattr(transformers, f"{config or kind}Config")(**sizes)
    getattr(transformers, f"{kind}ForCausalLM")(made).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=sentence_pieces(), eos_token="</s>"
    ).save_pretrained(folder)
    return folder


KINDS = {
    "Llama": {},
    "Qwen2": {},
    "Qwen3": {},
    "Mistral": {"sliding_window": 8},
    "Gemma3": {
        "config": "Gemma3Text",
        "sliding_window": 8,
        "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_families_read_as_the_library_reads_them(kind, tmp_path):
    """In blocks, beside another text, and after a roll back, windows among them."""
    tiny(tmp_path, kind, **KINDS[kind])
    ids = [(7 * i) % 10 for i in range(40)]
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    model = load_model(tmp_path, CPU)
    with torch.inference_mode():
        whole = plain(torch.tensor([ids])).logits[0, :, : model.vocabulary_size]
    slots = model.open(2, 64)
    sequence = slots.sequence(0)
    found = [*sequence.evaluate(ids[:13], 13), *sequence.evaluate(ids[13:30], 17)]
    slots.evaluate([Reading(1, ids[20:25], 5)])
    sequence.rollback(25)
    found[25:] = slots.evaluate([Reading(1, ids[3:6]), Reading(0, ids[25:30], 5)])[1]
    found += [sequence.evaluate([token])[0] for token in ids[30:]]

    assert len(found) == 40
    for one, other in zip(found, whole.numpy(), strict=True):
        assert one == pytest.approx(other, abs=2e-4)


def test_what_cannot_be_run_is_said(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"there is no config\.json in it"):
        load_model(empty, CPU)
    (empty / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="transformers cannot load"):
        load_model(empty, CPU)
    folder = tiny(tmp_path / "tiny")
    with pytest.raises(InvalidSettingsError, match="llama_cpp alone"):
        load_model(folder, EngineSettings(exact=True))
    if not torch.cuda.is_available():
        with pytest.raises(InvalidSettingsError, match="no cuda that torch can use"):
            load_model(folder, EngineSettings(device="cuda"))
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        load_model(folder, CPU, stop)
    config = json.loads((folder / "config.json").read_text())
    config["layer_types"] = ["chunked_attention"] * 4
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"\(chunked_attention\) cannot forget"):
        load_model(folder, CPU)
    for name in ("tokenizer.json", "model.safetensors"):
        (folder / name).write_bytes(b"\x00damaged")
        with pytest.raises(ModelError, match="transformers cannot load"):
            load_model(folder, CPU)


def test_code_that_comes_with_a_model_is_not_run(tmp_path, monkeypatch):
    """Nor is anybody asked whether it may be."""
    folder = tiny(tmp_path / "tiny")
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')\n")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "own"
    config["auto_map"] = {
        "AutoConfig": "own.OwnConfig",
        "AutoModelForCausalLM": "own.OwnModel",
    }
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    with pytest.raises(ModelError, match="transformers cannot load") as refused:
        load_model(folder, CPU)
    assert "\n" not in str(refused.value)
    assert not ran.exists()


def test_a_name_of_a_hub_is_the_folder_where_it_was_put(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--Org--Tiny-1"
    snapshot = kept / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    tiny(snapshot)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc")
    assert find(Path("Org/Tiny-1")) == snapshot
    model = load_model(Path("Org/Tiny-1"), CPU)
    assert model.name == "Org/Tiny-1"
    model.close()
