"""How well a method predicts the true text: the nats of its own target.

B, S and L are read once for a text; the targets of all methods follow from them. The
temperature is 1 and nothing is cut, whatever the method writes with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.pair.pair import Pair
from benchmarks.quality.query import Query
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from edge_app.evaluation.likelihood import Readers, read
from edge_app.evaluation.pair import end_of_turn
from edge_app.retrieval.context import Prompts


@dataclass(frozen=True, slots=True)
class Target:
    """What a method would draw from at every place, if nothing were cut."""

    name: str
    """B, S, L, `L with history`, T, or `clipped`: S * min(L/B, threshold) / norm."""
    value: float = 0.0
    """The strength of T, or the threshold."""

    @property
    def key(self) -> str:
        """Such as `T 0.5`."""
        return (
            f"{self.name} {self.value:.12g}"
            if self.name in ("T", "clipped")
            else self.name
        )


@dataclass(frozen=True, slots=True)
class Likelihood:
    """What a true text costs."""

    size: int
    """Bytes that were counted."""
    nats: dict[str, float]
    """Of all of them, by the key of a target."""

    @classmethod
    def of(cls, body: dict[str, Any]) -> Likelihood:
        """From what `asdict` made."""
        return cls(int(body["size"]), dict(body["nats"]))


def target_of(settings: MethodSettings) -> Target | None:
    """The target of a method; None where it has none that can be written down.

    Steering aims at T, though what it emits is a mixture. Cut as `contrast` is, a
    target gives most true texts no probability at all.
    """
    settings = replace(settings, temperature=1.0, base="cloud")
    method = build(settings)
    role, reader = role_of(settings.terms(), method), method.reads_history
    if not role.uses_generalist:
        if role.uses_base:
            return None
        return Target("B" if reader == "nobody" else "S")
    if not role.uses_base:
        return Target("L with history" if reader == "generalist" else "L")
    strength = getattr(method, "strength", None)
    if strength is not None:
        return Target("T", float(strength))
    if settings.threshold == "auto":
        return None
    return Target("clipped", float(settings.threshold))


def measured(
    pair: Pair, query: Query, prompts: Prompts, targets: list[Target], max_tokens: int
) -> Likelihood:
    """What the true text of a query costs under some targets.

    Raises:
        ContextFullError: prompt and text do not fit.
        StoppedError: the person stopped.
    """
    vocabulary = pair.small.vocabulary
    text = vocabulary.tokenize(query.text)
    ids = text[:max_tokens]
    size = sum(len(vocabulary.piece(token)) for token in ids)
    end = end_of_turn(pair.small)
    if len(ids) == len(text) and end is not None:
        ids = [*ids, end]
    return Likelihood(size, nats_of(pair.readers(prompts), ids, targets))


def nats_of(
    readers: Readers, ids: Sequence[int], targets: Sequence[Target]
) -> dict[str, float]:
    """What `ids` cost together after the prompts of the readers: under B, S and L, and
    under each target by its key."""
    strengths = sorted({t.value for t in targets if t.name == "T"})
    limits = sorted({t.value for t in targets if t.name == "clipped"})
    opinions = read(readers, ids, strengths, limits)
    costs = {
        "B": opinions.base,
        "S": opinions.specialist,
        "L": opinions.generalist,
    }
    for row, strength in enumerate(strengths):
        costs[Target("T", strength).key] = opinions.steered[row]
    log_ratio = opinions.base - opinions.generalist
    for row, limit in enumerate(limits):
        stays = np.minimum(log_ratio - np.log(limit), 0.0) if limit else 0.0
        norm = np.log(opinions.kept[row])
        costs[Target("clipped", limit).key] = opinions.specialist - stays + norm
    nats = {name: float(each.sum()) for name, each in costs.items()}
    if any(target.name == "L with history" for target in targets):
        told = replace(readers, public_ids=readers.private_ids)
        informed = read(told, ids, (), ()).generalist
        nats[Target("L with history").key] = float(informed.sum())
    return nats


def as_json(likelihood: Likelihood) -> dict[str, Any]:
    """What `Likelihood.of` reads."""
    return asdict(likelihood)
