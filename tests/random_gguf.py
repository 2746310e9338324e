"""GGUF files of random weights in the shapes of published models.

What a kernel takes depends on the shape and the kind of the weights, and not on their
values. So files of random 4-bit weights (Q4_0) take the time of the real ones, and
nobody need have these. They write noise.

Source of the format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

_F32, _Q4_0 = 0, 2
_BLOCK, _BLOCK_BYTES = 32, 18
"""Weights of a block of Q4_0, and its bytes: a float16 scale and a nibble for each."""
_SCALE = np.float16(0.002)
_ALIGNMENT = 32
_PIECE = 1 << 16
"""Blocks that are made at a time."""
_NORMAL, _UNUSED = 1, 5
"""Kinds of tokens."""
_UINT, _INT, _FLOAT, _STRING, _ARRAY = 4, 5, 6, 8, 9


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder with grouped heads and a gated feed-forward, as Llama and Qwen have."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    key: int
    """Width of one head's keys."""
    value: int
    feed_forward: int
    vocabulary: int


@dataclass(frozen=True, slots=True)
class RandomModel:
    """What is written."""

    name: str
    shape: Shape
    tied: bool
    """Whether the embeddings are the output's weights too."""
    padding: int = 0
    """How many tokens at the end only fill the vocabulary up."""

    @property
    def file_name(self) -> str:
        """Of the file in the cache."""
        return f"random-{self.name.lower()}-q4_0.gguf"

    def tensors(self) -> Iterator[tuple[str, int, int, int]]:
        """Name, rows, columns and kind of each tensor; a vector has one row."""
        s = self.shape
        yield "token_embd.weight", s.vocabulary, s.width, _Q4_0
        yield "output_norm.weight", 1, s.width, _F32
        if not self.tied:
            yield "output.weight", s.vocabulary, s.width, _Q4_0
        for layer in range(s.layers):
            at = f"blk.{layer}."
            yield f"{at}attn_norm.weight", 1, s.width, _F32
            yield f"{at}ffn_norm.weight", 1, s.width, _F32
            yield f"{at}attn_q_norm.weight", 1, s.key, _F32
            yield f"{at}attn_k_norm.weight", 1, s.key, _F32
            yield f"{at}attn_q.weight", s.heads * s.key, s.width, _Q4_0
            yield f"{at}attn_k.weight", s.kv_heads * s.key, s.width, _Q4_0
            yield f"{at}attn_v.weight", s.kv_heads * s.value, s.width, _Q4_0
            yield f"{at}attn_output.weight", s.width, s.heads * s.value, _Q4_0
            yield f"{at}ffn_gate.weight", s.feed_forward, s.width, _Q4_0
            yield f"{at}ffn_up.weight", s.feed_forward, s.width, _Q4_0
            yield f"{at}ffn_down.weight", s.width, s.feed_forward, _Q4_0

    def header(self) -> dict[str, tuple[int, Any]]:
        """Type and value of each entry of the header."""
        s = self.shape
        real = s.vocabulary - self.padding
        tokens = [f"<{i}>" for i in range(real)]
        tokens += [f"[PAD{i}]" for i in range(real, s.vocabulary)]
        kinds = [_NORMAL] * real + [_UNUSED] * self.padding
        return {
            "general.architecture": (_STRING, "qwen3"),
            "general.name": (_STRING, f"random {self.name}"),
            "general.file_type": (_UINT, 2),
            "qwen3.context_length": (_UINT, 4096),
            "qwen3.embedding_length": (_UINT, s.width),
            "qwen3.block_count": (_UINT, s.layers),
            "qwen3.feed_forward_length": (_UINT, s.feed_forward),
            "qwen3.attention.head_count": (_UINT, s.heads),
            "qwen3.attention.head_count_kv": (_UINT, s.kv_heads),
            "qwen3.attention.key_length": (_UINT, s.key),
            "qwen3.attention.value_length": (_UINT, s.value),
            "qwen3.attention.layer_norm_rms_epsilon": (_FLOAT, 1e-6),
            "qwen3.rope.freq_base": (_FLOAT, 1e6),
            "tokenizer.ggml.model": (_STRING, "gpt2"),
            "tokenizer.ggml.pre": (_STRING, "qwen2"),
            "tokenizer.ggml.tokens": (_ARRAY, (_STRING, tokens)),
            "tokenizer.ggml.token_type": (_ARRAY, (_INT, kinds)),
            "tokenizer.ggml.merges": (_ARRAY, (_STRING, ["a b"])),
            "tokenizer.ggml.bos_token_id": (_UINT, 0),
            "tokenizer.ggml.eos_token_id": (_UINT, 0),
        }


def random_model_file(model, folder):
    """The model's file, written into a folder."""
    path = folder / model.file_name
    sizes = [_size(rows, columns, kind) for _, rows, columns, kind in model.tensors()]
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(_head(model))
        for (_, rows, columns, kind), size in zip(model.tensors(), sizes, strict=True):
            if kind == _F32:
                file.write(np.ones(columns, "<f4").tobytes())
            else:
                _write_blocks(file, rows * columns // _BLOCK, random)
            file.write(bytes(_padded(size) - size))
    return path


def _write_blocks(file: BinaryIO, count: int, random: np.random.Generator) -> None:
    scale = np.frombuffer(_SCALE.astype("<f2").tobytes(), np.uint8)
    for start in range(0, count, _PIECE):
        size = min(_PIECE, count - start), _BLOCK_BYTES
        blocks = np.frombuffer(random.bytes(size[0] * size[1]), np.uint8).reshape(size)
        blocks = blocks.copy()
        blocks[:, :2] = scale
        file.write(blocks.tobytes())


def _head(model: RandomModel) -> bytes:
    """Everything before the first tensor's weights."""
    tensors, header = list(model.tensors()), model.header()
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(header))]
    for key, (kind, value) in header.items():
        parts += [_string(key), struct.pack("<I", kind), _value(kind, value)]
    offset = 0
    for name, rows, columns, kind in tensors:
        shape = (columns,) if rows == 1 else (columns, rows)
        parts += [_string(name), struct.pack("<I", len(shape))]
        parts += [struct.pack(f"<{len(shape)}Q", *shape)]
        parts += [struct.pack("<IQ", kind, offset)]
        offset += _padded(_size(rows, columns, kind))
    head = b"".join(parts)
    return head + bytes(_padded(len(head)) - len(head))


def _value(kind: int, value: Any) -> bytes:
    if kind == _ARRAY:
        item, values = value
        body = b"".join(_value(item, one) for one in values)
        return struct.pack("<IQ", item, len(values)) + body
    if kind == _STRING:
        return _string(value)
    return struct.pack({_UINT: "<I", _INT: "<i", _FLOAT: "<f"}[kind], value)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _size(rows: int, columns: int, kind: int) -> int:
    weights = rows * columns
    return 4 * weights if kind == _F32 else weights // _BLOCK * _BLOCK_BYTES


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
