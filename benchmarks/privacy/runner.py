"""The runs of the attack, each result kept as soon as it is there, and the figures that
follow.

N candidate histories, E departures of a writer's texts, W writers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from math import comb
from random import Random
from typing import Any

import numpy as np

from benchmarks.content.judging import shows
from benchmarks.intervals import wilson
from benchmarks.pair import Bench
from benchmarks.privacy.attack import Bound, PublicView, Seen, evidence_of, seen_in
from benchmarks.privacy.device import Condition, Device, Text, WritingOptions
from benchmarks.privacy.worlds import Planted, Task, Writer, planted, shown_in
from decoding_core.errors import ContextFullError
from decoding_core.sampling import Floats
from edge_app.evaluation.figures import Estimate, Resamples
from edge_app.retrieval.context import find_passages


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one condition gave for one text of one writer."""

    condition: str
    writer: int
    task: int
    text: Text
    sent: int  # tokens that left, each once
    evidence: Floats
    """(N, E): for each candidate history, of each departure; the writer's own is in the
    row that has the number of the writer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One secret that was asked around, and where it was read."""

    condition: str
    kind: str
    sent: bool  # whether the whole secret stood in what left
    refused_only: bool  # whether it stood in refused drafts alone, and not in the text
    written: bool  # whether it stood in the text as the person got it


class Runner:
    """Writes and attacks."""

    def __init__(
        self, bench: Bench, options: WritingOptions, seed: int, tokens: int
    ) -> None:
        """`tokens` departures of a text are counted at most."""
        self._bench = bench
        self._options = options
        self._base_seed = seed
        self._tokens = tokens

    @cached_property
    def device(self) -> Device:
        """What writes."""
        bench = self._bench
        made = Device(bench.models, bench.engine, self._options, bench.stop)
        return bench.opened.enter_context(closing(made))

    def identified(
        self,
        writers: Sequence[Writer],
        targets: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
    ) -> list[Outcome]:
        """What each condition gave for the texts of the first `targets` writers, read
        beside the histories of all. Raises StoppedError if the person stopped; what was
        done is kept."""
        found: list[Outcome] = []
        asked = [
            (number, place, task)
            for number, writer in enumerate(writers[:targets])
            for place, task in enumerate(writer.tasks)
        ]
        for count, (number, place, task) in enumerate(asked):
            writer, texts = writers[number], {}
            for condition in conditions:
                depends = self._depends("text", writer, task, place)
                body = self._bench.result(
                    {**depends, "condition": asdict(condition)},
                    partial(
                        self._written, writer, task, condition, 1000 * number + place
                    ),
                )
                texts[condition.name] = Text.from_json(body)
            seen = {name: seen_in(text.entries) for name, text in texts.items()}
            bounds = {one.name: one.bound for one in conditions}
            views = cache(partial(self._views, seen, bounds))
            what = _hash({name: _as_json(one) for name, one in seen.items()})
            rows = []
            for other in writers:
                depends = self._depends("evidence", other, task, 0) | {"seen": what}
                read = partial(self._evidence, views, task, other)
                rows.append(self._bench.result(depends, read))
                progress(count * len(writers) + len(rows), len(asked) * len(writers))
            found += [
                Outcome(
                    *(name, number, place, text, len(seen[name].departures)),
                    np.array([row[name] for row in rows]),
                )
                for name, text in texts.items()
            ]
        return found

    def secrets(
        self,
        count: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
    ) -> list[Asked]:
        """What became of `count` planted secrets under each condition."""
        found = []
        for number, one in enumerate(planted(count, self._base_seed)):
            for condition in conditions:
                depends = self._depends("secret", one.writer, one.task, number)
                body = self._bench.result(
                    {**depends, "condition": asdict(condition)},
                    partial(self._secret, one, condition, number),
                )
                found.append(Asked(condition.name, one.kind, **body))
            progress(number + 1, count)
        return found

    def _written(
        self, writer: Writer, task: Task, condition: Condition, number: int
    ) -> dict[str, Any]:
        """A text, with a seed that nobody could guess, as the device draws one."""
        seed = Random(f"{self._base_seed} {number}").getrandbits(52)
        return self.device.write(writer, task.request, condition, seed).as_json()

    def _secret(
        self, one: Planted, condition: Condition, number: int
    ) -> dict[str, Any]:
        text = Text.from_json(self._written(one.writer, one.task, condition, number))
        detokenize = self._bench.pair.small.vocabulary.detokenize
        sent, left = shown_in(one.secret, seen_in(text.entries), detokenize)
        written = one.stands_in(text.text)
        return {"sent": sent, "refused_only": left, "written": written}

    def _views(
        self, seen: Mapping[str, Seen], bounds: Mapping[str, Bound | None]
    ) -> dict[str, PublicView]:
        """Each text as the server reads it."""
        pair, top_p, most = self._bench.pair, self._options.top_p, self._tokens
        return {
            name: PublicView(one, top_p, pair.base, pair.generalist, most, bounds[name])
            for name, one in seen.items()
        }

    def _evidence(
        self, views: Callable[[], Mapping[str, PublicView]], task: Task, writer: Writer
    ) -> dict[str, Any]:
        """The evidence of what left, under a writer's history."""
        passages = find_passages(writer.history(), task.request)
        pair, most = self._bench.pair, self._options.max_tokens
        try:
            prompts = pair.builder().build(task.request, passages, "", most)
            found = evidence_of(pair.specialist, views(), prompts.private_ids)
        except ContextFullError:
            found = {name: np.zeros(len(v.departures)) for name, v in views().items()}
        return {name: [round(float(x), 4) for x in row] for name, row in found.items()}

    def _depends(
        self, kind: str, writer: Writer, task: Task, place: int
    ) -> dict[str, Any]:
        letters = [[one.kind, one.subject, one.text] for one in writer.letters]
        return {
            "kind": kind,
            "writer": [writer.name, _hash(letters)],
            "task": [place, asdict(task.request)],
            "plan": [asdict(self._options), self._base_seed, self._tokens],
        }


def _as_json(seen: Seen) -> Any:
    departures = [[list(d.prefix), d.token, d.origin] for d in seen.departures]
    return [list(seen.prompt), asdict(seen.terms), departures]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


GRID = (5, 10, 25, 50, 100, 200)  # tokens sent at which the curve is drawn
_TIED = 1e-9


@dataclass(frozen=True, slots=True)
class Found:
    """The share of writers that were found among `among` histories."""

    among: int
    tokens: int
    share: Estimate
    reached: int
    """Writers whose texts were so long; of the others all that there was counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """One condition."""

    condition: str
    texts: int
    found: tuple[Found, ...]
    evidence: Estimate  # nats a departure for the writer's own history, against none
    nats: float  # the same in a text
    acceptance: Estimate
    sent: float  # tokens that left, for each token of the text
    habits: Estimate | None
    secrets: dict[str, float]
    """Share of the planted secrets: that left, in refused drafts alone, in the text."""


def chance_of_first(above: float, tied: float, others: int, among: int) -> float:
    """The chance that the true history has the most evidence of `among` histories: it
    and others drawn from `others`, of which `above` have more and `tied` as much. Ties
    are drawn."""
    most = among - 1
    if most >= others:
        return 0.0 if above else 1.0 / (1.0 + tied)
    total, below = comb(others, most), others - int(above) - int(tied)
    share = 0.0
    for equal in range(int(tied) + 1):
        if most - equal >= 0:
            ways = comb(int(tied), equal) * comb(below, most - equal)
            share += ways / total / (equal + 1)
    return share


def running(outcomes: Sequence[Outcome]) -> Floats:
    """Evidence (N, E) of a writer's texts one after the other, summed up to each
    departure."""
    rows = [outcome.evidence for outcome in outcomes]
    return np.cumsum(np.concatenate(rows, axis=1), axis=1)


def found_at(sums: Floats, own: int, tokens: int, among: int) -> float:
    """The chance that the writer is found by the first `tokens` departures."""
    if sums.shape[1] == 0:
        return 1.0 / among
    column = sums[:, min(tokens, sums.shape[1]) - 1]
    others = np.delete(column, own)
    above = int((others > column[own] + _TIED).sum())
    tied = int((abs(others - column[own]) <= _TIED).sum())
    return chance_of_first(above, tied, len(others), among)


def row_of(
    condition: str,
    outcomes: Sequence[Outcome],
    writers: Sequence[Writer],
    secrets: Sequence[Asked],
    among: Sequence[int],
    seed: int,
) -> Row:
    """The figures of one condition, of its own texts and secrets."""
    outcomes = [one for one in outcomes if one.condition == condition]
    secrets = [one for one in secrets if one.condition == condition]
    attacked = sorted({one.writer for one in outcomes})
    sums = {w: running([o for o in outcomes if o.writer == w]) for w in attacked}
    found = []
    for count in among:
        for tokens in GRID:
            shares = [found_at(sums[w], w, tokens, count) for w in attacked]
            reached = sum(sums[w].shape[1] >= tokens for w in attacked)
            # All or none of few writers: a resample of them would claim certainty.
            share = wilson(sum(shares), len(attacked))
            found.append(Found(count, tokens, share, reached))
    counted = []
    for one in outcomes:
        habits = writers[one.writer].tasks[one.task].habits
        counted.append(
            (
                one.evidence[one.writer].sum(),
                one.evidence.shape[1],
                one.text.drafted,
                one.text.accepted,
                sum(shows(one.text.text, *habit) for habit in habits),
                len(habits),
            )
        )
    own, departures, drafted, accepted, showed, had = np.array(counted, float).T
    by_text = Resamples([one.writer for one in outcomes], seed)
    tokens_written = sum(one.text.tokens for one in outcomes)
    kinds = {
        "left": [one.sent for one in secrets],
        "refused": [one.refused_only for one in secrets],
        "text": [one.written for one in secrets],
    }
    return Row(
        condition,
        len(outcomes),
        tuple(found),
        by_text.ratio(own, np.maximum(departures, 1e-9)),
        float(np.mean(own)),
        by_text.ratio(accepted, np.maximum(drafted, 1e-9)),
        sum(one.sent for one in outcomes) / max(tokens_written, 1),
        by_text.ratio(showed, had) if had.sum() else None,
        {name: float(np.mean(hits)) for name, hits in kinds.items() if hits},
    )
