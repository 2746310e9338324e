"""The verifier in this process: two engines and no socket.

It satisfies the interface that the client of a server does, so the whole system runs
in one process for tests, and for a person who has both models on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import (
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.protocols import Engine
from decoding_core.sampling import Floats
from decoding_core.verifier_role import VerifierRole, role_of
from decoding_core.verifying import judge


class Reader:
    """An engine that follows a text block by block."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._prompt: list[int] = []
        self._text: list[int] = []

    def open(self, request: OpenSession) -> None:
        """Begin a text; raises VocabularyMismatchError for one of other tokens."""
        if self._engine.vocabulary_id != request.vocabulary_id:
            raise VocabularyMismatchError(
                "the specialist and the generalist have different vocabularies"
            )
        self._engine.rollback(0)
        self._prompt, self._text = list(request.prompt_ids), list(request.text_ids)

    def read(self, block: DraftBlock) -> Floats:
        """Logits (G + 1, V) over a block; raises MessageError if it does not follow."""
        if digest(self._text[: block.position]) != block.digest:
            raise MessageError("the block does not follow the text")
        self._text[block.position :] = [*block.settled, *block.drafted]
        known = len(self._prompt) + block.position
        rows = len(block.drafted) + 1
        return read_on(self._engine, self._prompt + self._text, known, rows)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._engine.rollback(0)
        self._prompt, self._text = [], []


class EngineVerifier:
    """Judges drafts with a generalist and a base engine, which must be there where the
    base runs in the cloud."""

    local = False

    def __init__(self, generalist: Engine, base: Engine | None = None) -> None:
        self._generalist = Reader(generalist)
        self._base = None if base is None else Reader(base)
        self._duty: VerifierRole | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text.

        Raises:
            VocabularyMismatchError: an engine has another vocabulary than the device.
            UnknownMethodError: there is no such method.
            MessageError: the method needs a base, and there is none.
        """
        self._duty = role_of(request.terms)
        if self._duty.uses_base and self._base is None:
            raise MessageError("the method needs a base, and there is none here")
        self._generalist.open(request)
        if self._base is not None:
            self._base.open(request)
        return SessionOpened("in-process", "generalist", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Judge one block; raises MessageError if it does not follow the text."""
        if self._duty is None:
            raise MessageError("verify was called before open")
        judged, compared = self._generalist.read(block), None
        if self._duty.uses_base and self._base is not None:
            compared = self._base.read(block)
        return judge(block, judged, compared, self._duty)

    def close(self) -> None:
        """Forget the text; the engines stay usable for the next."""
        self._generalist.close()
        if self._base is not None:
            self._base.close()
        self._duty = None


def read_on(engine: Engine, token_ids: Sequence[int], known: int, rows: int) -> Floats:
    """Bring an engine to the end of `token_ids`, of which the first `known` are as when
    it read them; logits (rows, V) after each of the last `rows` tokens."""
    start = min(engine.position, known, len(token_ids) - rows)
    if start < engine.position:
        engine.rollback(start)
    return engine.evaluate(token_ids[start:], rows)
