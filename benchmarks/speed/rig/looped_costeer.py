"""CoSteer with the loop that its paper runs for every token.

Ours needs no loop, as it collapses to a strength (`decoding_core.methods.costeer`). The
paper's goes T times over the whole vocabulary, and that is a part of the speed that its
authors report. So a row of its own has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoding_core.messages import Candidates
from decoding_core.methods import costeer
from decoding_core.sampling import Floats, log_softmax


@dataclass(frozen=True, slots=True)
class Method(costeer.CoSteer):
    """CoSteer, which also goes T times over the vocabulary.

    The device has the generalist's opinion of K candidates and not of all V tokens. So
    each token is drawn from what the loop collapses to, and the loop runs over noise of
    the size that the paper's has: what counts is its time.
    """

    vocabulary: int = 0

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """The steered distribution on the row's candidates."""
        large, base, small = np.random.default_rng(0).standard_normal(
            (3, self.vocabulary), np.float32
        )
        loop(large, base, small, costeer.STEPS)
        return costeer.CoSteer.target(self, specialist, row)


def loop(large: Floats, base: Floats, small: Floats, steps: int) -> Floats:
    """log pi_T (V,) from log-probabilities (V,), with the paper's alpha 2, beta 1,
    lambda 2 and eta 10. Source: CoSteer (arXiv 2507.04756), equation 7."""
    delta, last, utility = small - base, large, np.zeros_like(large)
    for step in range(1, steps + 1):
        utility = utility + 2.0 * (last - large) + delta
        last = utility + 2.0 * step * large + last / 10.0
        last = log_softmax(last / (2.0 * step + 0.1))
    return last
