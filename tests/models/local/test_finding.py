"""What other programs have put on this machine is found, and told by headers alone."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import ModelError, ModelNotFoundError
from edge_app.cli import cli
from models.files import locate
from models.gguf_header import read_layout
from models.local import finding
from models.local.describing import describe, token_names
from models.local.finding import found_models, resolve
from tests.gguf_files import ARRAY, F32, STRING, U32, write_gguf

SMALL, LARGE = locate("specialist"), locate("generalist")
HASH = "a" * 64


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A home folder in which nobody has put a model."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (
        *("OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"),
        *("LLAMA_CACHE", "XDG_CACHE_HOME"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(finding, "_OLLAMA_OF_THE_SYSTEM", tmp_path / "system")
    return tmp_path


def linked(path, to=SMALL):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)
    return path


def ollama(folder, name, tag, digest=HASH, where="registry.ollama.ai/library"):
    manifest = folder / "manifests" / where / name / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    kind = "application/vnd.ollama.image."
    layer = {"mediaType": f"{kind}model", "digest": f"sha256:{digest}"}
    template = {"mediaType": f"{kind}template"}
    manifest.write_text(json.dumps({"layers": [template, layer]}))


def header_only(path, tokens, *, name="Made", unused=0, family="qwen2", **more):
    """A file whose header names a model, and nothing behind it."""
    names = [*tokens, *(f"[PAD{len(tokens) + at}]" for at in range(unused))]
    kinds = [1] * len(tokens) + [5] * unused
    path.parent.mkdir(parents=True, exist_ok=True)
    sizes = {
        "block_count": 24,
        "context_length": 32768,
        "embedding_length": 896,
        "attention.head_count": 14,
        "attention.head_count_kv": 2,
    } | more
    values = {f"{family}.{key}": (U32, value) for key, value in sizes.items()} | {
        "general.architecture": (STRING, family),
        "general.name": (STRING, name),
        "general.file_type": (U32, 15),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, names)),
        "tokenizer.ggml.token_type": (ARRAY, (U32, kinds)),
    }
    return write_gguf(path, values, {})


def names():
    return {one.name for one in found_models()}


EMBEDDED = {"embedded-specialist", "embedded-generalist"}


def test_the_folders_of_four_programs(machine):
    assert names() == EMBEDDED
    models = machine / ".ollama/models"
    header_only(models / f"blobs/sha256-{HASH}", "ab")
    ollama(models, "qwen3", "0.6b")
    ollama(models, "Gone", "latest", "b" * 64)
    other = "c" * 64
    header_only(models / f"blobs/sha256-{other}", "ab")
    ollama(models, "Tiny", "Q4", other, "hf.co/maker")
    studio = machine / ".lmstudio/models/maker/Tiny-GGUF"
    header_only(studio / "tiny.gguf", "ab")
    header_only(studio / "big-00001-of-00002.gguf", "ab")
    (studio / "big-00002-of-00002.gguf").write_bytes(b"rest")
    header_only(machine / ".cache/lm-studio/models/old/o/old.gguf", "ab")
    repository = machine / ".cache/huggingface/hub/models--maker--Some-GGUF"
    blob = header_only(repository / "blobs/1234", "ab")
    linked(repository / "snapshots/abc/some.gguf", blob)
    linked(repository / "snapshots/older/some.gguf", blob)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text("abc")
    header_only(machine / ".cache/llama.cpp/maker_tiny.gguf", "ab")
    assert names() - EMBEDDED == {
        "ollama:qwen3:0.6b",
        "ollama:hf.co/maker/Tiny:Q4",
        "lmstudio:maker/Tiny-GGUF/tiny.gguf",
        "lmstudio:maker/Tiny-GGUF/big-00001-of-00002.gguf",
        "lmstudio:old/o/old.gguf",
        "hf:maker/Some-GGUF/some.gguf",
        "llama.cpp:maker_tiny.gguf",
    }
    assert resolve("ollama:qwen3:0.6b") == models / f"blobs/sha256-{HASH}"
    big = describe(resolve("lmstudio:maker/Tiny-GGUF/big-00001-of-00002.gguf"))
    assert big.file_bytes == (studio / "big-00001-of-00002.gguf").stat().st_size + 4


def test_folders_that_the_environment_names(machine, monkeypatch):
    for variable, path in {
        "LLAMA_CACHE": "l/l.gguf",
        "HF_HUB_CACHE": "h/models--a--b/snapshots/1/h.gguf",
        "OLLAMA_MODELS": f"o/blobs/sha256-{HASH}",
    }.items():
        header_only(machine / path, "ab")
        monkeypatch.setenv(variable, str(machine / path[0]))
    ollama(machine / "o", "m", "1")
    assert names() - EMBEDDED == {"llama.cpp:l.gguf", "hf:a/b/h.gguf", "ollama:m:1"}


def test_nothing_in_a_foreign_folder_stops_the_list(machine):
    """Broken, hostile or of another kind: it is passed by, and told when asked for."""
    studio = machine / ".lmstudio/models/maker/repo"
    header_only(studio / "vectors.gguf", "ab", pooling_type=3)
    header_only(studio / "recurrent.gguf", "ab", **{"ssm.state_size": 128})
    header_only(studio / "mmproj-tiny.gguf", "ab", family="clip")
    header_only(studio / "Qwen3-Reranker.gguf", "ab")
    header_only(studio / "lacks-00001-of-00002.gguf", "ab")
    header_only(studio / "\x1b[31mred\u202e.gguf", "ab", name="\x1b[2J\nboo")
    (studio / "empty.gguf").write_bytes(b"")
    (studio / "cut.gguf").write_bytes(SMALL.read_bytes()[:5000])
    (studio / "dead.gguf").symlink_to(machine / "nowhere")
    (studio / "ring").symlink_to(studio)
    os.mkfifo(studio / "pipe.gguf")
    (studio / "folder.gguf").mkdir()
    manifests = machine / ".ollama/models/manifests/registry.ollama.ai/library/m"
    manifests.mkdir(parents=True)
    for at, content in enumerate((b"{", b"[]", b'{"layers": 3}', b"[" * 100_000)):
        (manifests / str(at)).write_bytes(content)
    ollama(machine / ".ollama/models", "up", "1", "../../../../etc/passwd")
    done = CliRunner(charset="utf-8").invoke(
        cli, ["models", "list", "--all"], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    table, _, rest = done.stdout.partition("left out  ")
    assert "\ufffd[31mred.gguf" in table
    for name in (
        *("vectors", "recurrent", "mmproj-tiny", "Qwen3-Reranker", "empty", "cut"),
        "lacks-00001-of-00002",
    ):
        assert name not in table
        assert f"lmstudio:maker/repo/{name}.gguf: " in rest
    for name in ("dead", "pipe", "folder"):
        assert name not in done.stdout


def test_a_folder_for_transformers_is_one_of_them(machine):
    """Its vocabulary is that of a GGUF file made from it."""
    tokens = read_layout(SMALL).values["tokenizer.ggml.tokens"]
    folder = machine / ".cache/huggingface/hub/models--maker--Tiny/snapshots/1"
    folder.mkdir(parents=True)
    added = [{"id": at, "content": tokens[at]} for at in range(4)]
    rest = {token: at for at, token in enumerate(tokens) if at >= 4}
    write(folder / "tokenizer.json", {"model": {"vocab": rest}, "added_tokens": added})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "hidden_size": 576,
        "max_position_embeddings": 2048,
        "dtype": "bfloat16",
    }
    write(folder / "config.json", config)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes(b"x" * 1000)
    assert names() - EMBEDDED == {"hf:maker/Tiny"}
    about = describe(resolve("hf:maker/Tiny"))
    assert about.vocabulary_id == describe(SMALL).vocabulary_id
    assert about.cache_bytes == 2 * describe(LARGE).cache_bytes  # float32
    assert (about.file_bytes, about.loaded_bytes) == (1000, 2000)
    assert (about.quantisation, about.has_template) == ("bfloat16", True)
    assert token_names(folder) == token_names(SMALL)
    write(folder / "config.json", {**config, "layer_types": ["linear_attention"]})
    with pytest.raises(ModelError, match="cannot forget"):
        describe(folder)
    write(folder / "config.json", {**config, "architectures": ["BertModel"]})
    with pytest.raises(ModelError, match="no language model"):
        describe(folder)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3),
    max_leaves=3,
)
CONFIG = (
    *("text_config", "num_attention_heads", "head_dim", "hidden_size", "layer_types"),
    *("num_key_value_heads", "num_hidden_layers", "quantization_config", "dtype"),
    *("model_type", "max_position_embeddings"),
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(CONFIG, ODD)),
    st.fixed_dictionaries({}, optional={"model": ODD, "added_tokens": ODD}),
    st.dictionaries(st.text(max_size=3), ODD, max_size=3),
)
def test_whatever_a_folder_holds_is_described_or_refused(config, tokenizer, vocabulary):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer.setdefault("model", {"vocab": vocabulary})
        write(folder / "config.json", {"architectures": ["AForCausalLM"], **config})
        write(folder / "tokenizer.json", tokenizer)
        (folder / "model.safetensors").write_bytes(b"x")
        with suppress(ModelError):
            assert describe(folder).memory(8192) >= 0


HEADER = [
    *("general.type", "general.name", "general.file_type", "general.size_label"),
    *("tokenizer.chat_template", "tokenizer.ggml.token_type", "x.pooling_type"),
    *("x.block_count", "x.attention.head_count", "x.attention.head_count_kv"),
    *("x.embedding_length", "x.attention.key_length", "x.context_length"),
]
VALUES = st.sampled_from(
    [
        (STRING, "x"),
        (U32, 0),
        (U32, 2**32 - 1),
        (F32, float("nan")),
        (ARRAY, (STRING, ["x"])),
        (ARRAY, (U32, [7, 7])),
        (ARRAY, (F32, [1.5])),
        (ARRAY, (U32, [])),
    ]
)


@given(st.dictionaries(st.sampled_from(HEADER), VALUES))
def test_whatever_a_header_holds_is_described_or_refused(values):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.gguf"
        own = {"general.architecture": (STRING, "x")}
        own["tokenizer.ggml.tokens"] = ARRAY, (STRING, ["a"])
        write_gguf(path, {**own, **values}, {})
        with suppress(ModelError):
            assert describe(path).memory(8192) >= 0


def test_a_name_that_is_none_is_told_what_comes_near(machine):
    with pytest.raises(ModelNotFoundError, match="did you mean embedded-specialist"):
        resolve("embeded-specialist")
    with pytest.raises(ModelNotFoundError, match="models pull qwen3-8b"):
        resolve("qwen3-8b")
    assert resolve(str(SMALL)) == SMALL


def write(path, body):
    path.write_text(json.dumps(body))
