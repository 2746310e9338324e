"""Methods and settings to compare: every combination that makes a difference, and what
each would draw from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from decoding_core.errors import InvalidSettingsError
from decoding_core.methods import build
from decoding_core.settings import MethodSettings, Threshold
from decoding_core.verifier import VerifierRole, role_of
from edge_app.evaluation.pair import Readers, ReadersOfTwo, read
from edge_app.retrieval.context import Prompts
from edge_app.retrieval.personalisation import USUAL
from edge_app.service.text_job import as_read

RERANKED = "bm25+reranker"  # the past texts of bm25 that a reranker puts first
_USUAL = MethodSettings()


@dataclass(frozen=True, slots=True)
class Arm:
    """One method at one setting; a row of the table for each set."""

    settings: MethodSettings
    threshold: Threshold | None  # None if it makes no difference
    strength: float | None
    refusal: str = ""
    """Why it cannot write with these settings; then only its target is measured."""
    steps: int | None = None  # of CoSteer's loop
    history: str | None = None
    """How the past texts that it reads are chosen: a personalisation, or `RERANKED`;
    None if it reads none."""

    @property
    def method(self) -> str:
        """Its name."""
        return self.settings.method


def arms(
    methods: Sequence[str],
    usual: MethodSettings,
    thresholds: Sequence[Threshold],
    strengths: Sequence[float],
    *,
    may_refuse: bool,
    steps: Sequence[int] = (_USUAL.costeer_steps,),
    histories: Sequence[str] = (USUAL,),
) -> list[Arm]:
    """An arm for each method and each setting that it uses. Raises InvalidSettingsError
    if a method cannot work so, and `may_refuse` is not set."""
    found = []
    for name in methods:
        role = role_of(MethodSettings(method=name, temperature=1.0).terms())
        uses_threshold = role.decides and role.draft_limit > 0
        uses_strength = hasattr(role.method, "strength")
        for threshold, strength, taken, history in product(
            thresholds if uses_threshold else [None],
            strengths if uses_strength else [None],
            steps if name == "costeer" else [None],
            histories if _reads_history(role) else [None],
        ):
            settings = replace(
                usual,
                method=name,
                threshold=_USUAL.threshold if threshold is None else threshold,
                strength=_USUAL.strength if strength is None else strength,
                costeer_steps=_USUAL.costeer_steps if taken is None else taken,
            )
            refusal = ""
            try:
                build(settings)
            except InvalidSettingsError as error:
                if not may_refuse:
                    raise
                refusal = str(error)
            found.append(Arm(settings, threshold, strength, refusal, taken, history))
    return found


def _reads_history(role: VerifierRole) -> bool:
    """Whether past texts make a difference to what is written, or how fast."""
    public, private = (1,), (2,)
    prompts = as_read(Prompts(public, private, ()), role.method)
    drafts = role.draft_limit > 0 or not role.uses_generalist
    specialist = prompts.private_ids == private and (drafts or role.reads_specialist)
    return specialist or prompts.public_ids == private


@dataclass(frozen=True, slots=True)
class Target:
    """What a method would draw from at every place, if nothing were cut."""

    name: str
    """B, S, L, `L with history`, T, or `clipped`: S * min(L/B, threshold) / norm."""
    value: float | None = None  # the strength of T, or the threshold

    @property
    def key(self) -> str:
        """Such as `T 0.5`."""
        return self.name if self.value is None else f"{self.name} {self.value:.12g}"


def target_of(settings: MethodSettings) -> Target | None:
    """The target of a method; None if it has none that can be written down.

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


def nats_of(
    readers: Readers, ids: Sequence[int], targets: Sequence[Target]
) -> dict[str, float]:
    """What `ids` cost together after the prompts of the readers: under B, S and L, and
    under each target by its key, less those of which a generalist of another vocabulary
    knows nothing."""
    strengths = sorted({t.value or 0.0 for t in targets if t.name == "T"})
    limits = sorted({t.value or 0.0 for t in targets if t.name == "clipped"})
    found = read(readers, ids, strengths, limits)
    costs = {"B": found.base, "S": found.specialist}
    for row, strength in enumerate(strengths):
        costs[Target("T", strength).key] = found.steered[row]
    log_ratio = found.base - found.generalist
    for row, limit in enumerate(limits):
        stays = np.minimum(log_ratio - np.log(limit), 0.0) if limit else 0.0
        norm = np.log(found.kept[row])
        costs[Target("clipped", limit).key] = found.specialist - stays + norm
    nats = {name: float(each.sum()) for name, each in costs.items()}
    nats["L"] = readers.nats_of_generalist(ids, found.generalist)
    informed = any(target.name == "L with history" for target in targets)
    if informed and not isinstance(readers, ReadersOfTwo):
        read_by = replace(readers, public_ids=readers.private_ids)
        nats["L with history"] = float(read(read_by, ids, (), ()).generalist.sum())
    return nats
