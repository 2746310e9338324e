"""Trained weights to a quantised GGUF file."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
from torch import Tensor

from decoding_core.errors import InvalidSettingsError, ModelError
from training import tokenizer
from training.config import Export, Recipe, Shape
from training.learning import kind_of
from training.network import NORM_EPSILON, ROPE_BASE
from training.parent import gguf_name, our_name

_K_SUFFIX = {"Q3_K": "_M", "Q4_K": "_M", "Q5_K": "_M"}
"""llama.cpp names a mixture after its main kind; `pure` leaves only that."""
_THREADS = 2


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silence(_level: int, _text: bytes, _data: Any) -> None:
    """Drop the line that llama.cpp logs for each tensor; failures are raised."""


def quantise(source: Path, target: Path, kinds: Export) -> None:
    """Write `source` with its matrices in these kinds, norms in 32 bits.

    Raises:
        InvalidSettingsError: a kind that does not exist, or not for rows this long.
    """
    settings = llama_cpp.llama_model_quantize_default_params()
    _tensor_type(kinds.matrices)
    kind = kinds.matrices
    name = "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}{_K_SUFFIX.get(kind, '')}"
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_{name}")
    settings.pure = True
    settings.nthread = _THREADS
    pairs = [("^token_embd", kinds.embedding), ("ffn_down", kinds.down)]
    given = [(pattern, kind) for pattern, kind in pairs if kind]
    # The name keeps the array alive; its last entry is empty and ends it.
    overrides = (llama_cpp.llama_model_tensor_override * (len(given) + 1))()
    for place, (pattern, kind) in zip(overrides, given, strict=False):
        place.pattern, place.type = pattern.encode(), _tensor_type(kind)
    settings.tt_overrides = overrides
    llama_cpp.llama_log_set(_silence, ctypes.c_void_p(0))
    failed = llama_cpp.llama_model_quantize(
        str(source).encode(), str(target).encode(), settings
    )
    if failed:
        raise ModelError(f"{source} could not be quantised")
    # llama.cpp silently takes another kind where rows are too short for one.
    for name, kind in kinds_in(target).items():
        wanted = kind_of(our_name(name), kinds)
        if kind != wanted:
            raise InvalidSettingsError(
                f"{name} cannot be {wanted}, llama.cpp made it {kind}: choose another "
                "kind in [export]"
            )


def kinds_in(path: Path) -> dict[str, str]:
    """The kind of each matrix in a file, by the matrix's name."""
    tensors = gguf.GGUFReader(path).tensors
    return {t.name: t.tensor_type.name for t in tensors if len(t.shape) > 1}


def _tensor_type(kind: str) -> int:
    if kind not in gguf.GGMLQuantizationType.__members__:
        raise InvalidSettingsError(f"{kind} is no kind of quantisation")
    return int(gguf.GGMLQuantizationType[kind])


def export(plan: Recipe, weights: dict[str, Tensor], target: Path) -> None:
    """Write the model in the kinds its recipe asks for, in one stroke."""
    full = target.with_suffix(".f32.part")
    part = target.with_suffix(".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_full(plan.name, plan.shape, weights, plan.vocabulary, full)
        quantise(full, part, plan.export)
        part.replace(target)
    finally:
        full.unlink(missing_ok=True)
        part.unlink(missing_ok=True)


def write_full(
    name: str, shape: Shape, weights: dict[str, Tensor], vocabulary: Path, target: Path
) -> None:
    """Write the model with 32-bit weights."""
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_type("model")
    writer.add_name(f"SpecSteer {name}")
    writer.add_license("Apache-2.0")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_size)
    writer.add_value_length(shape.head_size)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    saved: dict[str, Any] = json.loads(vocabulary.read_text("utf-8"))
    ids: dict[str, int] = saved["model"]["vocab"]
    control = {token["content"]: token["id"] for token in saved["added_tokens"]}
    tokens = sorted(ids | control, key=(ids | control).__getitem__)
    kinds = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([int(kinds[token in control]) for token in tokens])
    merges = saved["model"]["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(tokenizer.END_OF_TEXT)
    writer.add_eos_token_id(tokenizer.END)
    writer.add_pad_token_id(tokenizer.PAD)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(tokenizer.CHAT_TEMPLATE.source)
    for weight, tensor in weights.items():  # the output embedding is the input's
        writer.add_tensor(gguf_name(weight), tensor.detach().float().cpu().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
