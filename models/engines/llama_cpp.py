"""llama.cpp behind our interfaces, on its low-level API alone.

`LlamaModel` holds the weights of a GGUF file and its `LlamaVocabulary`, loaded once. A
`LlamaContext` holds the key-value caches of several texts over one model, one per slot:
it is the `BatchEngine` of the server. A `LlamaSequence` is a single slot of a context:
it is the `Engine` of the device. Whatever would trip an assertion in C, and so end the
process, is checked here first.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import (
    ContextFullError,
    EngineError,
    InvalidSettingsError,
    ModelError,
    StoppedError,
)
from decoding_core.protocols import Reading
from decoding_core.sampling import Floats
from models.engines.settings import EngineSettings
from models.files import find
from models.gguf_header import check_vocabulary, read_header

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an assertion starts gdb

import llama_cpp as library

_BATCH = 512
"""Tokens that one decode reads at most; longer readings take several."""
_MOST_SLOTS = 255
"""llama.cpp's limit of 256 sequences, less the scratch sequence."""
_ABORTABLE = 64
"""Tokens from which a decode can be aborted: the callback costs too much on fewer."""
_NO_ROOM, _ABORTED = 1, 2
"""What `llama_decode` returns, besides 0."""
_WARNING, _CONTINUED = 3, 5
"""Levels of llama.cpp's log."""
_complaints: deque[str] = deque(maxlen=8)


@library.llama_log_callback  # type: ignore[untyped-decorator]
def _keep(level: int, text: bytes, _data: Any) -> None:
    if _WARNING <= level < _CONTINUED:
        _complaints.append(text.decode("utf-8", "replace").strip())


@cache
def load_library() -> Any:
    """The low-level API, with its log kept for `last_complaint`, not printed."""
    library.llama_log_set(_keep, ctypes.c_void_p(0))
    library.llama_backend_init()
    return library


def last_complaint() -> str:
    """What llama.cpp last logged as a warning or an error."""
    return _complaints[-1] if _complaints else "llama.cpp gave no reason"


class LlamaModel:
    """The weights and the vocabulary of a GGUF file."""

    def __init__(
        self,
        path: Path,
        settings: EngineSettings | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Load the model at `path`; another thread may set `stop` to give it up.

        Raises:
            ModelError: the file is missing, damaged or no model that llama.cpp runs.
            StoppedError: `stop` was set.
        """
        self.settings = settings or EngineSettings()
        stop = stop or threading.Event()
        header = read_header(find(path))
        check_vocabulary(path, header)
        self.path = path
        self.name: str = str(header.get("general.name") or path.stem)
        self.chat_template: str = str(header.get("tokenizer.chat_template") or "")
        self._library = load_library()
        extra_buffers = self.settings.extra_buffers
        if extra_buffers is None:
            # The probe runs a model in a child process, with this module.
            from models.engines.probe import extra_buffers_work

            extra_buffers = extra_buffers_work()
        parameters = self._library.llama_model_default_params()
        parameters.n_gpu_layers = self.settings.gpu_layers
        parameters.use_extra_bufts = extra_buffers
        # Called for every tensor, so often a load can be given up. The name keeps the
        # callback alive until the load is over.
        go_on = self._library.llama_progress_callback(
            lambda _share, _data: not stop.is_set()
        )
        parameters.progress_callback = go_on
        self.handle = self._library.llama_model_load_from_file(
            str(path).encode(), parameters
        )
        if not self.handle and stop.is_set():
            raise StoppedError("stopped while the model was loading")
        if not self.handle:
            raise ModelError(f"llama.cpp cannot load {path}: {last_complaint()}")
        self.vocabulary = LlamaVocabulary(self.handle)
        self.context_length: int = self._library.llama_model_n_ctx_train(self.handle)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the token list."""
        return self.vocabulary.id

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the model knows."""
        return self.vocabulary.size

    def close(self) -> None:
        """Free the weights; contexts over them must be closed before."""
        if self.handle is not None:
            self._library.llama_model_free(self.handle)
            self.handle = None


class LlamaVocabulary:
    """The vocabulary of a loaded model: text to token ids, ids to bytes. Not to be used
    after the model was closed."""

    def __init__(self, model: Any) -> None:
        self._library = load_library()
        self._vocabulary = self._library.llama_model_get_vocab(model)
        self.size: int = self._library.llama_vocab_n_tokens(self._vocabulary)
        self._pieces: dict[int, bytes] = {}

    @cached_property
    def id(self) -> str:
        """Hash of the token list; two models fit only if theirs are equal."""
        sha = hashlib.sha256()
        for token in range(self.size):
            text = self._library.llama_vocab_get_text(self._vocabulary, token) or b""
            sha.update(len(text).to_bytes(4, "little") + text)
        return sha.hexdigest()[:32]

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """Tokens that end a text."""
        ends = self._library.llama_vocab_is_eog
        return frozenset(t for t in range(self.size) if ends(self._vocabulary, t))

    def tokenize(self, text: str, control: bool = False) -> list[int]:
        """Ids of a text; only with `control` may it name control tokens."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (self._library.llama_token * room)()
        count = self._library.llama_tokenize(
            self._vocabulary, data, len(data), buffer, room, False, control
        )
        if count < 0:
            raise EngineError("the tokenizer failed on a text")
        return list(buffer[:count])

    def piece(self, token_id: int) -> bytes:
        """UTF-8 bytes of a token, perhaps a part of a character; b"" for control."""
        if token_id in self._pieces:
            return self._pieces[token_id]
        if not 0 <= token_id < self.size:
            raise EngineError(f"{token_id} is no token of this vocabulary")
        for room in (64, 4096):
            buffer = ctypes.create_string_buffer(room)
            count = self._library.llama_token_to_piece(
                self._vocabulary, token_id, buffer, room, 0, False
            )
            if count >= 0:
                self._pieces[token_id] = buffer.raw[:count]
                return self._pieces[token_id]
        raise EngineError(f"token {token_id} is longer than any token should be")

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Text of token ids; broken characters become U+FFFD."""
        data = b"".join(self.piece(token) for token in token_ids)
        return data.decode("utf-8", "replace")


class LlamaContext:
    """The caches of several texts over one model: a `BatchEngine`.

    The caches share one pool of cells. Not safe for two threads at once; it takes a
    lock, so that a second thread waits.
    """

    def __init__(
        self,
        model: LlamaModel,
        slots: int = 1,
        context_length: int | None = None,
        *,
        owns_model: bool = False,
    ) -> None:
        """Make room for `slots` texts, each of up to `context_length` tokens. Closing
        the context also closes the model if `owns_model`.

        Raises:
            InvalidSettingsError: more slots than llama.cpp can hold.
            EngineError: the memory cannot be had.
        """
        if not 1 <= slots <= _MOST_SLOTS:
            raise InvalidSettingsError(
                f"a context holds 1 to {_MOST_SLOTS} sequences, not {slots}"
            )
        self.model = model
        self.slots = slots
        self.context_length = context_length or model.context_length
        self.stop = threading.Event()
        """Set it to abort a long evaluation from another thread."""
        self._owns_model = owns_model
        self._library = load_library()
        self._exact = model.settings.exact
        parameters = self._library.llama_context_default_params()
        scratch = 256 if self._exact else 0
        parameters.n_ctx = self.context_length * slots + scratch
        parameters.n_batch = parameters.n_ubatch = _BATCH
        parameters.n_seq_max = slots + 1
        parameters.kv_unified = True
        parameters.n_threads = parameters.n_threads_batch = model.settings.threads
        parameters.flash_attn_type = int(model.settings.flash_attention)
        parameters.offload_kqv = model.settings.gpu_layers != 0
        parameters.no_perf = True
        self._handle = self._library.llama_init_from_model(model.handle, parameters)
        if not self._handle:
            raise EngineError(
                f"no memory for {slots} texts of {self.context_length} tokens: "
                f"{last_complaint()}"
            )
        self._memory = self._library.llama_get_memory(self._handle)
        self._batch = _Batch(self._library, _BATCH)
        self._lock = threading.Lock()
        self._positions = [0] * slots
        self._tokens: list[list[int]] = [[] for _ in range(slots)]
        self._abort = self._library.ggml_abort_callback(lambda _: self.stop.is_set())
        self._no_abort = self._library.ggml_abort_callback()

    @property
    def name(self) -> str:
        """The model's name, for the screen."""
        return self.model.name

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self.model.vocabulary_id

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the model knows."""
        return self.model.vocabulary_size

    def sequence(self, slot: int = 0) -> LlamaSequence:
        """One slot as an `Engine`."""
        return LlamaSequence(self, slot)

    def position(self, slot: int) -> int:
        """How many tokens a slot has read."""
        return self._positions[slot]

    def tokens(self, slot: int) -> list[int]:
        """What a slot has read; not to be changed."""
        return self._tokens[slot]

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots, in as few decodes as the batch size allows; logits
        (rows, V) for each reading.

        Raises:
            ContextFullError: one does not fit; nothing was read.
            StoppedError: `stop` was set; nothing was read.
        """
        # llama.cpp splits a batch least where slots follow each other.
        order = sorted(range(len(readings)), key=lambda place: readings[place].slot)
        sorted_readings = [readings[place] for place in order]
        with self._lock:
            for reading in sorted_readings:
                self._check(reading)
            before = list(self._positions)
            try:
                flat = _Flat.of(sorted_readings, self._positions)
                decoded = [
                    self._decode(flat.part(start, start + _BATCH))
                    for start in range(0, len(flat.token_ids), _BATCH)
                ]
                for reading in sorted_readings:
                    self._positions[reading.slot] += len(reading.token_ids)
                    self._tokens[reading.slot].extend(reading.token_ids)
                ends = np.cumsum([reading.rows for reading in sorted_readings])[:-1]
                logits = np.split(np.concatenate(decoded), ends)
            except BaseException:
                for reading in sorted_readings:
                    self._forget(reading.slot, before[reading.slot])
                raise
        by_place = dict(zip(order, logits, strict=True))
        return [by_place[place] for place in range(len(readings))]

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        with self._lock:
            if not 0 <= position <= self._positions[slot]:
                raise EngineError(
                    f"cannot roll back from {self._positions[slot]} to {position}"
                )
            self._forget(slot, position)

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread."""
        self.stop.set()

    def close(self) -> None:
        """Free the caches, and the weights if this context owns them."""
        with self._lock:
            if self._handle is not None:
                self._batch.free()
                self._library.llama_free(self._handle)
                self._handle = None
        if self._owns_model:
            self.model.close()

    def _check(self, reading: Reading) -> None:
        """Raise what speaks against a reading before llama.cpp sees it."""
        if self._handle is None:
            raise EngineError("the context is closed")
        count = len(reading.token_ids)
        if not 1 <= reading.rows <= count:
            raise EngineError(f"{reading.rows} rows of logits from {count} tokens")
        if min(reading.token_ids) < 0 or (
            max(reading.token_ids) >= self.model.vocabulary_size
        ):
            raise EngineError("a token id that is not in the vocabulary")
        size = self._positions[reading.slot] + count
        if size > self.context_length:
            raise ContextFullError(
                f"{size} tokens do not fit into a context of {self.context_length}"
            )

    def _decode(self, flat: _Flat) -> Floats:
        """Logits of one batch, a row for each token that asks for one."""
        count = len(flat.token_ids)
        scratch = self.slots
        padded = self._exact and count == 1
        if padded:
            flat = flat.with_scratch(scratch)
        self._library.llama_set_abort_callback(
            self._handle,
            self._abort if count > _ABORTABLE else self._no_abort,
            ctypes.c_void_p(0),
        )
        code = self._library.llama_decode(self._handle, self._batch.fill(flat))
        if padded:
            self._library.llama_memory_seq_rm(self._memory, scratch, 0, -1)
        if code == _ABORTED:
            raise StoppedError("stopped while reading")
        if code == _NO_ROOM:
            raise ContextFullError("the model's cache is full")
        if code:
            raise EngineError(f"llama.cpp failed ({code}): {last_complaint()}")
        rows, size = int(flat.outputs.sum()), self.model.vocabulary_size
        if not rows:
            return np.empty((0, size), np.float32)
        logits = self._library.llama_get_logits(self._handle)
        # llama.cpp writes the next decode's logits into the same memory.
        return np.ctypeslib.as_array(logits, (rows, size)).copy()

    def _forget(self, slot: int, position: int) -> None:
        done = self._library.llama_memory_seq_rm(self._memory, slot, position, -1)
        if not done:
            raise EngineError("this model cannot forget a part of what it read")
        self._positions[slot] = position
        del self._tokens[slot][position:]


class LlamaSequence:
    """One slot of a context: an `Engine`."""

    def __init__(self, context: LlamaContext, slot: int) -> None:
        self.context = context
        self.slot = slot

    @property
    def tokens(self) -> list[int]:
        """What it has read; not to be changed."""
        return self.context.tokens(self.slot)

    @property
    def position(self) -> int:
        """How many tokens it has read."""
        return self.context.position(self.slot)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self.context.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read `token_ids` (T,); logits (rows, V) after each of the last `rows`."""
        return self.context.evaluate([Reading(self.slot, token_ids, rows)])[0]

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        self.context.rollback(self.slot, position)

    def close(self) -> None:
        """Forget everything; the slot may hold another text."""
        self.context.rollback(self.slot, 0)


@dataclass(slots=True)
class _Flat:
    """The tokens of several readings, one after the other, as llama.cpp takes them."""

    token_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    slots: NDArray[np.int32]
    outputs: NDArray[np.int8]
    """1 where a row of logits is wanted after the token, else 0."""

    @classmethod
    def of(cls, readings: Sequence[Reading], positions: Sequence[int]) -> _Flat:
        """`positions` says how many tokens each slot has read."""
        parts = []
        for reading in readings:
            count, start = len(reading.token_ids), positions[reading.slot]
            part = cls(
                np.asarray(reading.token_ids, np.int32),
                np.arange(start, start + count, dtype=np.int32),
                np.full(count, reading.slot, np.int32),
                (np.arange(count) >= count - reading.rows).astype(np.int8),
            )
            parts.append(part)
        return cls(
            np.concatenate([part.token_ids for part in parts]),
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.outputs for part in parts]),
        )

    def part(self, start: int, end: int) -> _Flat:
        """The tokens from `start` up to `end`."""
        return _Flat(
            self.token_ids[start:end],
            self.positions[start:end],
            self.slots[start:end],
            self.outputs[start:end],
        )

    def with_scratch(self, slot: int) -> _Flat:
        """One more token, in a slot of its own: no decode is of a single token."""
        return _Flat(
            np.append(self.token_ids, self.token_ids[-1]),
            np.append(self.positions, np.int32(0)),
            np.append(self.slots, np.int32(slot)),
            np.append(self.outputs, np.int8(0)),
        )


class _Batch:
    """A llama_batch whose arrays are numpy views."""

    def __init__(self, library: Any, size: int) -> None:
        self._library = library
        self._batch = batch = library.llama_batch_init(size, 0, 1)
        view = np.ctypeslib.as_array
        self._tokens = view(batch.token, (size,))
        self._positions = view(batch.pos, (size,))
        self._outputs = view(batch.logits, (size,))
        self._slots = [view(batch.seq_id[i], (1,)) for i in range(size)]
        view(batch.n_seq_id, (size,))[:] = 1

    def fill(self, flat: _Flat) -> Any:
        """The batch with the arrays of `flat`."""
        count = len(flat.token_ids)
        self._batch.n_tokens = count
        self._tokens[:count] = flat.token_ids
        self._positions[:count] = flat.positions
        self._outputs[:count] = flat.outputs
        for cell, slot in zip(self._slots, flat.slots, strict=False):
            cell[0] = slot
        return self._batch

    def free(self) -> None:
        """Give the memory back."""
        self._library.llama_batch_free(self._batch)
