"""LoRAs in folders, as peft writes them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from decoding_core.errors import ModelError
from decoding_core.foreign_text import one_line
from models.adapters.lora import Lora

CONFIG = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_A, _B = ".lora_A.weight", ".lora_B.weight"
_LARGEST = 1 << 20
"""Bytes of the configuration; usual ones take a thousand."""
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": (None, "none"),
    "use_dora": (None, False),
    "fan_in_fan_out": (None, False),
    "modules_to_save": (None, []),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
    "layer_replication": (None, []),
    "trainable_token_indices": (None, [], {}),
}
"""What a plain LoRA says, where it says anything: it changes matrices and nothing else,
all with one rank and one strength."""


def read_peft(folder: Path) -> Lora:
    """The LoRA in a folder of peft's. The extra that brings torch must be there.

    Raises:
        ModelError: it is damaged, or more than a plain LoRA.
    """
    from safetensors.torch import load_file

    try:
        with (folder / CONFIG).open("rb") as file:
            config = json.loads(file.read(_LARGEST))
        for key, usual in _PLAIN.items():
            if config.get(key) not in usual:
                raise ModelError(
                    f"{folder} is no plain LoRA: its {CONFIG} sets '{key}', which is "
                    "not known here"
                )
        rank, alpha = int(config["r"]), float(config["lora_alpha"])
        if rank < 1 or not math.isfinite(alpha):
            raise ValueError("a rank or an alpha that cannot be")
        if config.get("use_rslora"):
            alpha *= math.sqrt(rank)
        tensors = load_file(folder / _WEIGHTS)
    except ModelError:
        raise
    except Exception as error:  # a foreign file can make it raise anything
        raise ModelError(
            f"{folder} holds no LoRA that can be read ({CONFIG}, {_WEIGHTS}): "
            f"{one_line(str(error))[:200]}"
        ) from error
    matrices = {}
    for name, a in tensors.items():
        if not name.startswith(_PREFIX) or not name.endswith((_A, _B)):
            raise ModelError(
                f"{folder} is no plain LoRA: it holds '{one_line(name)[:80]}'"
            )
        if name.endswith(_A):
            b = tensors.get(name.removesuffix(_A) + _B)
            if b is None or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
                raise ModelError(
                    f"{folder} is damaged: '{one_line(name)[:80]}' lacks a matrix that "
                    "fits it"
                )
            if not (a.isfinite().all() and b.isfinite().all()):
                raise ModelError(f"{folder} is damaged: it holds what is no number")
            module = name.removeprefix(_PREFIX).removesuffix(_A)
            matrices[module] = a.float().numpy(), b.float().numpy()
    if not matrices:
        raise ModelError(f"{folder} changes nothing: it holds no matrix")
    return Lora(alpha, rank, matrices)
