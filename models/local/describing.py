"""Facts about a model from its header, without loading it, and whether it fits here.

They stand in the metadata of a GGUF file, or in `config.json` and `tokenizer.json` of a
folder. Neither is trusted: what is read is bounded, and names are made fit to be shown.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from decoding_core.errors import ModelError, ModelNotFoundError
from decoding_core.foreign_text import one_line
from models.gguf_header import read_layout, template_source
from models.running.interface import padding_name, token_list_id

_QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1",
    10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M",
    16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S",
    22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
    28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4_MOE",
}  # fmt: skip
"""`general.file_type` of GGUF, as llama.cpp's `llama_ftype` numbers it."""
_UNUSED = 5  # the type of tokens that only fill an embedding up to a round size
_NOT_WRITING = {"clip", "bert", "nomic-bert", "jina-bert-v2", "t5encoder", "whisper"}
"""Architectures that write no text: they see, hear, or turn a text into numbers."""
_WRITING = ("ForCausalLM", "ForConditionalGeneration")
"""How the classes of models that write end, as `config.json` names them."""
_NOT_MODELS = {"mmproj", "adapter", "imatrix", "vocab"}
"""Values of `general.type` besides `model`."""
_NUMBERS_OF_TEXTS = re.compile(r"embed|rerank|mmproj", re.IGNORECASE)
"""Names of models for embeddings, reranking and pictures, often their only sign."""
_FORGETTING = {"full_attention", "sliding_attention"}
"""Layers that can forget the end of what they read, as a refused draft must be."""
_CANNOT_FORGET = (
    "cannot be used: some of its layers cannot forget a part of what they read"
)
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_MOST_PARTS = 1000
_MOST_TOKENS = 1 << 20
_LONGEST_JSON = 64 << 20  # bytes; the tokenizer of 262,144 tokens takes 33 million
_LONGEST_NAME = 80
_HALF, _WHOLE = 2, 4
"""Bytes of a cached number: llama.cpp keeps float16, transformers on a CPU float32."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Facts about a language model."""

    path: Path
    name: str  # whoever made the file wrote it; on one line
    family: str  # the architecture, such as `qwen2`
    size_label: str  # such as `7B`; empty if unknown
    quantisation: str
    file_bytes: int  # of the weights, all parts together
    loaded_bytes: int
    """Memory of the loaded weights: transformers computes in float32 on a CPU."""
    context_length: int  # tokens that the model was trained to read; 0 if unknown
    cache_bytes: int  # memory of the cache for each token; 0 if unknown
    has_template: bool
    vocabulary_size: int
    vocabulary_id: str  # hash of the token list, as the engines compute it

    def memory(self, context_length: int, texts: int = 1) -> int:
        """Bytes for the weights and the caches of N texts."""
        length = min(context_length, self.context_length or context_length)
        return self.loaded_bytes + texts * length * self.cache_bytes


def describe(path: Path) -> ModelDescription:
    """Read the facts about the GGUF file or the folder at `path`; raises
    ModelNotFoundError if nothing is there, ModelError if it is damaged, a part is
    missing, or it is no language model."""
    try:
        if path.is_dir():
            return _describe_folder(path)
        if path.is_file():
            return _describe_gguf(path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    raise ModelNotFoundError(
        f"there is no model at {path}; give a name that 'specsteer models list' shows, "
        "or the path of a GGUF file or of a folder with config.json"
    )


def token_names(path: Path) -> tuple[bytes, ...]:
    """The token list of the model at `path`, padding left out; raises as `describe`."""
    if path.is_dir():
        return _tokens_of_json(_read_json(path / "tokenizer.json"), path)
    return _tokens_of_gguf(read_layout(path).values, path)


def part_names(name: str) -> list[str]:
    """The names of all files of a GGUF model that was split into
    `-00001-of-00003.gguf` and so on, by the name of the first."""
    match = _PART.search(name)
    if match is None:
        return [name]
    stem, end = name[: match.start()], name[match.start(2) :]
    count = min(int(match[2]), _MOST_PARTS)
    return [f"{stem}-{part:05}-of-{end}" for part in range(1, count + 1)]


def is_later_part(path: Path) -> bool:
    """Whether a file is part of a model that begins in another file."""
    match = _PART.search(path.name)
    return match is not None and int(match[1]) != 1


def _describe_gguf(path: Path) -> ModelDescription:
    if is_later_part(path):
        raise ModelError(f"{path} is a later part of a model; give its first part")
    files = [path.with_name(name) for name in part_names(path.name)]
    for part in files:
        if not part.is_file():
            raise ModelError(f"{path} lacks its part {part.name}")
    header = read_layout(path).values
    family = str(header.get("general.architecture", ""))
    name = str(header.get("general.name") or path.stem)
    if (
        family in _NOT_WRITING
        or str(header.get("general.type", "model")) in _NOT_MODELS
        or header.get(f"{family}.pooling_type", 0)
        or header.get(f"{family}.attention.causal", True) is False
        or _NUMBERS_OF_TEXTS.search(name)
        or _NUMBERS_OF_TEXTS.search(path.name)
    ):
        raise ModelError(f"{path} is no language model")
    if any(key.startswith(f"{family}.ssm.") for key in header):
        raise ModelError(f"{path} {_CANNOT_FORGET}")
    names = _tokens_of_gguf(header, path)
    kind = _whole(header.get("general.file_type"), -1)
    size = sum(file.stat().st_size for file in files)
    return ModelDescription(
        path=path,
        name=_shown(name),
        family=_shown(family),
        size_label=_shown(str(header.get("general.size_label", ""))),
        quantisation=_QUANTISATIONS.get(kind, ""),
        file_bytes=size,
        loaded_bytes=size,
        context_length=_whole(header.get(f"{family}.context_length")),
        cache_bytes=_cache_of_gguf(header, family),
        has_template=bool(template_source(header)),
        vocabulary_size=len(names),
        vocabulary_id=token_list_id(names),
    )


def _tokens_of_gguf(header: dict[str, Any], path: Path) -> tuple[bytes, ...]:
    tokens = header.get("tokenizer.ggml.tokens")
    kinds = header.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, list) or not tokens:  # lists hold texts alone
        raise ModelError(f"{path} holds no token list")
    names = [token.encode("utf-8", "surrogateescape") for token in tokens]
    return _unpadded(names, kinds if isinstance(kinds, array) else ())


def _cache_of_gguf(header: dict[str, Any], family: str) -> int:
    """Bytes of keys and values for a token, over all layers."""
    layers = _whole(header.get(f"{family}.block_count"))
    heads = header.get(f"{family}.attention.head_count")
    shared = header.get(f"{family}.attention.head_count_kv", heads)
    most = max(_each(heads, layers), default=0)
    width = _whole(header.get(f"{family}.embedding_length")) // max(1, most)
    key = _whole(header.get(f"{family}.attention.key_length"), width)
    value = _whole(header.get(f"{family}.attention.value_length"), width)
    return _HALF * sum(_each(shared, layers)) * (key + value)


def _each(value: Any, layers: int) -> list[int]:
    """A number of each layer; some families write one for all."""
    if isinstance(value, array):
        return [_whole(one) for one in value]
    return [_whole(value)] * min(layers, 10_000)


def _describe_folder(path: Path) -> ModelDescription:
    config = _read_json(path / "config.json")
    weights = sorted(path.glob("*.safetensors"))
    if not weights:
        raise ModelError(f"{path} holds no weights as safetensors")
    names = map(str, _listed(config.get("architectures")))
    if not any(name.endswith(_WRITING) for name in names):
        raise ModelError(f"{path} is no language model")
    text = config.get("text_config")  # what reads text, in models that also see
    shape = {**config, **text} if isinstance(text, dict) else config
    heads = _whole(shape.get("num_attention_heads"), 1)
    width = _whole(shape.get("hidden_size")) // max(1, heads)
    width = _whole(shape.get("head_dim"), width)
    shared = _whole(shape.get("num_key_value_heads"), heads)
    layers = _whole(shape.get("num_hidden_layers"))
    if not set(map(str, _listed(shape.get("layer_types")))) <= _FORGETTING:
        raise ModelError(f"{path} {_CANNOT_FORGET}")
    tokens = token_names(path)
    of_tokenizer = path / "tokenizer_config.json"
    has_template = (path / "chat_template.jinja").is_file()
    if of_tokenizer.is_file():
        has_template |= bool(_read_json(of_tokenizer).get("chat_template"))
    quantised = shape.get("quantization_config")
    kind = quantised.get("quant_method") if isinstance(quantised, dict) else None
    size = sum(file.stat().st_size for file in weights)
    kind = str(kind or shape.get("dtype") or shape.get("torch_dtype") or "")
    name = path.name
    if path.parent.name == "snapshots":  # a commit in a cache of Hugging Face's
        name = path.parent.parent.name.rpartition("--")[2]
    return ModelDescription(
        path=path,
        name=_shown(name),
        family=_shown(str(config.get("model_type", ""))),
        size_label="",
        quantisation=_shown(kind),
        file_bytes=size,
        loaded_bytes=size * (2 if kind in ("bfloat16", "float16") else 1),
        context_length=_whole(shape.get("max_position_embeddings")),
        cache_bytes=2 * _WHOLE * layers * shared * width,
        has_template=has_template,
        vocabulary_size=len(tokens),
        vocabulary_id=token_list_id(tokens),
    )


def _tokens_of_json(tokenizer: dict[str, Any], path: Path) -> tuple[bytes, ...]:
    """The names of the tokens in the order of their ids."""
    model, added = tokenizer.get("model"), _listed(tokenizer.get("added_tokens"))
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    # A dictionary of ids, or unigrams: a token and its score each.
    pairs = [(at, *_listed(one)[:1]) for at, one in enumerate(_listed(vocabulary))]
    if isinstance(vocabulary, dict):
        pairs = [(at, token) for token, at in vocabulary.items()]
    pairs += [(x.get("id"), x.get("content")) for x in added if isinstance(x, dict)]
    pairs = [pair for pair in pairs if len(pair) == 2]
    if not pairs or not all(
        isinstance(at, int) and 0 <= at < _MOST_TOKENS and isinstance(token, str)
        for at, token in pairs
    ):
        raise ModelError(f"{path} names its tokens in no known way")
    names = [padding_name(at) for at in range(1 + max(at for at, _ in pairs))]
    for at, token in pairs:
        names[at] = token.encode("utf-8", "replace")
    return _unpadded(names)


def _unpadded(names: list[bytes], kinds: Sequence[int] = ()) -> tuple[bytes, ...]:
    """The tokens without the padding at the end, of a kind or a name of its own."""
    count = len(names)
    while count > 1 and (
        names[count - 1] == padding_name(count - 1)
        or (len(kinds) == len(names) and kinds[count - 1] == _UNUSED)
    ):
        count -= 1
    return tuple(names[:count])


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}")
    if path.stat().st_size > _LONGEST_JSON:
        raise ModelError(f"{path} is larger than that of any model")
    try:
        body = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: it is no JSON") from error
    if not isinstance(body, dict):
        raise ModelError(f"{path} is damaged: it is no JSON object")
    return body


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: Any, otherwise: int = 0) -> int:
    """A count that a stranger wrote; `otherwise` if it is invalid."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 1 << 40 else otherwise


def _shown(text: str) -> str:
    return one_line(text)[:_LONGEST_NAME]


TEXTS_OF_A_SERVER = 4  # how many texts the server that a device starts has room for
LONGEST_TEXT = 8192
"""Tokens of a text that device and server have room for, if the model reads as many."""

Fit = Literal["fits", "tight", "too large"]
_MEMINFO = Path("/proc/meminfo")
_AVAILABLE = re.compile(r"^MemAvailable: +([0-9]+) kB$", re.MULTILINE)
_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes of memory; 0 if unknown."""

    total: int  # of the machine, or of what a container may use
    available: int  # not used by other programs now; the total if that is unknown

    def fit(self, needed: int) -> Fit | None:
        """Whether N bytes fit; `tight`: only without what runs now. None if the
        machine's memory is unknown."""
        if not self.total:
            return None
        if needed <= self.available:
            return "fits"
        return "tight" if needed <= self.total else "too large"


def machine_memory() -> MachineMemory:
    """What this machine has, or the container that this process is in."""
    total = 0
    with suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # "max": no limit
        total = min(total, int(_LIMIT.read_text("ascii")))
    available = total
    with suppress(OSError, ValueError):
        for kib in _AVAILABLE.findall(_MEMINFO.read_text("ascii")):
            available = min(total, int(kib) << 10)
    return MachineMemory(total, available)


def pair_memory(small: ModelDescription, large: ModelDescription) -> int:
    """Bytes that a pair takes on one machine: the device reads one text; its server has
    room for several, with the large model and with the small one as base, whose
    weights both processes share."""
    length = min(one.context_length or LONGEST_TEXT for one in (small, large))
    length = min(length, LONGEST_TEXT)
    base = TEXTS_OF_A_SERVER * length * small.cache_bytes
    return small.memory(length) + base + large.memory(length, TEXTS_OF_A_SERVER)
