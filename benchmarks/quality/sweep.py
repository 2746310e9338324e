"""Methods and settings to compare: every combination that makes a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from decoding_core.errors import InvalidSettingsError, UnknownMethodError
from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings, Threshold
from decoding_core.verifier import VerifierRole, role_of
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import Prompts
from edge_app.retrieval.personalisation import USUAL
from edge_app.service.text_job import as_read

ALL = "all"
RERANKED = "bm25+reranker"
"""The past texts of bm25 that a reranker puts first."""
_USUAL = MethodSettings()


@dataclass(frozen=True, slots=True)
class Arm:
    """One method at one setting; a row of the table for each set."""

    settings: MethodSettings
    threshold: Threshold | None
    """None where it makes no difference."""
    strength: float | None
    refusal: str = ""
    steps: int | None = None
    """Of CoSteer's loop."""
    history: str | None = None
    """How the past texts were chosen that it reads: a personalisation, or `RERANKED`;
    None where it reads none."""
    """Why it cannot write with these settings; then only its target is measured."""

    @property
    def method(self) -> str:
        """Its name."""
        return self.settings.method


def names(words: str) -> list[str]:
    """The methods in `all`, or in names with commas; raises UnknownMethodError."""
    if words.strip() == ALL:
        return list(available())
    chosen = list(dict.fromkeys(word.strip() for word in words.split(",")))
    for name in chosen:
        if name not in available():
            known = ", ".join(available())
            raise UnknownMethodError(
                f"there is no method '{name}'; choose all, or some of: {known}"
            )
    return chosen


def histories(words: str, reranker: Path | None) -> list[str]:
    """How past texts are chosen: `all`, or names with commas, and what a reranker
    chooses where there is one.

    Raises:
        InvalidSettingsError: there is no such personalisation.
    """
    chosen = personalisation.available()
    if words.strip() != ALL:
        chosen = tuple(dict.fromkeys(word.strip() for word in words.split(",")))
    for name in chosen:
        personalisation.build(name)
    return [*chosen, *([] if reranker is None else [RERANKED])]


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
    """An arm for each method and each setting that it uses.

    Raises:
        InvalidSettingsError: a method cannot work so, and `may_refuse` is not set.
    """
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
