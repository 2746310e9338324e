"""Nats of a true text, token by token, under the three models and the target.

T tokens of the text, V vocabulary, N strengths, K thresholds. The temperature is 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.errors import EngineError
from decoding_core.methods.steering import clipped_share, log_steered
from decoding_core.protocols import Engine
from decoding_core.sampling import Floats, log_softmax

_MOST_ROWS = 128
_MOST_LOGITS = 1 << 22
"""Numbers of one model in memory at once: 32 MB in float64."""


@dataclass(frozen=True, slots=True)
class Opinions:
    """What each token costs, in nats: -log of its probability."""

    base: Floats
    """(T,)"""
    specialist: Floats
    """(T,)"""
    generalist: Floats
    """(T,)"""
    steered: Floats
    """(N, T), a row per strength."""
    kept: Floats
    """(K, T): the share of the specialist's tokens that the server would keep at this
    place by the stochastic rule, a row per threshold."""

    def emitted(self, thresholds: Sequence[float]) -> Floats:
        """Costs (N, K, T) under what steering emits at a drafted place, by strength and
        threshold: the mixture S * min(1, (L/B) / threshold) + (1 - kept) * T of the
        stochastic rule."""
        log_ratio = self.base - self.generalist  # costs: log L - log B of the token
        costs = []
        for threshold, kept in zip(thresholds, self.kept, strict=True):
            clipped = 0.0
            if threshold > 0.0:
                clipped = np.minimum(log_ratio - np.log(threshold), 0.0)
            with np.errstate(divide="ignore"):  # all kept: nothing is drawn from T
                drawn = np.log(np.maximum(1.0 - kept, 0.0)) - self.steered
            costs.append(-np.logaddexp(clipped - self.specialist, drawn))
        return np.stack(costs, axis=1)


@dataclass(frozen=True, slots=True)
class Readers:
    """The three engines, each with the prompt it reads."""

    base: Engine
    specialist: Engine
    generalist: Engine
    public_ids: tuple[int, ...]
    private_ids: tuple[int, ...]

    def logits(
        self, token_ids: Sequence[int], rows: int
    ) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Logits (up to `rows`, V) of specialist, generalist and base, chunk by
        chunk: each row is what each thinks of the next of `token_ids`."""
        return zip(
            _rows(self.specialist, self.private_ids, token_ids, rows),
            _rows(self.generalist, self.public_ids, token_ids, rows),
            _rows(self.base, self.public_ids, token_ids, rows),
            strict=True,
        )


def read(
    readers: Readers,
    token_ids: Sequence[int],
    strengths: Sequence[float],
    thresholds: Sequence[float],
    rows: int | None = None,
) -> Opinions:
    """What the engines think of `token_ids` (T,) after their prompts.

    Raises:
        ContextFullError: prompt and text do not fit.
        StoppedError: the person stopped.
        EngineError: a model gave something that is no probability.
    """
    parts, start = [], 0
    for logits in readers.logits(token_ids, rows or _MOST_ROWS):
        specialist, generalist, base = (
            log_softmax(rows_of_one.astype(np.float64)) for rows_of_one in logits
        )
        ids = np.asarray(token_ids[start : start + len(specialist)])
        at = np.arange(len(ids)), ids
        costs = [-base[at], -specialist[at], -generalist[at]]
        costs += [
            -log_steered(specialist, generalist, base, strength)[at]
            for strength in strengths
        ]
        drafted, ratio = np.exp(specialist), generalist - base
        costs += [
            (drafted * clipped_share(ratio, threshold)).sum(axis=-1)
            for threshold in thresholds
        ]
        parts.append(np.stack(costs))
        start += len(ids)
    columns = np.concatenate(parts, axis=1)  # (3 + N + K, T)
    if not np.isfinite(columns).all():
        raise EngineError("a model gave numbers that are no probabilities")
    base, specialist, generalist, *others = columns
    targets, kept = others[: len(strengths)], others[len(strengths) :]
    return Opinions(base, specialist, generalist, np.array(targets), np.array(kept))


def _rows(
    engine: Engine, prompt_ids: Sequence[int], token_ids: Sequence[int], rows: int
) -> Iterator[Floats]:
    """Logits (up to `rows`, V) of each next of `token_ids`, in chunks of bounded
    size that are alike for engines of one vocabulary."""
    engine.rollback(0)
    first = engine.evaluate(prompt_ids, 1)
    yield first
    rows = max(1, min(rows, _MOST_LOGITS // first.shape[-1]))
    for start in range(0, len(token_ids) - 1, rows):
        chunk = token_ids[start : min(start + rows, len(token_ids) - 1)]
        yield engine.evaluate(chunk, len(chunk))
