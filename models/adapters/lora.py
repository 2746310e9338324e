"""Low-rank changes of a model's weights: W + scale * alpha / rank * B A.

`Lora` holds the matrices in Hugging Face's order of rows. llama.cpp's files of the
architecture `llama` hold the rows of the query and key matrices in another order, as
its rotation pairs neighbours instead of halves. A GGUF file that llama.cpp would end
the process on, or read otherwise than its writer meant, is refused here first."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from base.owner_only import create
from decoding_core.errors import InvalidSettingsError, ModelError, ModelNotFoundError
from decoding_core.foreign_text import one_line
from models.gguf_header import FLOAT, STRING, GGUFLayout, read_layout

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A text to be learnt."""

    prompts: tuple[Ids, ...]  # what may stand before it; one for each pass, in turn
    text: Ids


@dataclass(frozen=True, slots=True)
class AdapterRecipe:
    """How an adapter is trained."""

    rank: int = 8
    alpha: float = 16.0  # the change counts alpha / rank
    passes: int = 5  # how often each text is read
    batch: int = 4  # texts a step
    rate: float = 1e-3  # of AdamW; it rises for a few steps and falls to zero
    seed: int = 0  # of the beginning, and of the order of the texts
    precision: str = "float32"
    """Of the model's weights while they are read: `float32` or `bfloat16`."""

    def __post_init__(self) -> None:
        for name, highest in (("rank", 512), ("passes", 1000), ("batch", 1024)):
            value = getattr(self, name)
            if not 1 <= value <= highest:
                raise InvalidSettingsError(
                    f"{name} must lie between 1 and {highest}, not {value}"
                )
        for name, number in (("alpha", self.alpha), ("rate", self.rate)):
            if not (math.isfinite(number) and number > 0):
                raise InvalidSettingsError(f"{name} must be above 0, not {number}")


Matrix = NDArray[np.float32]

_PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""The matrices of a layer: llama.cpp's names, and Hugging Face's."""
TARGETS = tuple(name.partition(".")[2] for name in _PARTS.values())
"""What training puts an adapter on."""
_GGUF = re.compile(rf"blk\.([0-9]{{1,4}})\.({'|'.join(_PARTS)})\.weight")
_HUGGING_FACE = re.compile(
    rf"model\.layers\.([0-9]{{1,4}})\.({'|'.join(map(re.escape, _PARTS.values()))})"
)
_OURS = {theirs: ours for ours, theirs in _PARTS.items()}
ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
}
"""llama.cpp's name for each `model_type` of Hugging Face whose layers hold these
matrices by these names."""


@dataclass(frozen=True, slots=True)
class Heads:
    """How many heads of attention a layer has."""

    query: int
    key: int


@dataclass(frozen=True, slots=True, eq=False)
class Lora:
    """The matrices of a LoRA, by Hugging Face's names of those they change."""

    alpha: float
    rank: int
    matrices: Mapping[str, tuple[Matrix, Matrix]]  # A (rank, in) and B (out, rank)

    @property
    def strength(self) -> float:
        """What B A counts, before the person's own scale."""
        return self.alpha / self.rank


def gguf_name(module: str) -> str | None:
    """llama.cpp's name for the weight of a module such as
    `model.layers.0.self_attn.q_proj`; None if it is no matrix of a layer."""
    match = _HUGGING_FACE.fullmatch(module)
    return match and f"blk.{int(match[1])}.{_OURS[match[2]]}.weight"


def module_name(weight: str) -> str | None:
    """The module of a weight by llama.cpp's name such as `blk.0.attn_q.weight`; None if
    it is no matrix of a layer."""
    match = _GGUF.fullmatch(weight)
    return match and f"model.layers.{int(match[1])}.{_PARTS[match[2]]}"


def permuted(
    weight: str, b: Matrix, architecture: str, heads: Heads, *, back: bool = False
) -> Matrix:
    """B (out, rank) of a weight by llama.cpp's name, its rows in llama.cpp's order, or
    `back` from there in Hugging Face's.

    Source: `permute` in llama.cpp's convert_hf_to_gguf.py.
    """
    of_key = weight.endswith(".attn_k.weight")
    if architecture != "llama" or not (of_key or weight.endswith(".attn_q.weight")):
        return b
    count = heads.key if of_key else heads.query
    if len(b) % (2 * count):
        raise ModelError(f"'{weight}' of a LoRA does not fit the heads of this model")
    half = len(b) // count // 2
    parts = b.reshape(count, half, 2, -1) if back else b.reshape(count, 2, half, -1)
    return np.ascontiguousarray(parts.swapaxes(1, 2).reshape(b.shape))


_NUMBERS: dict[int, np.dtype[Any]] = {
    0: np.dtype("<f4"),
    1: np.dtype("<f2"),
    30: np.dtype("<u2"),
}
"""ggml's float32, float16 and bfloat16; the last as its bits."""
_BFLOAT16 = 30
_A, _B = ".lora_a", ".lora_b"
_SCALED_BY = "adapter.lora.alpha"
_STRINGS = ("general.type", "general.architecture", "adapter.type")
_LARGEST = 1 << 30
"""Bytes of all tensors; the largest models' adapters take less than half of it."""


@dataclass(frozen=True, slots=True, eq=False)
class LoraFile:
    """A LoRA in a GGUF file, in llama.cpp's order of rows."""

    path: Path
    architecture: str
    alpha: float  # 0 if the file leaves the strength to the scale alone
    matrices: Mapping[str, tuple[Matrix, Matrix]]
    """A (rank, in) and B (out, rank), by the weight they change."""


def read_file(path: Path) -> LoraFile:
    """Read and check the LoRA at `path`; raises ModelNotFoundError if there is no such
    file, ModelError if it is damaged, or no plain LoRA."""
    if not path.is_file():
        raise ModelNotFoundError(
            f"there is no adapter at {path}; 'specsteer lab adapter list' shows yours"
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{path} is not a GGUF file")
    layout = read_layout(path)
    values = layout.values
    for name in _STRINGS:
        if layout.kinds.get(name, STRING) != STRING:
            raise ModelError(f"{path} is damaged: its '{name}' is no text")
    if values.get("general.type") != "adapter" or values.get("adapter.type") != "lora":
        raise ModelError(
            f"{path} is no LoRA; 'specsteer lab adapter train' makes one, and "
            "llama.cpp's convert_lora_to_gguf.py turns one of Hugging Face's into a "
            "GGUF file"
        )
    if "adapter.alora.invocation_tokens" in values:
        raise ModelError(f"{path} is a LoRA that begins in mid-text: not known here")
    alpha = values.get(_SCALED_BY, 0.0)
    if layout.kinds.get(_SCALED_BY, FLOAT) != FLOAT or not math.isfinite(alpha):
        raise ModelError(f"{path} is damaged: its '{_SCALED_BY}' is no number")
    architecture = str(values.get("general.architecture", ""))
    return LoraFile(path, architecture, float(alpha), _matrices(path, layout))


def check_architecture(lora: LoraFile, theirs: str, name: str) -> None:
    """Raise ModelError if a LoRA was made for another architecture than the model of
    that name has."""
    if lora.architecture != theirs:
        raise ModelError(
            f"{lora.path} was made for a model of the architecture "
            f"'{one_line(lora.architecture)[:40]}', and {name} is of "
            f"'{one_line(theirs)[:40]}': train one for this model; --lora off writes "
            "without"
        )


def misfit(path: Path, weight: str, name: str) -> ModelError:
    """The error for a LoRA that changes a weight which the model of that name lacks."""
    return ModelError(
        f"{path} was made for another model than {name}: its '{one_line(weight)[:80]}' "
        "fits no weight there; train one for this model; --lora off writes without"
    )


def check_fits(lora: LoraFile, model: GGUFLayout, name: str) -> None:
    """Raise ModelError unless a LoRA changes matrices that the model of that name has.

    llama.cpp would load some that do not fit, and end the process when it computes.
    """
    check_architecture(lora, str(model.values.get("general.architecture", "")), name)
    for weight, (a, b) in lora.matrices.items():
        matrix = model.tensors.get(weight)
        if matrix is None or matrix.shape != (a.shape[1], b.shape[0]):
            raise misfit(lora.path, weight, name)


def for_network(file: LoraFile, heads: Heads) -> Lora:
    """The LoRA of a file for a network of Hugging Face's with these heads; raises
    ModelError if it changes other weights than those of layers."""
    path, matrices = file.path, dict[str, tuple[Matrix, Matrix]]()
    ranks = {len(a) for a, _ in file.matrices.values()}
    if len(ranks) > 1:
        raise ModelError(f"{path} has matrices of several ranks: not known here")
    for weight, (a, b) in file.matrices.items():
        module = module_name(weight)
        if module is None:
            raise ModelError(f"{path} changes '{one_line(weight)}': not known here")
        matrices[module] = a, permuted(weight, b, file.architecture, heads, back=True)
    return Lora(file.alpha or float(min(ranks)), min(ranks), matrices)


def write_lora(
    path: Path, lora: Lora, architecture: str, heads: Heads, name: str
) -> None:
    """Write a private GGUF file that llama.cpp reads, whole or not at all; the LoRA
    changes matrices of layers alone."""
    import gguf  # with the extra that trains

    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    create(part).close()  # private, and gguf leaves that as it is
    writer = gguf.GGUFWriter(part, architecture)
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32(_SCALED_BY, lora.alpha)
    for module, (a, b) in sorted(lora.matrices.items()):
        weight = gguf_name(module)
        assert weight is not None, module
        rows = permuted(weight, b, architecture, heads)
        writer.add_tensor(weight + _A, np.ascontiguousarray(a, np.float32))
        writer.add_tensor(weight + _B, np.ascontiguousarray(rows, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)


def _matrices(path: Path, layout: GGUFLayout) -> dict[str, tuple[Matrix, Matrix]]:
    """A and B of each weight; raises ModelError unless all tensors are such pairs of
    matrices that fit together, within the file."""
    found: dict[str, dict[str, Matrix]] = {}
    held = 0
    with path.open("rb") as source:
        for name, tensor in layout.tensors.items():
            shown, weight, kind = one_line(name), name[: -len(_A)], name[-len(_A) :]
            if kind not in (_A, _B) or not weight.endswith(".weight"):
                raise ModelError(
                    f"{path} is no plain LoRA: it holds '{shown}' besides pairs of "
                    "matrices"
                )
            number, shape = _NUMBERS.get(tensor.kind), tensor.shape[::-1]
            if number is None or len(shape) != 2 or min(shape) < 1:
                raise ModelError(
                    f"{path}: '{shown}' is no matrix of float32, float16 or bfloat16"
                )
            size = math.prod(shape) * number.itemsize
            held += size
            if tensor.offset + size > layout.size or held > _LARGEST:
                raise ModelError(f"{path} is damaged: it ends before '{shown}' does")
            source.seek(tensor.offset)
            data = np.frombuffer(source.read(size), number)
            if tensor.kind == _BFLOAT16:
                data = (data.astype(np.uint32) << 16).view(np.float32)
            matrix = data.astype(np.float32).reshape(shape)
            if not np.isfinite(matrix).all():
                raise ModelError(f"{path} is damaged: it holds what is no number")
            found.setdefault(weight, {})[kind] = matrix
    if not found:
        raise ModelError(f"{path} changes nothing: it holds no matrix")
    for weight, pair in found.items():
        fits = len(pair) == 2 and len(pair[_A]) == pair[_B].shape[1]
        if not fits or weight == "token_embd.weight":
            raise ModelError(
                f"{path} is no plain LoRA: '{one_line(weight)}' lacks two matrices "
                "that fit together"
            )
    return {weight: (pair[_A], pair[_B]) for weight, pair in found.items()}
