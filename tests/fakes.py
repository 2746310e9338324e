"""Scripted parts: an engine whose logits depend on what it read, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pytest

from decoding_core.errors import ContextFullError, EngineError
from edge_app.decoding.session import Patience, VerifierSession


@lru_cache(100_000)
def _normal(key, spread, size):
    return np.random.default_rng(zlib.crc32(key.encode())).normal(0, spread, size)


class HashEngine:
    """Logits are a random function of the last `memory` tokens; fully repeatable."""

    def __init__(self, name, vocabulary=17, memory=3, spread=2.0, context=10_000):
        self.name, self.size, self.memory = name, vocabulary, memory
        self.spread, self.context = spread, context
        self.read: list[int] = []
        self.evaluations: list[int] = []

    vocabulary_id = "fake"

    @property
    def tokens(self):
        return self.read

    @property
    def position(self):
        return len(self.read)

    def evaluate(self, token_ids: Sequence[int], rows: int = 1):
        if not 1 <= rows <= len(token_ids):
            raise EngineError("rows")
        if len(self.read) + len(token_ids) > self.context:
            raise ContextFullError("full")
        self.evaluations.append(len(token_ids))
        logits = []
        for token in token_ids:
            self.read.append(int(token))
            logits.append(self.logits())
        return np.array(logits[-rows:], np.float32)

    def logits(self):
        key = f"{self.name}:{self.read[-self.memory :]}"
        return _normal(key, self.spread, self.size)

    def rollback(self, position):
        assert 0 <= position <= len(self.read)
        del self.read[position:]

    def close(self):
        self.rollback(0)


class WidthEngine(HashEngine):
    """As llama.cpp does, gives a token that is read alone other figures than one that
    is read with others."""

    def __init__(self, name):
        super().__init__(name)
        self.alone: list[bool] = []

    @property
    def tokens(self):
        return self.read[: (*self.alone, True).index(True)]

    def evaluate(self, token_ids: Sequence[int], rows: int = 1):
        self.alone += [len(token_ids) == 1] * len(token_ids)
        return super().evaluate(token_ids, rows)

    def logits(self):
        size = len(self.read)
        key = f"{self.name}:{self.read[-self.memory :]}"
        key += f"{self.alone[:size][-self.memory :]}"
        return _normal(key, self.spread, self.size)

    def rollback(self, position):
        super().rollback(position)
        del self.alone[position:]


class TableEngine(HashEngine):
    """Always prefers the next token of a script, by its position in the text."""

    def __init__(self, script: Sequence[int], prompt_length: int, vocabulary=17):
        super().__init__("table", vocabulary)
        self.script, self.prompt_length = script, prompt_length

    def logits(self):
        at = len(self.read) - self.prompt_length
        logits = np.zeros(self.size)
        if 0 <= at < len(self.script):
            logits[self.script[at]] = 5.0
        return logits


def verdict_on(verifier, block):
    """The verdict of any verifier on one block."""
    verifier.submit(block)
    return verifier.collect()


def opened_session(verifier, request, **options):
    """A session that says nothing and waits for nobody, opened."""
    options = {"may_go_offline": False, "patience": Patience(pauses=()), **options}
    session = VerifierSession(verifier, request, lambda _: None, **options)
    session.open()
    return session


def seeds(few, many):
    """The parameter `seeds` of a test: few in the fast suite, many in the slow one, the
    few among them."""
    more = pytest.param(range(many), id=f"{many} seeds", marks=pytest.mark.slow)
    return pytest.mark.parametrize(
        "seeds", [pytest.param(range(few), id=f"{few} seeds"), more]
    )
