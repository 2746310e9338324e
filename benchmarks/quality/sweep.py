"""Methods and settings to compare: every combination that makes a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from decoding_core.errors import InvalidSettingsError, UnknownMethodError
from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings, Threshold
from decoding_core.verifier import role_of

ALL = "all"
_USUAL = MethodSettings()


@dataclass(frozen=True, slots=True)
class Arm:
    """One method at one setting; a row of the table for each set."""

    settings: MethodSettings
    threshold: Threshold | None
    """None where it makes no difference."""
    strength: float | None
    refusal: str = ""
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


def arms(
    methods: Sequence[str],
    usual: MethodSettings,
    thresholds: Sequence[Threshold],
    strengths: Sequence[float],
    *,
    may_refuse: bool,
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
        for threshold in thresholds if uses_threshold else [None]:
            for strength in strengths if uses_strength else [None]:
                settings = replace(
                    usual,
                    method=name,
                    threshold=_USUAL.threshold if threshold is None else threshold,
                    strength=_USUAL.strength if strength is None else strength,
                )
                refusal = ""
                try:
                    build(settings)
                except InvalidSettingsError as error:
                    if not may_refuse:
                        raise
                    refusal = str(error)
                found.append(Arm(settings, threshold, strength, refusal))
    return found
