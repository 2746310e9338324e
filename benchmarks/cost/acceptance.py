"""How much of its drafts a pair keeps, by threshold: measured by writing.

Requests by synthetic writers, whom no training has met, greedy drafts, the greedy rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from decoding_core.settings import MethodSettings


def measured(
    specialist: Path,
    generalist: Path,
    thresholds: Sequence[float],
    *,
    writers: int,
    tokens: int,
    draft_length: int,
    threads: int,
    told: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[float, float]:
    """Share of drafted tokens kept, over all texts of a threshold."""
    # The models take their time to load; figures of published shapes need none.
    from benchmarks.pair.pair import Pair
    from benchmarks.pair.synthetic_writers import emails_asked_for

    pair, examples = Pair(specialist, generalist, threads), emails_asked_for(writers, 0)
    found, done = {}, 0
    for threshold in thresholds:
        settings = MethodSettings(
            threshold=threshold, draft_length=draft_length, window=1
        )
        drafted = kept = 0
        for example in examples:
            statistics = pair.write(example, settings, tokens).statistics
            drafted += statistics.drafted
            kept += statistics.accepted
            done += 1
            told(done, len(thresholds) * len(examples))
        found[threshold] = kept / max(1, drafted)
    return found
