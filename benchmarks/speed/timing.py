"""Parts that add up the time spent inside them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict
from decoding_core.protocols import Engine, Verifier
from decoding_core.sampling import Floats


class TimedEngine:
    """An engine and the seconds it took."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0
        self.calls = 0

    @property
    def tokens(self) -> list[int]:
        """What it has read."""
        return self._engine.tokens

    @property
    def position(self) -> int:
        """How many tokens it has read."""
        return self._engine.position

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self._engine.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read on, with the clock running."""
        started = time.perf_counter()
        logits = self._engine.evaluate(token_ids, rows)
        self.seconds += time.perf_counter() - started
        self.calls += 1
        return logits

    def rollback(self, position: int) -> None:
        """Forget, with the clock running."""
        started = time.perf_counter()
        self._engine.rollback(position)
        self.seconds += time.perf_counter() - started

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


class TimedVerifier:
    """A verifier and the seconds spent waiting for it."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.seconds = 0.0

    @property
    def local(self) -> bool:
        """Whether it keeps everything."""
        return self._verifier.local

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text, with the clock running."""
        started = time.perf_counter()
        opened = self._verifier.open(request)
        self.seconds += time.perf_counter() - started
        return opened

    def submit(self, block: DraftBlock) -> None:
        """Hand over a block, with the clock running."""
        started = time.perf_counter()
        self._verifier.submit(block)
        self.seconds += time.perf_counter() - started

    def collect(self) -> Verdict:
        """Wait for the verdict, with the clock running."""
        started = time.perf_counter()
        verdict = self._verifier.collect()
        self.seconds += time.perf_counter() - started
        return verdict

    def ready(self) -> bool:
        """Whether a verdict is there."""
        return self._verifier.ready()

    def close(self) -> None:
        """End the text."""
        self._verifier.close()
