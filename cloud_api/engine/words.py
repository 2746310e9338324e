"""The generalist's own tokens, for devices whose model has others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from decoding_core.byte_space import ByteVocabulary
from decoding_core.wire_json import pieces_to_json, tokens_id, tokens_to_bytes
from models.running.interface import Language, bytes_of


class Words:
    """Prompts and texts in the generalist's tokens, and what these are in bytes."""

    def __init__(self, text: Callable[[], AbstractContextManager[Language]]) -> None:
        """`text` lends the generalist's vocabulary and chat template."""
        self._text = text

    @cached_property
    def vocabulary(self) -> ByteVocabulary:
        """The vocabulary by its bytes. Raises ModelError if the model rests and cannot
        be loaded any more; the first call takes a moment."""
        with self._text() as model:
            return bytes_of(model, self._tokenize)

    def prompt_ids(self, messages: Sequence[tuple[str, str]]) -> list[int]:
        """The tokens of a prompt; raises ModelError if the chat template does not take
        such messages."""
        from models.chat import prompt_ids
        from models.prompts import Message

        said = [Message(role, text) for role, text in messages]
        with self._text() as model:
            return prompt_ids(model.vocabulary.tokenize, model.chat_template, said)

    def page(self, start: int) -> dict[str, Any]:
        """The bytes of the tokens from `start` on, as many as one answer holds."""
        own = self.vocabulary
        return pieces_to_json(own.pieces, own.end_ids, self._id, start)

    @cached_property
    def _id(self) -> str:
        own = self.vocabulary
        return tokens_id(tokens_to_bytes(own.pieces, own.end_ids))

    def _tokenize(self, text: str) -> list[int]:
        with self._text() as model:
            return model.vocabulary.tokenize(text)
