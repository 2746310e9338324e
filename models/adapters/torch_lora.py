"""A LoRA on a network of torch that others read without it, also from peft's folders.

The network's weights stay as they are: what the LoRA adds is computed beside each of
its matrices while `active`, in that thread alone. So the specialist and the base share
one copy of the weights, and may read at the same time."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from decoding_core.errors import ModelError
from decoding_core.foreign_text import one_line
from models.adapters.lora import (
    ARCHITECTURES,
    Heads,
    Lora,
    check_architecture,
    for_network,
    misfit,
    read_file,
)
from models.running.settings import PersonalAdapter

CONFIG = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_PEFT_A, _PEFT_B = ".lora_A.weight", ".lora_B.weight"
_LARGEST_CONFIG = 1 << 20  # bytes of the configuration; usual ones take a thousand
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
"""The values of a plain LoRA, if it names them: it changes matrices and nothing else,
all with one rank and one strength."""


def read_peft(folder: Path) -> Lora:
    """The LoRA in a folder of peft's; raises ModelError if it is damaged, or more than
    a plain LoRA."""
    from safetensors.torch import load_file

    try:
        with (folder / CONFIG).open("rb") as file:
            config = json.loads(file.read(_LARGEST_CONFIG))
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
        if not name.startswith(_PREFIX) or not name.endswith((_PEFT_A, _PEFT_B)):
            raise ModelError(
                f"{folder} is no plain LoRA: it holds '{one_line(name)[:80]}'"
            )
        if name.endswith(_PEFT_A):
            b = tensors.get(name.removesuffix(_PEFT_A) + _PEFT_B)
            if b is None or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
                raise ModelError(
                    f"{folder} is damaged: '{one_line(name)[:80]}' lacks a matrix that "
                    "fits it"
                )
            if not (a.isfinite().all() and b.isfinite().all()):
                raise ModelError(f"{folder} is damaged: it holds what is no number")
            module = name.removeprefix(_PREFIX).removesuffix(_PEFT_A)
            matrices[module] = a.float().numpy(), b.float().numpy()
    if not matrices:
        raise ModelError(f"{folder} changes nothing: it holds no matrix")
    return Lora(alpha, rank, matrices)


class TorchLora:
    """A LoRA beside the matrices of a network."""

    def __init__(self, network: Any, adapter: PersonalAdapter, name: str) -> None:
        """Put an adapter beside the matrices of the network of that name; raises
        ModelError if it is missing, damaged or made for another model."""
        lora = _read(network, adapter, name)
        self._now = threading.local()
        self._hooks = []
        modules = dict(network.named_modules())
        strength = lora.strength * adapter.scale
        for module_name, pair in lora.matrices.items():
            module: Any = modules.get(module_name)
            weight = getattr(module, "weight", None)
            a, b = map(torch.from_numpy, pair)
            if weight is None or tuple(weight.shape) != (b.shape[0], a.shape[1]):
                self.take_off()
                raise misfit(adapter.path, module_name, name)
            a, b = (one.to(weight.device, weight.dtype) for one in (a, b * strength))
            self._hooks.append(module.register_forward_hook(self._beside(a, b)))

    @contextmanager
    def active(self) -> Iterator[None]:
        """What this thread computes meanwhile is computed with the LoRA."""
        self._now.active = True
        try:
            yield
        finally:
            self._now.active = False

    def take_off(self) -> None:
        """Leave the network as it was."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _beside(self, a: Any, b: Any) -> Any:
        """A hook that adds what A (rank, in) and B (out, rank) make of the input."""

        def added(_module: Any, given: tuple[Any, ...], result: Any) -> Any:
            if not getattr(self._now, "active", False):
                return result
            return result + (given[0] @ a.T) @ b.T

        return added


def _read(network: Any, adapter: PersonalAdapter, name: str) -> Lora:
    """The LoRA of a file or folder, in the order of rows of torch's matrices."""
    if adapter.path.is_dir() and (adapter.path / CONFIG).is_file():
        return read_peft(adapter.path)
    config, file = network.config.get_text_config(), read_file(adapter.file)
    theirs = ARCHITECTURES.get(config.model_type, str(config.model_type))
    check_architecture(file, theirs, name)
    heads = Heads(config.num_attention_heads, config.num_key_value_heads)
    return for_network(file, heads)
