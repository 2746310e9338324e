"""LoRAs in GGUF files, as llama.cpp's own tools write them, or not quite."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edge_app.adapters import kept
from edge_app.adapters.kept import AdapterRecord, Score
from models.adapters.lora import module_name
from models.files import locate
from models.gguf_header import read_layout

KEY = "00" * 16
STRING, FLOAT, INT = 8, 6, 4
ALPHA = "adapter.lora.alpha"


@dataclass
class LoraFile:
    """What a file holds; tests change it before it is written."""

    values: dict = field(
        default_factory=lambda: {
            "general.type": (STRING, "adapter"),
            "general.architecture": (STRING, "llama"),
            "adapter.type": (STRING, "lora"),
            ALPHA: (FLOAT, 8.0),
        }
    )
    tensors: dict = field(default_factory=dict)
    """Arrays of float32 or float16, rows first."""

    def add(self, weight, a, b):
        self.tensors[f"{weight}.lora_a"] = a
        self.tensors[f"{weight}.lora_b"] = b

    def write(self, path: Path) -> Path:
        parts = [b"GGUF", struct.pack("<IQQ", 3, len(self.tensors), len(self.values))]
        for key, (kind, value) in self.values.items():
            packed = _string(value) if kind == STRING else _number(kind, value)
            parts += [_string(key), struct.pack("<I", kind), packed]
        offset, bodies = 0, []
        for name, array in self.tensors.items():
            shape = array.shape[::-1]
            kind = {"float32": 0, "float16": 1, "int8": 24}[str(array.dtype)]
            parts += [_string(name), struct.pack("<I", len(shape))]
            parts += [struct.pack(f"<{len(shape)}QIQ", *shape, kind, offset)]
            body = array.tobytes()
            bodies.append(body + bytes(-len(body) % 32))
            offset += len(bodies[-1])
        head = b"".join(parts)
        path.write_bytes(head + bytes(-len(head) % 32) + b"".join(bodies))
        return path


def random_lora(rank=4, size=0.05, model=None, seed=0):
    """A LoRA beside every matrix of the embedded specialist, or of another model."""
    rng, made = np.random.default_rng(seed), LoraFile()
    for weight, tensor in read_layout(model or locate("specialist")).tensors.items():
        if module_name(weight) is not None:
            columns, rows = tensor.shape
            a = size * rng.normal(size=(rank, columns))
            b = size * rng.normal(size=(rows, rank))
            made.add(weight, a.astype(np.float32), b.astype(np.float32))
    return made


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _number(kind, value):
    return struct.pack({INT: "<I", FLOAT: "<f"}[kind], value)


def about(texts, **others):
    """What is kept of an adapter that was trained on these texts, by number."""
    hashes = {number: kept.text_hash(KEY, text) for number, text in texts.items()}
    said = {
        "created": "2026-11-22T16:00:00+00:00",
        "specialist": "specialist.gguf",
        "store": "store.db",
        "reads": "both",
        "recipe": {"rank": 8, "passes": 5},
        "key": KEY,
        "texts": hashes,
        "held_out": 6,
        "scores": {"passages": Score(2.0, 1.8, -0.13, -0.07)},
        "finished": True,
    }
    return AdapterRecord(**(said | others))
