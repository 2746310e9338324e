"""The runs of the attack, each result kept as soon as it is there, and the figures that
follow.

N candidate histories, E departures of a writer's texts, W writers.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.cache import Cache, code_id, sha256_of, versions
from benchmarks.intervals import wilson
from benchmarks.privacy.attack import Attacker, Bound, PublicView, Seen, seen_in
from benchmarks.privacy.device import Condition, Device, Text, WritingOptions
from benchmarks.privacy.worlds import Planted, Task, Writer, planted, shown_in
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.sampling import Floats
from edge_app.evaluation.figures import Estimate, Resamples
from edge_app.retrieval.context import PromptBuilder, find_passages
from models.running.settings import EngineSettings
from personal_store import Passage


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    options: WritingOptions
    threads: int
    seed: int
    tokens: int = 200
    """Departures that are counted of all texts of a writer together."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one condition gave for one text of one writer."""

    condition: str
    writer: int
    task: int
    text: Text
    sent: int
    """Tokens that left, each once."""
    evidence: Floats
    """(N, E): for each candidate history, of each departure; the writer's own is in the
    row that has the number of the writer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One secret that was asked around, and where it was read."""

    condition: str
    kind: str
    sent: bool
    """Whether the whole secret stood in what left."""
    refused_only: bool
    """Whether it stood in refused drafts alone, and not in the text."""
    written: bool
    """Whether it stood in the text as the person got it."""


class Runner:
    """Writes and attacks; the models are loaded with the first result that nobody
    kept."""

    def __init__(
        self,
        models: Mapping[str, Path],
        kept: Cache,
        plan: Plan,
        stop: threading.Event,
    ) -> None:
        self._models = dict(models)
        self._hashes = {role: sha256_of(path) for role, path in models.items()}
        self._kept = kept
        self._plan = plan
        self._stop = stop
        self._opened = ExitStack()
        self._device: Device | None = None
        self._attacker: Attacker | None = None

    @property
    def device(self) -> Device:
        """What writes."""
        if self._device is None:
            engine = EngineSettings(threads=self._plan.threads)
            made = Device(self._models, engine, self._plan.options, self._stop)
            self._device = self._opened.enter_context(closing(made))
        return self._device

    @property
    def attacker(self) -> Attacker:
        """What reads guesses."""
        if self._attacker is None:
            engine = EngineSettings(threads=self._plan.threads)
            files = self._models["specialist"], self._models["generalist"]
            made = Attacker(*files, engine, self._stop)
            self._attacker = self._opened.enter_context(closing(made))
        return self._attacker

    def close(self) -> None:
        """End the server, and free the models."""
        self._opened.close()

    def identified(
        self,
        writers: Sequence[Writer],
        targets: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
    ) -> list[Outcome]:
        """What each condition gave for the texts of the first `targets` writers, read
        beside the histories of all.

        Raises:
            StoppedError: the person stopped; what was done is kept.
        """
        found: list[Outcome] = []
        total = sum(len(one.tasks) for one in writers[:targets]) * len(writers)
        done = 0
        for number, writer in enumerate(writers[:targets]):
            for place, task in enumerate(writer.tasks):
                texts = self._written(writer, task, conditions, number, place)
                seen = {name: seen_in(text.entries) for name, text in texts.items()}
                bounds = {one.name: one.bound for one in conditions}

                def show(histories: int, before: int = done) -> None:
                    progress(before + histories, total)

                rows = self._read(writers, task, seen, bounds, show)
                done += len(writers)
                for name, text in texts.items():
                    evidence = np.array([row[name] for row in rows])
                    found.append(
                        Outcome(
                            name,
                            number,
                            place,
                            text,
                            len(seen[name].departures),
                            evidence,
                        )
                    )
        return found

    def secrets(
        self,
        count: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
    ) -> list[Asked]:
        """What became of `count` planted secrets under each condition."""
        found = []
        for number, one in enumerate(planted(count, self._plan.seed)):
            for condition in conditions:
                depends = self._depends("secret", one.writer, one.task, number)
                depends |= {"condition": asdict(condition)}

                def compute(
                    one: Planted = one,
                    condition: Condition = condition,
                    number: int = number,
                ) -> dict[str, Any]:
                    text = self.device.write(
                        one.writer, one.task.request, condition, self._seed(number)
                    )
                    detokenize = self.attacker.model.vocabulary.detokenize
                    seen = seen_in(text.entries)
                    sent, left = shown_in(one.secret, seen, detokenize)
                    return {
                        "sent": sent,
                        "refused_only": left,
                        "written": one.stands_in(text.text),
                    }

                body = self._kept.result(depends, compute)
                found.append(Asked(condition.name, one.kind, **body))
            progress(number + 1, count)
        return found

    def _written(
        self,
        writer: Writer,
        task: Task,
        conditions: Sequence[Condition],
        number: int,
        place: int,
    ) -> dict[str, Text]:
        texts = {}
        for condition in conditions:
            depends = self._depends("text", writer, task, place)
            depends |= {"condition": asdict(condition)}

            def compute(condition: Condition = condition) -> dict[str, Any]:
                seed = self._seed(1000 * number + place)
                written = self.device.write(writer, task.request, condition, seed)
                return written.as_json()

            texts[condition.name] = Text.from_json(self._kept.result(depends, compute))
        return texts

    def _read(
        self,
        writers: Sequence[Writer],
        task: Task,
        seen: Mapping[str, Seen],
        bounds: Mapping[str, Bound | None],
        show: Callable[[int], None],
    ) -> list[dict[str, Floats]]:
        """The evidence of what left, under each writer's history; `show` is told how
        many are done."""
        views: dict[str, PublicView] = {}
        what = _hash({name: _as_json(one) for name, one in seen.items()})
        rows = []
        for writer in writers:
            if self._stop.is_set():
                raise StoppedError("stopped")

            def compute(writer: Writer = writer) -> dict[str, Any]:
                if not views:
                    views.update(self._views(seen, bounds))
                passages = find_passages(writer.history(), task.request)
                return self._evidence(views, task, passages)

            depends = self._depends("evidence", writer, task, 0) | {"seen": what}
            body = self._kept.result(depends, compute)
            rows.append({name: np.array(body[name]) for name in seen})
            show(len(rows))
        return rows

    def _views(
        self, seen: Mapping[str, Seen], bounds: Mapping[str, Bound | None]
    ) -> dict[str, PublicView]:
        top_p, most = self._plan.options.top_p, self._plan.tokens
        return {
            name: self.attacker.view(one, top_p, most, bounds[name])
            for name, one in seen.items()
        }

    def _evidence(
        self,
        views: Mapping[str, PublicView],
        task: Task,
        passages: Sequence[Passage],
    ) -> dict[str, Any]:
        try:
            prompts = self._builder().build(
                task.request, passages, "", self._plan.options.max_tokens
            )
            found = self.attacker.evidence(views, prompts.private_ids)
        except ContextFullError:
            found = {name: np.zeros(len(v.departures)) for name, v in views.items()}
        return {name: [round(float(x), 4) for x in row] for name, row in found.items()}

    def _builder(self) -> PromptBuilder:
        model, attacker = self.attacker.model, self.attacker
        length = attacker.guess.slots.context_length
        return PromptBuilder(model.vocabulary.tokenize, model.chat_template, length)

    def _seed(self, number: int) -> int:
        """A seed that nobody could guess stands for the one that the device draws."""
        return Random(f"{self._plan.seed} {number}").getrandbits(52)

    def _depends(
        self, kind: str, writer: Writer, task: Task, place: int
    ) -> dict[str, Any]:
        letters = [[one.kind, one.subject, one.text] for one in writer.letters]
        return {
            "kind": kind,
            "writer": [writer.name, _hash(letters)],
            "task": [place, asdict(task.request)],
            "plan": asdict(self._plan),
            "models": self._hashes,
            "code": code_id(),
            "versions": versions(),
        }


def _as_json(seen: Seen) -> Any:
    departures = [[list(d.prefix), d.token, d.origin] for d in seen.departures]
    return [list(seen.prompt), asdict(seen.terms), departures]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


GRID = (5, 10, 25, 50, 100, 200)
"""Tokens sent at which the curve is drawn."""
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
    evidence: Estimate
    """Nats a departure for the writer's own history, against none."""
    nats: float
    """The same in a text."""
    acceptance: Estimate
    sent: float
    """Tokens that left, for each token of the text."""
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
    *,
    among: Sequence[int],
    habits: tuple[Floats, Floats],
    secrets: Sequence[Asked],
    seed: int,
) -> Row:
    """The figures of one condition; `habits` are those that each text showed and had
    to show."""
    writers = sorted({one.writer for one in outcomes})
    of_writer = {w: [one for one in outcomes if one.writer == w] for w in writers}
    sums = {w: running(some) for w, some in of_writer.items()}
    found = []
    for count in among:
        for tokens in GRID:
            shares = [found_at(sums[w], w, tokens, count) for w in writers]
            reached = sum(sums[w].shape[1] >= tokens for w in writers)
            # All or none of few writers: a resample of them would claim certainty.
            near = wilson(sum(shares), len(writers))
            share = Estimate(near.value, near.low, near.high)
            found.append(Found(count, tokens, share, reached))
    by_text = Resamples([one.writer for one in outcomes], seed)
    own = [float(one.evidence[one.writer].sum()) for one in outcomes]
    counted = [one.evidence.shape[1] for one in outcomes]
    drafted = np.array([float(one.text.drafted) for one in outcomes])
    accepted = np.array([float(one.text.accepted) for one in outcomes])
    tokens_written = sum(one.text.tokens for one in outcomes)
    showed, had = habits
    kinds = {
        "left": [one.sent for one in secrets],
        "refused": [one.refused_only for one in secrets],
        "text": [one.written for one in secrets],
    }
    return Row(
        condition,
        len(outcomes),
        tuple(found),
        by_text.ratio(np.array(own), np.maximum(np.array(counted, float), 1e-9)),
        float(np.mean(own)),
        by_text.ratio(accepted, np.maximum(drafted, 1e-9)),
        sum(one.sent for one in outcomes) / max(tokens_written, 1),
        by_text.ratio(showed, had) if had.sum() else None,
        {name: float(np.mean(hits)) for name, hits in kinds.items() if hits},
    )
