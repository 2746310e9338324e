"""GGUF files written by hand, as makers write them or not quite."""

import struct

import numpy as np

U8, U32, INT, F32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9
_FORMATS = {U32: "<I", INT: "<i", F32: "<f", BOOL: "<?"}


def number(value, width=8):
    return value.to_bytes(width, "little")


def text(value):
    data = value.encode("utf-8", "surrogateescape")
    return number(len(data)) + data


def entry(key, kind, value):
    return text(key) + number(kind, 4) + value


def listed(kind, count, values):
    return number(kind, 4) + number(count) + values


def packed(kind, value):
    """The bytes of a value; that of an array is a kind and a list."""
    if kind == ARRAY:
        item, values = value
        return listed(item, len(values), b"".join(packed(item, one) for one in values))
    return text(value) if kind == STRING else struct.pack(_FORMATS[kind], value)


def gguf(*entries, count=None, tensors=0):
    """The bytes of a header."""
    count = len(entries) if count is None else count
    start = b"GGUF" + number(3, 4) + number(tensors) + number(count)
    return start + b"".join(entries)


def tensor_line(name, shape, kind, offset):
    sizes = number(len(shape), 4) + b"".join(map(number, shape))
    return text(name) + sizes + number(kind, 4) + number(offset)


def write_gguf(path, values, tensors):
    """A file of kinds and values by key, and of arrays by name."""
    entries = [entry(key, one[0], packed(*one)) for key, one in values.items()]
    lines, bodies, offset = [], [], 0
    for name, array in tensors.items():
        kind = {"float32": 0, "float16": 1, "int8": 24}[str(array.dtype)]
        lines.append(tensor_line(name, array.shape[::-1], kind, offset))
        body = array.tobytes()
        bodies.append(body + bytes(-len(body) % 32))
        offset += len(bodies[-1])
    head = gguf(*entries, tensors=len(tensors)) + b"".join(lines)
    path.write_bytes(head + bytes(-len(head) % 32) + b"".join(bodies))
    return path


def tiny_qwen3(path, size, padding):
    """A model of random weights, the last tokens of its vocabulary mere padding."""
    width, real, rng = 64, size - padding, np.random.default_rng(0)
    tokens = [f"<{i}>" for i in range(real)]
    tokens += [f"[PAD{i}]" for i in range(real, size)]
    sizes = {
        "context_length": 4096,
        "embedding_length": width,
        "block_count": 1,
        "feed_forward_length": width,
        "attention.head_count": 2,
        "attention.head_count_kv": 1,
    }
    values = {f"qwen3.{key}": (U32, value) for key, value in sizes.items()} | {
        "general.architecture": (STRING, "qwen3"),
        "qwen3.attention.layer_norm_rms_epsilon": (F32, 1e-6),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "qwen2"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (INT, [1] * real + [5] * padding)),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b"])),
        "tokenizer.ggml.eos_token_id": (U32, 0),
    }
    rows = {"attn_q": 64, "attn_k": 32, "attn_v": 32, "attn_output": 64}
    rows |= {"ffn_gate": 64, "ffn_up": 64, "ffn_down": 64}
    shapes = {f"blk.0.{name}": (count, width) for name, count in rows.items()}
    shapes |= {"token_embd": (size, width), "output_norm": (width,)}
    shapes |= {f"blk.0.{name}_norm": (width,) for name in ("attn", "ffn")}
    shapes |= {f"blk.0.attn_{name}_norm": (32,) for name in "qk"}
    tensors = {
        f"{name}.weight": rng.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    return write_gguf(path, values, tensors)
