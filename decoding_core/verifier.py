"""The verifier in this process: two engines and no socket.

It satisfies the interface that the client of a server does, so the whole system runs
in one process for tests, and for a person who has both models on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.judging import judge
from decoding_core.messages import (
    DraftBlock,
    OpenSession,
    SessionOpened,
    Terms,
    Verdict,
    digest,
)
from decoding_core.methods import build_for_server
from decoding_core.protocols import Engine, Method
from decoding_core.sampling import Floats


class EngineVerifier:
    """Judges drafts with a generalist and a base engine."""

    local = False

    def __init__(self, generalist: Engine, base: Engine) -> None:
        self._engines = generalist, base
        self._prompt: list[int] = []
        self._text: list[int] = []
        self._terms: Terms | None = None
        self._method: Method | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text.

        Raises:
            VocabularyMismatchError: an engine has another vocabulary than the device.
            UnknownMethodError: there is no such method.
        """
        for engine in self._engines:
            if engine.vocabulary_id != request.vocabulary_id:
                raise VocabularyMismatchError(
                    "the specialist and the generalist have different vocabularies"
                )
            engine.rollback(0)
        self._method = build_for_server(request.terms)
        self._terms = request.terms
        self._prompt, self._text = list(request.prompt_ids), list(request.text_ids)
        return SessionOpened("in-process", "generalist", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Judge one block; raises MessageError if it does not follow the text."""
        if self._terms is None or self._method is None:
            raise MessageError("verify was called before open")
        if digest(self._text[: block.position]) != block.digest:
            raise MessageError("the block does not follow the text")
        self._text[block.position :] = [*block.settled, *block.drafted]
        known = len(self._prompt) + block.position
        token_ids = self._prompt + self._text
        rows = len(block.drafted) + 1
        generalist, base = self._engines
        judged = read_on(generalist, token_ids, known, rows)
        compared = None
        if self._method.uses_base:
            compared = read_on(base, token_ids, known, rows)
        return judge(block, judged, compared, self._method, self._terms)

    def close(self) -> None:
        """Forget the text; the engines stay usable for the next."""
        for engine in self._engines:
            engine.rollback(0)
        self._prompt, self._text, self._terms = [], [], None


def read_on(engine: Engine, token_ids: Sequence[int], known: int, rows: int) -> Floats:
    """Bring an engine to the end of `token_ids`, of which the first `known` are as when
    it read them; logits (rows, V) after each of the last `rows` tokens."""
    start = min(engine.position, known, len(token_ids) - rows)
    if start < engine.position:
        engine.rollback(start)
    return engine.evaluate(token_ids[start:], rows)
