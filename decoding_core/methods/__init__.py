"""Decoding methods, found by their names.

Other packages add theirs by entry points of the group `specsteer.methods`; each leads
to a class like those of the files here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from decoding_core.errors import DecodingError, UnknownMethodError
from decoding_core.messages import Candidates
from decoding_core.protocols import Method
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings, Terms

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "specsteer.methods"


_OWN = {
    "contrast": "contrast:Contrast",
    "costeer": "costeer:CoSteer",
    "coupled": "lossless:Coupled",
    "generalist": "generalist:Generalist",
    "generalist_with_history": "generalist:GeneralistWithHistory",
    "lightcosteer": "costeer:LightCoSteer",
    "lossless": "lossless:Lossless",
    "rejection": "rejection:Rejection",
    "specialist": "specialist:Specialist",
    "specialist_without_history": "specialist:SpecialistWithoutHistory",
    "speculative": "generalist:Speculative",
    "steering": "steering:Steering",
}
"""File and class of each method of this package; imported when it is asked for."""


def own() -> tuple[str, ...]:
    """Names of the methods of this package."""
    return tuple(_OWN)


def entry_points(group: str, **wanted: Any) -> EntryPoints:
    """What installed packages offer; the module that looks takes 30 ms to import, and
    our own methods do without."""
    from importlib import metadata

    return metadata.entry_points(group=group, **wanted)


@cache
def available() -> tuple[str, ...]:
    """Names of all methods, those of other packages too."""
    return tuple(sorted({*_OWN, *entry_points(group=GROUP).names}))


def build(settings: MethodSettings) -> Method:
    """The method that the settings name. Raises UnknownMethodError if there is no such
    method, or it cannot be loaded, and InvalidSettingsError if the method cannot work
    with these settings."""
    if settings.method not in _OWN and settings.method not in available():
        names = ", ".join(available())
        raise UnknownMethodError(
            f"there is no method '{settings.method}'; choose one of: {names}"
        )
    return cast(Method, _class(settings.method).from_settings(settings))


def summary(name: str) -> str:
    """One line on a method of `available()`."""
    return cast(str, _class(name).summary)


def _class(name: str) -> Any:
    if name in _OWN:
        file, _, found = _OWN[name].partition(":")
        return getattr(import_module(f"{__name__}.{file}"), found)
    (entry, *_) = entry_points(group=GROUP, name=name)
    try:
        return entry.load()
    except Exception as error:  # what somebody else's import may raise
        raise UnknownMethodError(
            f"the method '{name}' of another package cannot be loaded: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


def build_for_server(terms: Terms) -> Method:
    """The method as the server needs it, from the terms of a session."""
    return build(
        MethodSettings(
            method=terms.method,
            strength=terms.strength,
            rule=terms.rule,
            temperature=terms.temperature,
            seed=terms.seed,
            candidates=terms.candidates,
            candidate_rule=terms.candidate_rule,
            draft_length=terms.draft_limit,
            base=terms.base,
            bonus_from="steered" if terms.bonus else "none",
            costeer_steps=terms.costeer_steps,
            costeer_alpha=terms.costeer_alpha,
            costeer_lambda=terms.costeer_lambda,
            costeer_eta=terms.costeer_eta,
        )
    )


class BaseMethod:
    """What most methods have in common: the specialist drafts with the history,
    generalist and base are compared; a method overrides what differs."""

    __slots__ = ()

    name: ClassVar[str]
    drafts: ClassVar[bool] = True
    drafts_again: ClassVar[bool] = False
    needs_specialist: ClassVar[bool] = True
    needs_base: ClassVar[bool] = True
    needs_generalist: ClassVar[bool] = True
    shares_noise: ClassVar[bool] = False
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = (
        "specialist"
    )

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Self:
        """The method with the given parameters; here it has none."""
        return cls()

    @property
    def takes_bonus(self) -> bool:
        """No."""
        return False

    @property
    def delta_weight(self) -> float:
        """The method's own strength; 0 if the delta plays no part."""
        return float(getattr(self, "strength", 0.0))

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """An error: the server does not decide unless a method says how."""
        raise DecodingError(f"the server verifies nothing in the {self.name} method")

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """An error: nothing is drawn from a row unless a method says how."""
        raise DecodingError(f"nothing is drawn from a row in the {self.name} method")

    def bonus(self, specialist: Floats, row: Candidates) -> Floats:
        """The target, as at every other position."""
        return self.target(specialist, row)

    def bonus_waits(self, likeliest: int, row: Candidates) -> bool:
        """False: a bonus is always drawn from the candidates."""
        return False

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """None: not known."""
        return None
