"""PAD: the likeliest tokens of a model, weighed anew by a tuned one at each step.

At each place K are the `CANDIDATES` likeliest tokens under the policy P. With the tuned
model A, and P itself as the reference of its reward,

    S(v) = P(K) * P(v) * (A(v) / P(v))^weight / Z   in K
    S(v) = P(v)                                     elsewhere

where Z makes K keep its mass P(K). The authors draw from K alone; here the rest stays
possible, so that a method may compare S with other models at any token. The likeliest
token is the authors': the best of K has P(K) / K at least, and no other token more.

Source: PAD (Chen et al. 2024, arXiv 2410.04070; inference/PAD.py, `generate_step`:
policy and tuned model read the same text, the policy is the reference; 10 candidates
and the weight 0.6 as in configs/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.protocols import Engine
from decoding_core.sampling import Floats, log_softmax
from decoding_core.verifier import common_prefix

CANDIDATES = 10
WEIGHT = 0.6


def rescored(
    policy: Floats, tuned: Floats, weight: float = WEIGHT, candidates: int = CANDIDATES
) -> Floats:
    """log S (T, V) from the logits (T, V) of both models."""
    logs = log_softmax(policy.astype(np.float64))
    count = min(candidates, logs.shape[-1])
    likely = np.argpartition(-logs, count - 1, axis=-1)[..., :count]
    before = np.take_along_axis(logs, likely, -1)
    reward = np.take_along_axis(log_softmax(tuned.astype(np.float64)), likely, -1)
    after = log_softmax(before + weight * (reward - before))
    mass = np.logaddexp.reduce(before, axis=-1, keepdims=True)
    np.put_along_axis(logs, likely, after + mass, -1)
    return np.asarray(logs)


@dataclass(frozen=True, slots=True)
class RescoredEngine:
    """An `Engine` whose logits are `rescored`: two engines that read the same text."""

    policy: Engine
    tuned: Engine

    @property
    def tokens(self) -> list[int]:
        """What both have read, or a part from its beginning."""
        read, other = self.policy.tokens, self.tuned.tokens
        return read[: common_prefix(read, other)]

    @property
    def position(self) -> int:
        """How many tokens both have read."""
        return min(self.policy.position, self.tuned.position)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the token list, which they share."""
        return self.policy.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read `token_ids` (T,) with both; log S (rows, V). Raises as an `Engine`."""
        self.rollback(self.position)  # one read further if the other was stopped
        policy = self.policy.evaluate(token_ids, rows)
        return rescored(policy, self.tuned.evaluate(token_ids, rows))

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        for engine in (self.policy, self.tuned):
            if engine.position != position:
                engine.rollback(position)

    def close(self) -> None:
        """Free both."""
        self.policy.close()
        self.tuned.close()
