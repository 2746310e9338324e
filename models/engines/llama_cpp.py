"""GGUF files by llama.cpp, on its low-level API alone.

Whatever would trip an assertion in C, and so end the process, is checked here first.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from decoding_core.errors import (
    ContextFullError,
    EngineError,
    InvalidSettingsError,
    ModelError,
    StoppedError,
)
from decoding_core.protocols import Reading
from decoding_core.sampling import Floats
from models.adapters.lora import check_fits, read_file
from models.chat import ChatTemplate
from models.files import find
from models.gguf_header import check_vocabulary, read_layout, template_source
from models.running.interface import Model, TextSlots, Vocabulary, padding_name
from models.running.llama_library import common_kernels, last_complaint, load_library
from models.running.settings import EngineSettings

_BATCH = 512  # tokens that one decode reads at most; longer readings take several
_MOST_SLOTS = 255  # llama.cpp's limit of 256 sequences, less the scratch sequence
_SCRATCH = 256  # cells of the scratch sequence
_ABORTABLE = 64
"""Tokens from which a decode can be aborted: the callback costs too much on fewer."""
_LONGEST_PIECE = 4096  # bytes of a token
_NO_ROOM, _ABORTED = 1, 2  # what `llama_decode` returns, besides 0
_UNUSED = 1 << 1  # LLAMA_TOKEN_ATTR_UNUSED: what fills an embedding up to a round size
_NO_TEXT = 1 << 0 | 1 << 3
"""LLAMA_TOKEN_ATTR_UNKNOWN and _CONTROL: what a text must not name."""
_RANK = 4  # LLAMA_POOLING_TYPE_RANK, as files name it
_LONGEST_READING = 1024  # tokens that a reranker reads at once; longer texts are cut
_LEAST_ROOM = 16
_QUERY_SHARE = 0.5
_PLACE = re.compile(r"(\{query\}|\{document\})")
_CACHED = {"auto": 1, "float32": 0, "bfloat16": 30}
"""In which type of ggml the cache is kept; usually float16."""


class LlamaVocabulary(Vocabulary):
    """The vocabulary of a loaded model."""

    def __init__(self, model: Any) -> None:
        self._library = load_library()
        self._vocabulary = self._library.llama_model_get_vocab(model)
        self.padded_size: int = self._library.llama_vocab_n_tokens(self._vocabulary)
        """How many logits llama.cpp gives."""
        self.size = self.padded_size
        attributes = self._library.llama_vocab_get_attr
        while (last := self.size - 1) and (
            attributes(self._vocabulary, last) & _UNUSED
            or self.token(last) == padding_name(last)
        ):
            self.size = last

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """Tokens that end a text."""
        ends = self._library.llama_vocab_is_eog
        return frozenset(t for t in range(self.size) if ends(self._vocabulary, t))

    def token(self, token_id: int) -> bytes:
        """The name of a token in the model's token list."""
        name = self._library.llama_vocab_get_text(self._vocabulary, token_id)
        return bytes(name or b"")

    def controls(self) -> dict[str, int]:
        """The ids of the tokens that are no text, by their names."""
        attributes, found = self._library.llama_vocab_get_attr, {}
        for token_id in range(self.size):
            if attributes(self._vocabulary, token_id) & _NO_TEXT:
                found[self.token(token_id).decode("utf-8", "replace")] = token_id
        return found

    def documents(self) -> tuple[str, str, bool]:
        """The tokens that begin and end a document, by name, empty if there is none;
        and whether the model reads the first before every prompt."""
        library, vocabulary = self._library, self._vocabulary
        marks = library.llama_vocab_bos(vocabulary), library.llama_vocab_eos(vocabulary)
        bos, eos = (
            self.token(one).decode("utf-8", "replace") if one >= 0 else ""
            for one in marks
        )
        return bos, eos, bool(library.llama_vocab_get_add_bos(vocabulary))

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
        if not 0 <= token_id < self.size:
            raise EngineError(f"{token_id} is no token of this vocabulary")
        buffer = ctypes.create_string_buffer(_LONGEST_PIECE)
        count = self._library.llama_token_to_piece(
            self._vocabulary, token_id, buffer, _LONGEST_PIECE, 0, False
        )
        if count < 0:
            raise EngineError(f"token {token_id} is longer than any token should be")
        return buffer.raw[:count]


class LlamaContext(TextSlots):
    """The caches of several texts over one model, each in a stream of its own.

    In one pool of cells ("unified") every text's attention runs over the cells of all:
    with 16 texts of 300 tokens a block of 9 took 88 ms of computing each, and 19 ms in
    streams; alone it takes 23. An exact context keeps the pool, as its scratch sequence
    would be a stream as long as a text; so does one whose tokens are bounded in all
    (`kv_tokens`), in which a long text may take what short ones leave.
    """

    model: LlamaModel

    def _allocate(self) -> None:
        model, slots, adapter = self.model, self.slots, self.adapter
        if not 1 <= slots <= _MOST_SLOTS:
            raise InvalidSettingsError(
                f"a context holds 1 to {_MOST_SLOTS} sequences, not {slots}"
            )
        self._library = load_library()
        self._exact = model.settings.exact
        parameters = model.context_parameters()
        parameters.n_batch = parameters.n_ubatch = _BATCH
        # llama.cpp rounds the pool, or each stream, up to a multiple of 256 by itself.
        parameters.kv_unified = self._pooled = self._exact or self.pool > 0
        parameters.n_ctx = self.pool or self.context_length * slots
        parameters.n_seq_max = slots
        if self._exact:
            parameters.n_ctx += _SCRATCH
            parameters.n_seq_max += 1
        parameters.type_k = parameters.type_v = _CACHED[model.settings.precision]
        self._lora = None
        if adapter is not None:
            # Before the context, which else has no room for its computations.
            path, load_lora = adapter.file, self._library.llama_adapter_lora_init
            check_fits(read_file(path), read_layout(model.path), model.path.name)
            self._lora = load_lora(model.handle, str(path).encode())
            if not self._lora:
                raise ModelError(f"llama.cpp cannot read {path}: {last_complaint()}")
        self._handle = self._library.llama_init_from_model(model.handle, parameters)
        if not self._handle:  # the adapter is freed with the model
            raise EngineError(
                f"no memory for {slots} texts of {self.context_length} tokens: "
                f"{last_complaint()}"
            )
        if adapter is not None:
            one = (self._library.llama_adapter_lora_p_ctypes * 1)(self._lora)
            scales = (ctypes.c_float * 1)(adapter.scale)
            self._library.llama_set_adapters_lora(self._handle, one, 1, scales)
        self._memory = self._library.llama_get_memory(self._handle)
        self.saves = not any(  # those drop what stands far back, and cannot go back
            drops(model.handle)
            for drops in (
                self._library.llama_model_n_swa,
                self._library.llama_model_is_recurrent,
                self._library.llama_model_is_hybrid,
            )
        )
        self._batch = Batch(self._library, _BATCH, model.vocabulary_size)
        self._abort = self._library.ggml_abort_callback(lambda _: self.stop.is_set())
        self._no_abort = self._library.ggml_abort_callback()

    def _use_threads(self, single: int, several: int) -> None:
        self._library.llama_set_n_threads(self._handle, single, several)

    def _read(self, readings: Sequence[Reading], logits: Sequence[Floats]) -> None:
        """Read on in as few decodes as the batch size allows."""
        try:
            # llama.cpp computes streams together as far as they are equally long, and
            # splits a batch least where slots follow each other. Cut into pieces of
            # one length, texts of several lengths cost more than one by one.
            in_order = sorted(
                zip(readings, logits, strict=True),
                key=lambda one: (len(one[0].token_ids), one[0].slot),
            )
            length = len(in_order[0][0].token_ids)
            for reading, rows in in_order:
                if len(reading.token_ids) != length and not self._pooled:
                    length = len(reading.token_ids)
                    self._decode()
                self._add(reading, rows)
            self._decode()
        finally:
            self._batch.clear()

    def _add(self, reading: Reading, logits: Floats) -> None:
        """Add a reading to the batch, which is decoded each time it is full into
        `logits` (rows, V)."""
        ids, position = reading.token_ids, len(self._tokens[reading.slot])
        if self._batch.count + len(ids) <= _BATCH:
            self._batch.add(reading.slot, position, ids, logits)
            return
        silent = len(ids) - reading.rows
        start = 0
        while start < len(ids):
            if self._batch.count > _BATCH - 3:
                self._decode()
            end = min(len(ids), start + _BATCH - self._batch.count)
            if end == len(ids) - 1:
                end -= 1  # no token of several is decoded alone
            self._batch.add(
                reading.slot,
                position + start,
                ids[start:end],
                logits[max(start - silent, 0) : max(end - silent, 0)],
            )
            start = end

    def _decode(self) -> None:
        """Decode the batch, and empty it."""
        batch, library = self._batch, self._library
        callback = self._abort if batch.count > _ABORTABLE else self._no_abort
        library.llama_set_abort_callback(self._handle, callback, ctypes.c_void_p(0))
        padded = self._exact and batch.count == 1
        if padded:  # one more token, in a slot of its own: none is decoded alone
            batch.add(self.slots, 0, [int(batch.tokens[0])], batch.no_rows)
        code = library.llama_decode(self._handle, batch.filled())
        if padded:
            library.llama_memory_seq_rm(self._memory, self.slots, 0, -1)
        if code == _ABORTED:
            raise StoppedError("stopped while reading")
        if code == _NO_ROOM:
            raise ContextFullError("the model's cache is full")
        if code:
            raise EngineError(f"llama.cpp failed ({code}): {last_complaint()}")
        # llama.cpp writes the next decode's logits into the same memory.
        if batch.wanted:
            found, done = library.llama_get_logits(self._handle), 0
            size = sum(map(len, batch.wanted)), self.model.vocabulary.padded_size
            decoded = np.ctypeslib.as_array(found, size)[:, : self.vocabulary_size]
            for rows in batch.wanted:
                np.copyto(rows, decoded[done : done + len(rows)])
                done += len(rows)
        batch.clear()

    def _forget(self, slot: int, position: int) -> None:
        done = self._library.llama_memory_seq_rm(self._memory, slot, position, -1)
        if not done:
            raise EngineError("this model cannot forget a part of what it read")

    def _share(self, source: int, slot: int, length: int) -> bool:
        # Streams can only be copied whole.
        end = length if self._pooled else -1
        copy = self._library.llama_memory_seq_cp
        copy(self._memory, source, slot, min(0, end), end)
        self._forget(slot, length)
        return True

    def _save(self, slot: int) -> bytes:
        size = self._library.llama_state_seq_get_size(self._handle, slot)
        saved = (ctypes.c_uint8 * size)()
        done = self._library.llama_state_seq_get_data(self._handle, saved, size, slot)
        if done != size:
            raise EngineError(f"llama.cpp cannot save a text: {last_complaint()}")
        return bytes(saved)

    def _restore(self, slot: int, length: int, saved: bytes) -> bool:
        library, memory, size = self._library, self._memory, len(saved)
        data = (ctypes.c_uint8 * size).from_buffer_copy(saved)
        done = library.llama_state_seq_set_data(self._handle, data, size, slot)
        first = library.llama_memory_seq_pos_min(memory, slot)
        last = library.llama_memory_seq_pos_max(memory, slot)
        return (done, first, last) == (size, 0, length - 1)

    def _free(self) -> None:
        self._library.llama_free(self._handle)
        self._handle = None
        if self._lora is not None:
            self._library.llama_adapter_lora_free(self._lora)


class Batch:
    """A llama_batch over arrays of ours, and where the logits of its tokens go."""

    def __init__(self, library: Any, size: int, vocabulary_size: int) -> None:
        self.count = 0
        """How many tokens it holds."""
        self.wanted: list[Floats] = []
        """Rows of logits (N, V) to be filled, in the order of their tokens."""
        self.no_rows = np.empty((0, vocabulary_size), np.float32)
        self.tokens = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._slots = np.zeros(size, np.int32)
        self._outputs = np.zeros(size, np.int8)
        # One slot for each token; llama.cpp takes a list of them, by its address.
        self._ones = np.ones(size, np.int32)
        self._lists = self._slots.ctypes.data + 4 * np.arange(size, dtype=np.uintp)
        number = ctypes.POINTER(library.llama_token)
        self._batch = library.llama_batch(
            0,
            self.tokens.ctypes.data_as(number),
            None,
            self._positions.ctypes.data_as(number),
            self._ones.ctypes.data_as(number),
            self._lists.ctypes.data_as(ctypes.POINTER(number)),
            self._outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def add(
        self, slot: int, position: int, token_ids: Sequence[int], rows: Floats
    ) -> None:
        """Add tokens (T,) at a position of a slot; `rows` (N, V) are for the logits
        after the last N of them."""
        start, count = self.count, len(token_ids)
        end = start + count
        self.tokens[start:end] = token_ids
        self._positions[start:end] = np.arange(position, position + count)
        self._slots[start:end] = slot
        self._outputs[start:end] = 0
        self._outputs[end - len(rows) : end] = 1
        if len(rows):
            self.wanted.append(rows)
        self.count = end

    def filled(self) -> Any:
        """The llama_batch."""
        self._batch.n_tokens = self.count
        return self._batch

    def clear(self) -> None:
        """Forget the tokens."""
        self.count, self.wanted = 0, []


class LlamaModel(Model):
    """The weights and the vocabulary of a GGUF file."""

    vocabulary: LlamaVocabulary
    slots_type = LlamaContext

    def __init__(
        self,
        path: Path,
        settings: EngineSettings | None = None,
        stop: threading.Event | None = None,
        progress: Callable[[float], None] | None = None,
        *,
        weights: bool = True,
    ) -> None:
        """Load the model at `path`; as `running.loading.load_model`. Without `weights`
        it has its vocabulary and its chat template alone."""
        self.settings = settings or EngineSettings()
        stop = stop or threading.Event()
        header = read_layout(find(path)).values
        check_vocabulary(path, header)
        self.path = path
        self.name: str = str(header.get("general.name") or path.stem)
        self._library = load_library()
        parameters = self._library.llama_model_default_params()
        # Neither is used unless `running.loading` found that it works here.
        self.gpu_layers = self.settings.gpu_layers or 0
        parameters.n_gpu_layers = self.gpu_layers
        parameters.use_extra_bufts = bool(self.settings.extra_buffers)
        common = self.settings.exact and not self.gpu_layers and common_kernels()
        if common:  # llama.cpp runs all layers there, as on a card
            devices = (ctypes.c_void_p * 2)(common, None)
            parameters.devices = ctypes.addressof(devices)
            parameters.n_gpu_layers, parameters.use_extra_bufts = -1, False
        self._on_device = parameters.n_gpu_layers != 0
        parameters.vocab_only = not weights
        # Called for every tensor; its name keeps it alive until the load is over.

        def loading(share: float, _data: object) -> bool:
            if progress is not None:
                progress(share)
            return not stop.is_set()

        go_on = self._library.llama_progress_callback(loading)
        parameters.progress_callback = go_on
        self.handle = self._library.llama_model_load_from_file(
            str(path).encode(), parameters
        )
        if not self.handle and stop.is_set():
            raise StoppedError("stopped while the model was loading")
        if not self.handle:
            how = "; gpu_layers = 0 runs it on the CPU" if self.gpu_layers else ""
            raise ModelError(f"llama.cpp cannot load {path}: {last_complaint()}{how}")
        self.vocabulary = LlamaVocabulary(self.handle)
        self.chat_template = ChatTemplate(
            template_source(header),
            self.vocabulary.controls(),
            *self.vocabulary.documents(),
        )
        self.context_length: int = self._library.llama_model_n_ctx_train(self.handle)

    def context_parameters(self) -> Any:
        """llama.cpp's parameters of a context, with what the settings say."""
        parameters = self._library.llama_context_default_params()
        threads = self.settings.thread_count
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.flash_attn_type = int(self.settings.flash_attention)
        parameters.offload_kqv = self._on_device
        parameters.no_perf = True
        return parameters

    def close(self) -> None:
        """Free the weights; contexts over them must be closed before."""
        if self.handle is not None:
            self._library.llama_model_free(self.handle)
            self.handle = None


load = LlamaModel  # what `running.loading` calls


class LlamaReranker:
    """Scores how well texts answer a query, by llama.cpp's rank pooling.

    Its tokens are laid out as by llama.cpp's own server: by the file's template, else
    as [bos] query [eos] [sep] text [eos], as far as the vocabulary says that these are
    added.
    """

    def __init__(self, path: Path, settings: EngineSettings | None = None) -> None:
        """Load the reranker at `path`; raises EngineError if there is no memory, and
        ModelError if it is missing, damaged or no reranker: with another model
        llama.cpp gives meaningless numbers, or ends the process."""
        header = read_layout(find(path)).values
        kind = header.get("general.architecture")
        if header.get(f"{kind}.pooling_type") != _RANK:
            raise ModelError(
                f"{path} is no reranker: its file does not name rank pooling; give a "
                "GGUF file of a reranker such as bge-reranker, or leave the setting out"
            )
        self._model = LlamaModel(path, settings)
        self._library = load_library()
        self.length = min(self._model.context_length, _LONGEST_READING)
        parameters = self._model.context_parameters()
        # Not causal: llama.cpp asserts that a text is read in one piece.
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = self.length
        parameters.n_seq_max = 1
        parameters.embeddings = True
        parameters.pooling_type = _RANK
        self._handle = self._library.llama_init_from_model(
            self._model.handle, parameters
        )
        if not self._handle:
            self._model.close()
            raise EngineError(f"the reranker cannot be run: {last_complaint()}")
        self._batch = Batch(self._library, self.length, 0)
        self._layout = self._laid_out(header.get("tokenizer.chat_template.rerank"))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, as the model's first output."""
        return [self._score(self.token_ids(query, text)) for text in texts]

    def token_ids(self, query: str, text: str) -> list[int]:
        """What the model reads, cut to what it can hold."""
        fixed = sum(len(part) for part in self._layout if isinstance(part, list))
        room = self.length - fixed
        if room < _LEAST_ROOM:
            raise EngineError("the reranker holds too few tokens for a text")
        tokenize = self._model.vocabulary.tokenize
        asked = tokenize(query)[: int(room * _QUERY_SHARE)]
        read = tokenize(text)[: room - len(asked)]
        ids: list[int] = []
        for part in self._layout:
            ids += part if isinstance(part, list) else asked if part == "q" else read
        return ids

    def close(self) -> None:
        """Free the model."""
        if self._handle is not None:
            self._library.llama_free(self._handle)
            self._handle = None
            self._model.close()

    def _laid_out(self, template: Any) -> list[list[int] | str]:
        """Fixed tokens, and where query ("q") and text ("t") stand."""
        tokenize = self._model.vocabulary.tokenize
        if isinstance(template, str):
            names = {"{query}": "q", "{document}": "t"}
            pieces = [piece for piece in _PLACE.split(template) if piece]
            return [names.get(piece) or tokenize(piece, True) for piece in pieces]
        library = self._library
        vocabulary = library.llama_model_get_vocab(self._model.handle)
        separator = library.llama_vocab_sep(vocabulary)
        end_id = library.llama_vocab_eos(vocabulary)
        # Each mark stands only where the vocabulary says that it is added.
        begin, end, between = (
            [token] if adds(vocabulary) and token >= 0 else []
            for adds, token in (
                (library.llama_vocab_get_add_bos, library.llama_vocab_bos(vocabulary)),
                (library.llama_vocab_get_add_eos, separator if end_id < 0 else end_id),
                (library.llama_vocab_get_add_sep, separator),
            )
        )
        return [begin, "q", end + between, "t", end]

    def _score(self, ids: Sequence[int]) -> float:
        self._batch.clear()
        self._batch.add(0, 0, ids, np.empty((len(ids), 0), np.float32))
        memory = self._library.llama_get_memory(self._handle)
        if memory:
            self._library.llama_memory_clear(memory, True)
        code = self._library.llama_decode(self._handle, self._batch.filled())
        found = self._library.llama_get_embeddings_seq(self._handle, 0)
        if code or not found:
            raise EngineError(f"the reranker failed ({code}): {last_complaint()}")
        return float(found[0])
