"""The vocabulary of a GGUF model: text to ids, ids to bytes, and its identity."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from decoding_core.errors import EngineError
from models.engines.llama_library import load_library


class LlamaVocabulary:
    """Tokenizer of a loaded model; it lives no longer than the model."""

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
        if token_id not in self._pieces:
            self._pieces[token_id] = self._read_piece(token_id)
        return self._pieces[token_id]

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Text of token ids; broken characters become U+FFFD."""
        data = b"".join(self.piece(token) for token in token_ids)
        return data.decode("utf-8", "replace")

    def _read_piece(self, token_id: int) -> bytes:
        if not 0 <= token_id < self.size:
            raise EngineError(f"{token_id} is no token of this vocabulary")
        for room in (64, 4096):
            buffer = ctypes.create_string_buffer(room)
            count = self._library.llama_token_to_piece(
                self._vocabulary, token_id, buffer, room, 0, False
            )
            if count >= 0:
                return buffer.raw[:count]
        raise EngineError(f"token {token_id} is longer than any token should be")
