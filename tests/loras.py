"""LoRAs in GGUF files, as llama.cpp's own tools write them, or not quite."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edge_app.adapters import kept
from edge_app.adapters.kept import AdapterRecord, Score
from models.adapters.lora import module_name
from models.files import locate
from models.gguf_header import read_layout
from tests.gguf_files import F32, STRING, write_gguf

KEY = "00" * 16
ALPHA = "adapter.lora.alpha"


@dataclass
class LoraFile:
    """What a file holds; tests change it before it is written."""

    values: dict = field(
        default_factory=lambda: {
            "general.type": (STRING, "adapter"),
            "general.architecture": (STRING, "llama"),
            "adapter.type": (STRING, "lora"),
            ALPHA: (F32, 8.0),
        }
    )
    tensors: dict = field(default_factory=dict)
    """Arrays of float32 or float16, rows first."""

    def add(self, weight, a, b):
        self.tensors[f"{weight}.lora_a"] = a
        self.tensors[f"{weight}.lora_b"] = b

    def write(self, path: Path) -> Path:
        return write_gguf(path, self.values, self.tensors)


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
