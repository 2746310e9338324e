"""Models by Hugging Face's transformers: a folder, or a GGUF file that it dequantises.

What a text has read is kept in tensors of its own, which are cropped by a number: so a
slot rolls back without computing. Several texts of different length are read in one
pass, aligned at their ends, with a mask that lets each see its own past alone.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import (
    EngineError,
    InvalidSettingsError,
    ModelError,
    StoppedError,
)
from decoding_core.foreign_text import one_line
from decoding_core.protocols import LogitRows, Reading
from decoding_core.sampling import Floats, Ids
from models.chat import ChatTemplate
from models.running.interface import Model, TextSlots, Vocabulary, padding_name
from models.running.settings import EngineSettings

os.environ.setdefault("TQDM_DISABLE", "1")  # else a GGUF file is read with a bar

import torch
import transformers

from models.adapters.torch_lora import TorchLora

_BATCH = 512  # tokens of a text that one pass reads at most
_STOPPABLE = 64
"""Tokens of a pass from which it is looked at each layer whether to stop."""
_ALIKE = 2
"""Texts are read in one pass if none has more than twice the tokens of another, since
the shorter ones are filled up."""
_ROOM = 256  # tokens by which a text's cache grows at least
_LONGEST_REASON = 300
"""Characters of what the library says against a model; some of it fills a screen."""
_KINDS = ("full_attention", "sliding_attention")
"""Layers whose cache can forget its end; others (recurrent, chunked) cannot."""
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<end_of_turn>", "<turn|>",
    "<|endoftext|>", "<|eom_id|>", "<|end_of_text|>", "<EOT>", "[EOT]", "[EOS]",
    "<|END_OF_TURN_TOKEN|>", "<end_of_utterance>", "</s>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>",
)  # fmt: skip
"""Names of tokens that end a text wherever they are tokens, as for llama.cpp."""


class TransformersVocabulary(Vocabulary):
    """The vocabulary of a tokenizer of the tokenizers library."""

    def __init__(self, tokenizer: Any, end_ids: Sequence[int | None]) -> None:
        self._backend = tokenizer.backend_tokenizer
        self._names: dict[int, str] = {
            token_id: name for name, token_id in self._backend.get_vocab().items()
        }
        size = max(self._names) + 1
        while size > 1 and self.token(size - 1) == padding_name(size - 1):
            size -= 1
        self.size = size
        self._ends = {*end_ids, tokenizer.eos_token_id}
        self._documents = tokenizer.bos_token or "", tokenizer.eos_token or ""
        added = self._backend.get_added_tokens_decoder()
        self._control = {i for i, token in added.items() if token.special}
        self._whole = {i: t.content for i, t in added.items() if not t.special}
        described = json.loads(self._backend.to_str())
        # Names are written in stand-ins for bytes, or in text with a sign for a space.
        self._in_bytes = "ByteLevel" in json.dumps(
            [described["decoder"], described["pre_tokenizer"]]
        )

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """Tokens that end a text."""
        known = {self._backend.token_to_id(name) for name in _ENDS}
        return frozenset((known | self._ends) - {None})

    def token(self, token_id: int) -> bytes:
        """The name of a token in the model's token list."""
        name = self._names.get(token_id)
        return padding_name(token_id) if name is None else name.encode()

    def controls(self) -> dict[str, int]:
        """The ids of the tokens that are no text, by their names."""
        return {self._names[one]: one for one in sorted(self._control)}

    def documents(self) -> tuple[str, str, bool]:
        """The tokens that begin and end a document, by name, empty if there is none;
        and whether the model reads the first before every prompt."""
        bos, eos = self._documents
        begins = self._backend.encode("", add_special_tokens=True).ids[:1]
        return bos, eos, begins == [self._backend.token_to_id(bos)]

    def tokenize(self, text: str, control: bool = False) -> list[int]:
        """Ids of a text; only with `control` may it name control tokens."""
        self._backend.encode_special_tokens = not control
        text = text.encode("utf-8", "replace").decode()
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def piece(self, token_id: int) -> bytes:
        """UTF-8 bytes of a token, perhaps a part of a character; b"" for control."""
        if not 0 <= token_id < self.size:
            raise EngineError(f"{token_id} is no token of this vocabulary")
        if token_id in self._whole:
            return str(self._whole[token_id]).encode()
        name = self._names.get(token_id, "")
        if token_id in self._control or not name:
            return b""
        if self._in_bytes and all(sign in _BYTES for sign in name):
            return bytes(_BYTES[sign] for sign in name)
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return bytes.fromhex(name[3:5])
        return name.replace("\u2581", " ").encode()


@dataclass(frozen=True, slots=True)
class _Span:
    """The places in one text, `start` to `end`, that a pass reads."""

    slot: int
    start: int
    end: int

    @property
    def count(self) -> int:
        """How many tokens it has."""
        return self.end - self.start


class TransformersSlots(TextSlots):
    """The caches of several texts over one model; also a `RowsEngine`."""

    model: TransformersModel

    def _allocate(self) -> None:
        model = self.model
        self._lora: TorchLora | None = None
        if self.adapter is not None:
            self._lora = TorchLora(model.weights, self.adapter, model.path.name)
        self._weights, self._config = model.weights, model.config
        self._device = model.device
        self._cache = _Cache(lambda: self.stop.is_set())
        # Older releases of transformers 5 call it `past_key_values`.
        known = signature(self._weights.forward).parameters
        self._named = "cache" if "cache" in known else "past_key_values"
        self._threads = (model.settings.thread_count,) * 2

    def evaluate_rows(self, readings: Sequence[Reading]) -> list[LogitRows]:
        """Read as `evaluate` does; the rows stay where the model computed them."""
        with self._reading(readings):
            return [TensorRows(rows) for rows in self._rows(readings)]

    def _read(self, readings: Sequence[Reading], logits: Sequence[Floats]) -> None:
        for found, rows in zip(self._rows(readings), logits, strict=True):
            np.copyto(rows, found.cpu().numpy())

    def _rows(self, readings: Sequence[Reading]) -> list[Any]:
        """Read on, in passes over texts of about one length; returns the logits
        (rows, V) of each reading."""
        found: list[list[Any]] = [[] for _ in readings]
        done = [0] * len(readings)
        while True:
            left = [len(one.token_ids) - done[i] for i, one in enumerate(readings)]
            longest = min(max(left), _BATCH)
            if not longest:
                return [torch.cat(rows) for rows in found]
            chosen = [i for i, n in enumerate(left) if n and _ALIKE * n >= longest]
            spans, ids, wanted = [], [], []
            for i in chosen:
                count, reading = min(left[i], _BATCH), readings[i]
                before = self.position(reading.slot) + done[i]
                spans.append(_Span(reading.slot, before, before + count))
                ids.append(reading.token_ids[done[i] : done[i] + count])
                wanted.append(max(0, min(count, reading.rows - left[i] + count)))
                done[i] += count
            logits = self._pass(spans, ids, max(1, *wanted))
            for row, (i, rows) in enumerate(zip(chosen, wanted, strict=True)):
                if rows:
                    found[i].append(logits[row, -rows:])

    def _pass(
        self, spans: Sequence[_Span], ids: Sequence[Sequence[int]], rows: int
    ) -> Any:
        """Logits (B, rows, V), as float32, at the ends of B texts that read on."""
        length = max(span.count for span in spans)
        end = max(span.end for span in spans)
        tokens = torch.zeros((len(spans), length), dtype=torch.long)
        places = torch.zeros((len(spans), length), dtype=torch.long)
        for row, (span, some) in enumerate(zip(spans, ids, strict=True)):
            tokens[row, -span.count :] = torch.as_tensor(list(some))
            places[row, -span.count :] = torch.arange(span.start, span.end)
        places = places.to(self._device)
        if self._device == "cpu":
            torch.set_num_threads(self._threads[length > 1])
        self._cache.spans, self._cache.stoppable = spans, length > _STOPPABLE
        adapted = nullcontext() if self._lora is None else self._lora.active()
        with torch.inference_mode(), adapted:
            answer = self._weights(
                input_ids=tokens.to(self._device),
                position_ids=places,
                attention_mask=self._masks(places, end),
                use_cache=True,
                logits_to_keep=rows,
                **{self._named: self._cache},
            )
            return answer.logits[:, :, : self.vocabulary_size].float()

    def _masks(self, places: Any, end: int) -> Any:
        """What is added to the attention of tokens at places (B, T) to those before
        `end`, for each kind of layer: each token sees itself and its own past."""
        at = torch.arange(end, device=places.device)
        back = places[:, None, :, None] - at  # (B, 1, T, end)
        dtype = self._weights.dtype
        lowest = torch.finfo(dtype).min

        def mask(seen: Any) -> Any:
            return torch.where(seen, 0.0, lowest).to(dtype)

        window = getattr(self._config, "sliding_window", None)
        kinds = getattr(self._config, "layer_types", None)
        past = back >= 0
        near = past & (back < window) if window else past
        if kinds is not None and _KINDS[1] in kinds:
            return {_KINDS[0]: mask(past), _KINDS[1]: mask(near)}
        return mask(near if kinds is None else past)

    def _forget(self, slot: int, position: int) -> None:
        """A cache is cropped by a number; an empty one gives its memory back."""
        if not position:
            self._cache.clear(slot)

    def _use_threads(self, single: int, several: int) -> None:
        self._threads = single, several

    def _free(self) -> None:
        self._cache.clear()
        if self._lora is not None:
            self._lora.take_off()
        self._weights = None


class _Cache(transformers.Cache):  # type: ignore[misc]
    """Keys and values of the texts in all slots; for transformers the cache of one
    batch, whose rows are those of `spans`."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        super().__init__(layers=[])
        self.spans: Sequence[_Span] = ()
        """What is being read, row by row; rows are aligned at their ends."""
        self.stoppable = False
        """Whether each layer looks whether to stop."""
        self._stopped = stopped
        self._kept: dict[tuple[int, int], tuple[Any, Any]] = {}

    def update(
        self, key_states: Any, value_states: Any, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Any, Any]:
        """Add the keys and values (B, heads, T, size) of a layer; returns those of the
        whole texts, (B, heads, end, size), zeros behind shorter ones."""
        if self.stoppable and self._stopped():
            raise StoppedError("stopped while reading")
        end = max(span.end for span in self.spans)
        rows: list[list[Any]] = [[], []]
        for row, span in enumerate(self.spans):
            key = layer_idx, span.slot
            kept = self._kept.get(key, (None, None))
            new = key_states[row], value_states[row]
            both = [self._added(*pair, span) for pair in zip(kept, new, strict=True)]
            self._kept[key] = both[0], both[1]
            for found, whole in zip(rows, both, strict=True):
                found.append(whole[:, : span.end])
        if len(self.spans) == 1:
            return rows[0][0][None], rows[1][0][None]
        pad = torch.nn.functional.pad
        keys, values = (
            torch.stack([pad(one, (0, 0, 0, end - one.shape[1])) for one in some])
            for some in rows
        )
        return keys, values

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        """0: positions are always given."""
        return 0

    def clear(self, slot: int | None = None) -> None:
        """Give back the memory of a slot, or of all."""
        for key in [k for k in self._kept if slot is None or k[1] == slot]:
            del self._kept[key]

    @staticmethod
    def _added(kept: Any, new: Any, span: _Span) -> Any:
        """Memory that holds what is kept up to the span, and then the last tokens of
        `new` (heads, T, size)."""
        if kept is None or kept.shape[1] < span.end:
            room = max(span.end + _ROOM, 2 * span.start)
            grown = new.new_zeros((new.shape[0], room, new.shape[2]))
            if kept is not None:
                grown[:, : span.start] = kept[:, : span.start]
            kept = grown
        kept[:, span.start : span.end] = new[:, -span.count :]
        return kept


class TransformersModel(Model):
    """The weights and the vocabulary of a model's folder, or of a GGUF file."""

    slots_type = TransformersSlots

    def __init__(
        self,
        path: Path,
        settings: EngineSettings,
        stop: threading.Event | None = None,
        progress: Callable[[float], None] | None = None,  # noqa: ARG002 - unused here
    ) -> None:
        """Load the model at `path`; nothing is fetched, and no code of it is run.

        Raises:
            ModelError: it is damaged, or no model that transformers runs as it is.
            InvalidSettingsError: there is no such device here.
            StoppedError: `stop` was set.
        """
        if settings.exact:
            raise InvalidSettingsError(
                "exact decoding is offered by the engine llama_cpp alone; leave it out"
            )
        self.path, self.settings = path, settings
        self.device = device_of(settings.device)
        wanted = settings.precision
        if wanted == "auto":
            wanted = "float32" if self.device == "cpu" else "bfloat16"
        tokenizer = from_files(transformers.AutoTokenizer, path)
        weights = from_files(
            transformers.AutoModelForCausalLM, path, dtype=getattr(torch, wanted)
        )
        if stop is not None and stop.is_set():
            raise StoppedError("stopped while the model was loading")
        self.weights: Any = weights.to(self.device).eval()
        self.config: Any = self.weights.config.get_text_config()
        kinds = set(getattr(self.config, "layer_types", None) or _KINDS[:1])
        if not kinds <= set(_KINDS):
            raise ModelError(
                f"{path} cannot be used: its layers ({', '.join(sorted(kinds))}) "
                "cannot forget a part of what they read"
            )
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            raise ModelError(
                f"{path} cannot be used: it has no tokenizer.json; convert its "
                "tokenizer to a fast one"
            )
        ends = self.weights.generation_config.eos_token_id
        self.vocabulary = TransformersVocabulary(
            tokenizer, ends if isinstance(ends, list) else [ends]
        )
        self.name = _name(path)
        template = tokenizer.chat_template
        if isinstance(template, dict):
            template = template.get("default")
        self.chat_template = ChatTemplate(
            template or "", self.vocabulary.controls(), *self.vocabulary.documents()
        )
        self.context_length = int(self.config.max_position_embeddings)

    def close(self) -> None:
        """Free the weights."""
        self.weights = None


load = TransformersModel  # what `running.loading` calls


class TensorRows:
    """Rows of logits (N, V) on an accelerator: the `LogitRows` that hands out a few
    numbers of each."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the rows are over."""
        return int(self.logits.shape[-1])

    def whole(self) -> Floats:
        """The rows as an array."""
        rows: Floats = self.logits.cpu().numpy()
        return rows

    def log_sum_exps(self, temperature: float) -> Floats:
        """Logarithms (N,) of the sums of exp(logits / temperature)."""
        # Metal has no float64; a log-sum-exp of float32 is off by some 1e-6.
        logits = self.logits
        if logits.device.type != "mps":
            logits = logits.double()
        return _numbers(torch.logsumexp(logits / (temperature or 1.0), dim=-1))

    def at(self, rows: Sequence[int] | Ids, token_ids: Sequence[int] | Ids) -> Floats:
        """The logits (K,) of tokens (K,), each in its row of `rows`; with one row, all
        in that."""
        device = self.logits.device
        where = torch.as_tensor(np.asarray(rows, np.int64), device=device)
        ids = torch.as_tensor(np.asarray(token_ids, np.int64), device=device)
        return _numbers(self.logits[where, ids])

    def likeliest_ids(
        self,
        row: int,
        count: int,
        tied: float,
        base: TensorRows | None = None,
        weight: float = 0.0,
    ) -> NDArray[np.intp]:
        """As `ArrayRows.likeliest_ids`."""
        logits = self._compared(row, base, weight)
        if count >= len(logits):
            return np.arange(len(logits))
        last = torch.topk(logits, count).values[-1]
        above = torch.nonzero(logits > last + tied)[:, 0]
        ties = torch.nonzero((logits >= last - tied) & (logits <= last + tied))[:, 0]
        ids = torch.cat([above, ties[: count - len(above)]])
        return np.sort(ids.cpu().numpy()).astype(np.intp)

    def largest_besides(
        self,
        row: int,
        token_ids: Ids,
        base: TensorRows | None = None,
        weight: float = 0.0,
    ) -> float:
        """As `ArrayRows.largest_besides`."""
        others = self._compared(row, base, weight).clone()
        ids = torch.as_tensor(np.asarray(token_ids, np.int64), device=others.device)
        others[ids] = -torch.inf
        largest = float(others.max())
        if base is None or not weight:
            return largest
        rounded = abs(largest)
        if weight != 1.0:
            rounded += weight * float(base.logits[row].abs().max())
        return largest + 2 * float(torch.finfo(others.dtype).eps) * rounded

    def _compared(self, row: int, base: TensorRows | None, weight: float) -> Any:
        if base is None or not weight:
            return self.logits[row]
        return self.logits[row] - weight * base.logits[row]


def _numbers(values: Any) -> Floats:
    """Values as an array of float64."""
    return np.asarray(values.cpu().numpy(), np.float64)


def from_files(kind: Any, path: Path, **how: Any) -> Any:
    """What a class of transformers makes of a model's folder or GGUF file; nothing is
    fetched, and no code of it is run. Raises ModelError if that fails."""
    if path.is_file():
        how["gguf_file"] = path.name
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind.from_pretrained(
                path.parent if path.is_file() else path,
                local_files_only=True,
                trust_remote_code=False,  # else it asks at the terminal
                **how,
            )
    except Exception as error:  # a foreign file can make it raise anything
        why = one_line(str(error) or type(error).__name__)[:_LONGEST_REASON]
        raise ModelError(f"transformers cannot load {path}: {why}") from error


def device_of(wanted: str) -> str:
    """Where to compute; raises InvalidSettingsError if this machine lacks it."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(name for name, usable in there.items() if usable)
    if not there.get(wanted):
        raise InvalidSettingsError(
            f"this machine has no {wanted} that torch can use; choose device 'auto'"
        )
    return wanted


def _name(path: Path) -> str:
    """What a person knows the model by: a hub's name, or that of its file or folder."""
    for folder in path.parents:
        if folder.name.startswith("models--"):
            return folder.name.removeprefix("models--").replace("--", "/")
    return path.stem if path.is_file() else path.name


_PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_SPARE = count(256)
_BYTES = {chr(n if n in _PRINTABLE else next(_SPARE)): n for n in range(256)}
"""The byte of each sign of byte-level vocabularies (GPT-2): printable ones stand for
themselves, the others from U+0100 on."""
