"""A reranker under real llama.cpp: a tiny one with known weights, and what is none."""

import numpy as np
import pytest

from decoding_core.errors import ModelError
from models.engines.llama_cpp import LlamaReranker
from models.files import locate
from models.gguf_header import read_layout
from models.running.settings import EngineSettings
from tests.gguf_files import ARRAY, BOOL, F32, INT, STRING, U32, write_gguf

WIDTH, CONTEXT, EPSILON = 32, 64, 1e-6
BEGIN, END, BETWEEN = 1, 2, 3
SETTINGS = EngineSettings(threads=1, extra_buffers=False)
TEXTS = [
    "The pier photos came out well.",
    "The train was late.",
    "Good soup, cold tea.",
]


def random_weights():
    rng = np.random.default_rng(3)
    shapes = {
        "token_embd.weight": (8192, WIDTH),
        "position_embd.weight": (CONTEXT, WIDTH),
        "cls.weight": (WIDTH, WIDTH),
        "cls.bias": (WIDTH,),
        "cls.output.weight": (1, WIDTH),
        "cls.output.bias": (1,),
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def layer():
    """Every token looks at all alike and takes their mean; nothing else happens."""
    one, no = np.eye(WIDTH), np.zeros((WIDTH, WIDTH))
    squares = {"attn_q": no, "attn_k": no, "attn_v": one, "attn_output": one}
    squares |= {"ffn_up": no, "ffn_down": no}
    weights = {f"blk.0.{name}.weight": value for name, value in squares.items()}
    weights |= {f"blk.0.{name}.bias": np.zeros(WIDTH) for name in squares}
    for norm in ("blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        weights |= {f"{norm}.weight": np.ones(WIDTH), f"{norm}.bias": np.zeros(WIDTH)}
    weights |= {"token_embd_norm.weight": np.ones(WIDTH)}
    weights |= {"token_embd_norm.bias": np.zeros(WIDTH)}
    return weights | {"token_types.weight": np.zeros((1, WIDTH))}


def write_reranker(path, template=None, pooling=4):
    """A BERT of one layer over the embedded vocabulary."""
    header = read_layout(locate("specialist")).values
    sizes = {
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": 1,
        "feed_forward_length": WIDTH,
        "attention.head_count": 1,
        "pooling_type": pooling,
    }
    values = {f"bert.{key}": (U32, value) for key, value in sizes.items()}
    values |= {"general.architecture": (STRING, "bert")}
    values |= {"bert.attention.layer_norm_epsilon": (F32, EPSILON)}
    values |= {"bert.attention.causal": (BOOL, False)}
    for name, kind, value in (
        ("model", STRING, "gpt2"),
        ("pre", STRING, "qwen2"),
        ("tokens", ARRAY, (STRING, header["tokenizer.ggml.tokens"])),
        ("token_type", ARRAY, (INT, header["tokenizer.ggml.token_type"])),
        ("merges", ARRAY, (STRING, header["tokenizer.ggml.merges"])),
        ("token_type_count", U32, 1),
        ("bos_token_id", U32, BEGIN),
        ("eos_token_id", U32, END),
        ("seperator_token_id", U32, BETWEEN),  # spelled so
        *((f"add_{one}_token", BOOL, True) for one in ("bos", "eos", "sep")),
    ):
        values[f"tokenizer.ggml.{name}"] = kind, value
    if template:
        values["tokenizer.chat_template.rerank"] = STRING, template
    weights = random_weights() | layer()
    tensors = {name: value.astype(np.float32) for name, value in weights.items()}
    return write_gguf(path, values, tensors)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    path = write_reranker(tmp_path_factory.mktemp("models") / "reranker.gguf")
    reranker = LlamaReranker(path, SETTINGS)
    yield reranker
    reranker.close()


def normed(rows):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)


def expected(ids):
    """The same model, by hand."""
    weights = random_weights()
    rows = normed(
        weights["token_embd.weight"][ids] + weights["position_embd.weight"][: len(ids)]
    )
    first = normed(normed(rows[0] + rows.mean(0)))
    hidden = np.tanh(weights["cls.weight"] @ first + weights["cls.bias"])
    return (weights["cls.output.weight"] @ hidden + weights["cls.output.bias"])[0]


def test_scores_are_those_of_the_model(reranker):
    """Computed here once more; one text does not change what the next is given."""
    asked = "Thank Ana for the photos"
    ids = [reranker.token_ids(asked, text) for text in TEXTS]
    found = reranker.scores(asked, TEXTS)
    np.testing.assert_allclose(found, [expected(one) for one in ids], atol=1e-3)
    assert np.ptp(found) > 0.01
    assert reranker.scores(asked, TEXTS[::-1]) == found[::-1]


def test_query_and_text_stand_apart(reranker):
    """[bos] query [eos] [sep] text [eos], as in llama.cpp's server."""
    tokenize = reranker._model.vocabulary.tokenize
    middle = [*tokenize("photos"), END, BETWEEN, *tokenize("The pier.")]
    assert reranker.token_ids("photos", "The pier.") == [BEGIN, *middle, END]


@pytest.mark.parametrize(("query", "text"), [("a", "tea " * 500), ("tea " * 500, "a")])
def test_what_is_too_long_is_cut(reranker, query, text):
    """To what the model can hold; it is judged all the same."""
    ids = reranker.token_ids(query, text)
    assert len(ids) <= CONTEXT
    assert ids[-1] == END
    assert np.isfinite(reranker.scores(query, [text])).all()


def test_the_template_of_the_file_counts(tmp_path):
    """Its own words may be control tokens; those of a query never are."""
    template = "<|im_start|>{query}\n{document}<|im_end|>"
    path = write_reranker(tmp_path / "templated.gguf", template)
    reranker = LlamaReranker(path, SETTINGS)
    tokenize = reranker._model.vocabulary.tokenize
    control = tokenize("<|im_start|>", True)
    ids = reranker.token_ids("<|im_start|>x", "y")
    asked = [*tokenize("<|im_start|>x"), *tokenize("\n", True), *tokenize("y")]
    assert ids == [*control, *asked, *tokenize("<|im_end|>", True)]
    assert ids.count(control[0]) == 1
    reranker.close()


def test_what_is_no_reranker_is_refused(tmp_path):
    """Before llama.cpp sees it: a model that writes, and one that gives a vector."""
    mean = write_reranker(tmp_path / "mean.gguf", pooling=1)
    for path in (locate("specialist"), mean):
        with pytest.raises(ModelError, match="is no reranker"):
            LlamaReranker(path, SETTINGS)
