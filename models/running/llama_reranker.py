"""A reranker by llama.cpp's rank pooling: it reads a query beside a text and answers
with one number.

Its tokens are laid out as by llama.cpp's own server: by the file's template, else as
[bos] query [eos] [sep] text [eos], as far as the vocabulary says that these are added.
What would trip an assertion in C is checked here first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from decoding_core.errors import EngineError, ModelError
from models.engines.llama_cpp import Batch, LlamaModel
from models.files import find
from models.gguf_header import read_header
from models.running.llama_library import last_complaint, load_library
from models.running.settings import EngineSettings

RANK = 4
"""LLAMA_POOLING_TYPE_RANK, as files name it."""
_LONGEST = 1024
"""Tokens read at once at most; longer texts are cut."""
_LEAST = 16
_QUERY_SHARE = 0.5
_PLACE = re.compile(r"(\{query\}|\{document\})")


class LlamaReranker:
    """Scores how well texts answer a query."""

    def __init__(self, path: Path, settings: EngineSettings | None = None) -> None:
        """Load the reranker at `path`.

        Raises:
            ModelError: it is missing, damaged or no reranker: with another model
                llama.cpp gives meaningless numbers, or ends the process.
            EngineError: the memory cannot be had.
        """
        header = read_header(find(path))
        kind = header.get("general.architecture")
        if header.get(f"{kind}.pooling_type") != RANK:
            raise ModelError(
                f"{path} is no reranker: its file does not name rank pooling; give a "
                "GGUF file of a reranker such as bge-reranker, or leave the setting out"
            )
        self._model = LlamaModel(path, settings)
        self._library = load_library()
        self.length = min(self._model.context_length, _LONGEST)
        parameters = self._model.context_parameters()
        # Not causal: llama.cpp asserts that a text is read in one piece.
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = self.length
        parameters.n_seq_max = 1
        parameters.embeddings = True
        parameters.pooling_type = RANK
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
        if room < _LEAST:
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
