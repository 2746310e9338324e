"""Trained weights to a GGUF file that llama.cpp reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from training.config import Recipe, Shape
from training.data import tokenizer
from training.export.quantise import quantise
from training.network import NORM_EPSILON, ROPE_BASE
from training.start.parent import gguf_name


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
    for tensor_name, values in tensors(weights):
        writer.add_tensor(tensor_name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors(weights: dict[str, Tensor]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The weights under llama.cpp's names; the output embedding is the input's."""
    for name, tensor in weights.items():
        yield gguf_name(name), tensor.detach().float().cpu().numpy()
