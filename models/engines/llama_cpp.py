"""llama.cpp as an engine, on its low-level API alone.

Weights are loaded once (`LlamaModel`); a `LlamaContext` holds the caches of several
sequences, and a `LlamaSequence` is one of them as an `Engine`. What would trip an
assertion in C, and so end the process, is checked here first.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
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
from decoding_core.sampling import Floats
from models.engines.llama_library import last_complaint, load_library
from models.engines.llama_vocabulary import LlamaVocabulary
from models.engines.probe import extra_buffers_work
from models.engines.settings import EngineSettings
from models.files import find
from models.gguf_header import check_vocabulary, read_header

_BATCH = 512
_MOST_SEQUENCES = 255  # llama.cpp's limit of 256, less the scratch sequence
_ABORTABLE = 64  # tokens; the callback costs too much on short decodes
_NO_SLOT, _ABORTED = 1, 2


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
            ModelError: it is missing, damaged or of a kind that llama.cpp cannot run.
            StoppedError: `stop` was set.
        """
        self.settings = settings or EngineSettings()
        self._stop = stop or threading.Event()
        header = read_header(find(path))
        check_vocabulary(path, header)
        self.path = path
        self.name: str = str(header.get("general.name") or path.stem)
        self.chat_template: str = str(header.get("tokenizer.chat_template") or "")
        self._library = load_library()
        self.handle = self._load(path)
        self.vocabulary = LlamaVocabulary(self.handle)
        self.context_length: int = self._library.llama_model_n_ctx_train(self.handle)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the token list."""
        return self.vocabulary.id

    @property
    def vocabulary_size(self) -> int:
        """V: how many tokens the model knows."""
        return self.vocabulary.size

    def close(self) -> None:
        """Free the weights; contexts on them must be closed before."""
        if self.handle is not None:
            self._library.llama_model_free(self.handle)
            self.handle = None

    def _load(self, path: Path) -> Any:
        wanted = self.settings.extra_buffers
        parameters = self._library.llama_model_default_params()
        parameters.n_gpu_layers = self.settings.gpu_layers
        parameters.use_extra_bufts = extra_buffers_work() if wanted is None else wanted
        # Asked about every tensor, which is how often a load can be given up.
        go_on = self._library.llama_progress_callback(
            lambda _share, _data: not self._stop.is_set()
        )
        parameters.progress_callback = go_on
        handle = self._library.llama_model_load_from_file(
            str(path).encode(), parameters
        )
        if not handle and self._stop.is_set():
            raise StoppedError("stopped while the model was loading")
        if not handle:
            raise ModelError(f"llama.cpp cannot load {path}: {last_complaint()}")
        return handle


@dataclass(slots=True)
class Reading:
    """Tokens for one sequence to read, and how many rows of logits are wanted."""

    sequence: LlamaSequence
    token_ids: Sequence[int]
    rows: int = 1


class LlamaContext:
    """Caches of several sequences over one model, in one shared pool of cells.

    Not safe for two threads at once; it takes a lock, so that a second thread waits.
    """

    def __init__(
        self, model: LlamaModel, sequences: int = 1, context_length: int | None = None
    ) -> None:
        """Make room for `sequences`, each of up to `context_length` tokens.

        Raises:
            InvalidSettingsError: more than llama.cpp can hold.
            EngineError: the memory cannot be had.
        """
        if not 1 <= sequences <= _MOST_SEQUENCES:
            raise InvalidSettingsError(
                f"a context holds 1 to {_MOST_SEQUENCES} sequences, not {sequences}"
            )
        self.model = model
        self.context_length = context_length or model.context_length
        self._library = load_library()
        self._exact = model.settings.exact
        self._scratch = sequences
        self._handle = self._create(sequences)
        self._memory = self._library.llama_get_memory(self._handle)
        self._batch = _Batch(self._library, _BATCH)
        self._lock = threading.Lock()
        self._sequences = [LlamaSequence(self, number) for number in range(sequences)]
        self.stop = threading.Event()
        """Set it to abort a long evaluation from another thread."""
        self._abort = self._library.ggml_abort_callback(lambda _: self.stop.is_set())

    def sequence(self, number: int = 0) -> LlamaSequence:
        """One of the sequences, as an engine."""
        return self._sequences[number]

    def evaluate_many(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several sequences, in as few passes as the batch size allows;
        logits (rows, V) for each.

        Raises:
            ContextFullError: one does not fit; nothing was read.
            StoppedError: `stop` was set; nothing was read.
        """
        with self._lock:
            for reading in readings:
                self._check(reading)
            before = [reading.sequence.position for reading in readings]
            try:
                return self._read(readings)
            except BaseException:
                for reading, position in zip(readings, before, strict=True):
                    self._forget(reading.sequence, position)
                raise

    def rollback(self, sequence: LlamaSequence, position: int) -> None:
        """Forget everything of a sequence after its first `position` tokens."""
        with self._lock:
            if not 0 <= position <= sequence.position:
                raise EngineError(
                    f"cannot roll back from {sequence.position} to {position}"
                )
            self._forget(sequence, position)

    def close(self) -> None:
        """Free the caches."""
        with self._lock:
            if self._handle is not None:
                self._batch.free()
                self._library.llama_free(self._handle)
                self._handle = None

    def _create(self, sequences: int) -> Any:
        settings = self.model.settings
        parameters = self._library.llama_context_default_params()
        scratch = 256 if self._exact else 0
        parameters.n_ctx = self.context_length * sequences + scratch
        parameters.n_batch = parameters.n_ubatch = _BATCH
        parameters.n_seq_max = sequences + 1
        parameters.kv_unified = True
        parameters.n_threads = parameters.n_threads_batch = settings.threads
        parameters.flash_attn_type = int(settings.flash_attention)
        parameters.offload_kqv = settings.gpu_layers != 0
        parameters.no_perf = True
        handle = self._library.llama_init_from_model(self.model.handle, parameters)
        if not handle:
            raise EngineError(
                f"no memory for {sequences} texts of {self.context_length} tokens: "
                f"{last_complaint()}"
            )
        return handle

    def _check(self, reading: Reading) -> None:
        if self._handle is None:
            raise EngineError("the context is closed")
        count, sequence = len(reading.token_ids), reading.sequence
        if not 1 <= reading.rows <= count:
            raise EngineError(f"{reading.rows} rows of logits from {count} tokens")
        if min(reading.token_ids) < 0 or (
            max(reading.token_ids) >= self.model.vocabulary_size
        ):
            raise EngineError("a token id that is not in the vocabulary")
        if sequence.position + count > self.context_length:
            raise ContextFullError(
                f"{sequence.position + count} tokens do not fit into a context of "
                f"{self.context_length}"
            )

    def _read(self, readings: Sequence[Reading]) -> list[Floats]:
        flat = _Flat.of(readings)
        rows = [
            self._decode(flat.part(start, start + _BATCH))
            for start in range(0, len(flat.token_ids), _BATCH)
        ]
        for reading in readings:
            reading.sequence.position += len(reading.token_ids)
        logits = np.concatenate(rows)
        ends = np.cumsum([reading.rows for reading in readings])[:-1]
        return np.split(logits, ends)

    def _decode(self, flat: _Flat) -> Floats:
        count = len(flat.token_ids)
        padded = self._exact and count == 1
        if padded:
            flat = flat.with_scratch(self._scratch)
        abortable = count > _ABORTABLE
        self._set_abort(
            self._abort if abortable else self._library.ggml_abort_callback()
        )
        code = self._library.llama_decode(self._handle, self._batch.fill(flat))
        if padded:
            self._library.llama_memory_seq_rm(self._memory, self._scratch, 0, -1)
        if code:
            self._raise(code)
        return self._rows(int(flat.outputs.sum()))

    def _set_abort(self, callback: Any) -> None:
        self._library.llama_set_abort_callback(
            self._handle, callback, ctypes.c_void_p(0)
        )

    def _rows(self, count: int) -> Floats:
        size = self.model.vocabulary_size
        if not count:
            return np.empty((0, size), np.float32)
        pointer = self._library.llama_get_logits(self._handle)
        return np.ctypeslib.as_array(pointer, (count, size)).copy()

    def _raise(self, code: int) -> None:
        if code == _ABORTED:
            raise StoppedError("stopped while reading")
        if code == _NO_SLOT:
            raise ContextFullError("the model's cache is full")
        raise EngineError(f"llama.cpp failed ({code}): {last_complaint()}")

    def _forget(self, sequence: LlamaSequence, position: int) -> None:
        done = self._library.llama_memory_seq_rm(
            self._memory, sequence.number, position, -1
        )
        if not done:
            raise EngineError("this model cannot forget a part of what it read")
        sequence.position = position


class LlamaSequence:
    """One text in a context: an `Engine`."""

    def __init__(self, context: LlamaContext, number: int) -> None:
        self.context = context
        self.number = number
        self.position = 0

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self.context.model.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read `token_ids` (T,); logits (rows, V) after each of the last `rows`."""
        return self.context.evaluate_many([Reading(self, token_ids, rows)])[0]

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        self.context.rollback(self, position)

    def close(self) -> None:
        """Forget everything; the sequence may serve another text."""
        self.context.rollback(self, 0)


@dataclass(slots=True)
class _Flat:
    """A batch as arrays of one length."""

    token_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    sequences: NDArray[np.int32]
    outputs: NDArray[np.int8]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> _Flat:
        counts = [len(reading.token_ids) for reading in readings]
        starts = [reading.sequence.position for reading in readings]
        outputs = [
            np.arange(count) >= count - reading.rows
            for count, reading in zip(counts, readings, strict=True)
        ]
        return cls(
            np.concatenate([np.asarray(r.token_ids, np.int32) for r in readings]),
            np.concatenate(
                [
                    np.arange(s, s + c, dtype=np.int32)
                    for s, c in zip(starts, counts, strict=True)
                ]
            ),
            np.repeat(
                np.array([r.sequence.number for r in readings], np.int32), counts
            ),
            np.concatenate(outputs).astype(np.int8),
        )

    def part(self, start: int, end: int) -> _Flat:
        """The tokens from `start` up to `end`."""
        return _Flat(
            self.token_ids[start:end],
            self.positions[start:end],
            self.sequences[start:end],
            self.outputs[start:end],
        )

    def with_scratch(self, sequence: int) -> _Flat:
        """One more token, on a sequence of its own: no decode is of a single token."""
        return _Flat(
            np.append(self.token_ids, self.token_ids[-1]),
            np.append(self.positions, np.int32(0)),
            np.append(self.sequences, np.int32(sequence)),
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
        self._sequences = [view(batch.seq_id[i], (1,)) for i in range(size)]
        view(batch.n_seq_id, (size,))[:] = 1

    def fill(self, flat: _Flat) -> Any:
        """The batch with the arrays of `flat`."""
        count = len(flat.token_ids)
        self._batch.n_tokens = count
        self._tokens[:count] = flat.token_ids
        self._positions[:count] = flat.positions
        self._outputs[:count] = flat.outputs
        for cell, sequence in zip(self._sequences, flat.sequences, strict=False):
            cell[0] = sequence
        return self._batch

    def free(self) -> None:
        """Give the memory back."""
        self._library.llama_batch_free(self._batch)
