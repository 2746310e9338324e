"""Every arm on every query, each result kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from benchmarks.quality import likely
from benchmarks.quality.cache import Cache
from benchmarks.quality.lab import Asked, Lab, Outcome
from benchmarks.quality.metrics import NamedScorer
from benchmarks.quality.query import Query
from benchmarks.quality.sweep import Arm
from decoding_core.errors import ContextFullError, StoppedError
from edge_app.retrieval.personalisation import USUAL


@dataclass(frozen=True, slots=True)
class Result:
    """One arm on one query."""

    query: Query
    arm: Arm
    outcome: Outcome | None
    """None where the arm cannot write so."""
    score: float | None
    """Of the scorer that was asked for."""
    size: int
    """Bytes of the true text that were counted."""
    nats: float | None
    """Of those, under the arm's target; None where it has none."""


class Runner:
    """Goes through queries and arms."""

    def __init__(
        self,
        lab: Lab,
        cache: Cache,
        arms: Sequence[Arm],
        scorer: NamedScorer | None = None,
    ) -> None:
        self._lab = lab
        self._cache = cache
        self._arms = arms
        self._scorer = scorer
        found = {likely.target_of(arm.settings) for arm in arms} - {None}
        self._targets = sorted((t for t in found if t), key=lambda t: t.key)
        self.crowded = 0
        """Queries whose prompts left no room for a text."""

    def run(
        self, queries: Sequence[Query], progress: Callable[[int, int], None]
    ) -> Iterator[Result]:
        """A result for each query and arm; `progress` is told of each.

        Raises:
            StoppedError: the person stopped.
        """
        total = len(queries) * len(self._arms)
        for number, query in enumerate(queries):
            try:
                yield from self._query(query, number * len(self._arms), total, progress)
            except ContextFullError:
                self.crowded += 1
            progress((number + 1) * len(self._arms), total)

    def _query(
        self, query: Query, done: int, total: int, progress: Callable[[int, int], None]
    ) -> Iterator[Result]:
        asked = Asked(query, self._lab)
        there = asked.histories(self._arms)
        likelihoods = {}
        for history in there if query.text else ():
            keys = {"targets": [target.key for target in self._targets]}
            found = self._kept(
                asked.depends("nats", history) | keys,
                partial(asked.measured, self._targets, history),
            )
            likelihoods[history] = likely.Likelihood.of(found)
        for count, arm in enumerate(self._arms):
            if self._lab.stop.is_set():
                raise StoppedError("stopped")
            history = arm.history or USUAL
            if history not in there:
                continue
            outcome = None
            if not arm.refusal:
                depends = asked.depends("text", history)
                depends |= {"settings": asdict(arm.settings)}
                depends["wire"] = "socket" if self._lab.how.socket else "frames"
                outcome = Outcome(**self._kept(depends, partial(asked.written, arm)))
            score = None if outcome is None else self._score(asked, arm, outcome)
            target = likely.target_of(arm.settings)
            likelihood = likelihoods.get(history)
            nats = likelihood.nats.get(target.key) if target and likelihood else None
            size = likelihood.size if likelihood else 0
            yield Result(query, arm, outcome, score, size, nats)
            progress(done + count, total)

    def _score(self, asked: Asked, arm: Arm, outcome: Outcome) -> float | None:
        """What the scorer says of a text; None where there is no scorer."""
        scorer = self._scorer
        if scorer is None:
            return None
        depends = asked.depends("score", arm.history or USUAL)
        depends |= {"settings": asdict(arm.settings)}
        depends |= {"scorer": scorer.name, "text": outcome.text}
        found = self._kept(
            depends, lambda: {"score": scorer.score(asked.query, outcome.text)}
        )
        return float(found["score"])

    def _kept(
        self, depends: dict[str, Any], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """A result, from the cache or for it; prompts without room are kept, too."""
        found = self._cache.get(depends)
        if found is None:
            try:
                found = compute()
            except ContextFullError as error:
                found = {"crowded": str(error)}
            self._cache.put(depends, found)
        if "crowded" in found:
            raise ContextFullError(found["crowded"])
        return found
