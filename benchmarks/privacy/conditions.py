"""The rows of the table: a method, and what of the history is held back.

A defence is a setting of the service. One that this build does not have is left out,
with a sentence: so the same command measures every build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from benchmarks.privacy.attack import Bound
from decoding_core.settings import MethodSettings
from edge_app.config.settings import Settings
from edge_app.service.requests import WriteRequest

LIMITS = (1.0, 4.0, 16.0)
"""Nats of a budget for a text. As ln 100 is 4.6, with 4 no more than 54 of 100 writers
are found."""
MIXTURE = 0.1
"""Nats of a token, where drafts are drawn from a mixture."""
GUARD = "placeholder"


@dataclass(frozen=True, slots=True)
class Condition:
    """How texts are written."""

    name: str
    method: Mapping[str, Any] = field(default_factory=dict)
    """Of `MethodSettings`; all else is as usual."""
    defences: Mapping[str, Any] = field(default_factory=dict)
    """Lines of `settings.toml`."""
    use_history: bool = True

    @property
    def is_defence(self) -> bool:
        """Whether the text is written as usual, with a defence or with none."""
        return not self.method and self.use_history

    @property
    def bound(self) -> Bound | None:
        """What a text and a token may tell; None: anything."""
        text = self.defences.get("privacy_budget")
        token = self.defences.get("privacy_mixture")
        return None if text is token is None else Bound(text, token)

    def settings(self, temperature: float, top_p: float, seed: int) -> MethodSettings:
        """How the text is decoded."""
        known: dict[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
            **self.method,
        }
        return MethodSettings(**known)

    def of_device(self) -> Settings:
        """The settings of the device."""
        return replace(Settings(), **_of(Settings, self.defences))

    def for_request(self) -> dict[str, Any]:
        """What a request is told besides."""
        return {"use_history": self.use_history, **_of(WriteRequest, self.defences)}

    def missing(self) -> list[str]:
        """Settings that this build does not have."""
        there = {one.name for one in fields(Settings)}
        return [name for name in self.defences if name not in there]


UNDEFENDED: Mapping[str, Any] = {"guard": "off"}
"""Every row says what of the guard is on, so that its default changes none."""


def all_conditions() -> list[Condition]:
    """Every row, in the order of the table."""
    guard = {"guard": GUARD}
    return [
        Condition("nothing"),
        Condition("guard", defences=guard),
        *(Condition(f"budget {x:g}", defences={"privacy_budget": x}) for x in LIMITS),
        Condition(
            f"mixture {MIXTURE:g}",
            defences={"privacy_mixture": MIXTURE},
        ),
        Condition(
            f"guard, budget {LIMITS[1]:g}",
            defences={**guard, "privacy_budget": LIMITS[1]},
        ),
        Condition("lossless", {"method": "lossless"}),
        Condition("rejection", {"method": "rejection"}),
        Condition("speculative", {"method": "speculative"}),
        Condition("lightcosteer", {"method": "lightcosteer"}),
        Condition("strength 0.5", {"strength": 0.5}),
        Condition("strength 2", {"strength": 2.0}),
        Condition("temperature 0", {"temperature": 0.0}),
        Condition("no history", use_history=False),
    ]


def chosen(names: str) -> tuple[list[Condition], list[str]]:
    """The rows with these names, with commas, or all; and sentences on those that this
    build cannot give. Raises KeyError with a name that is none."""
    every = {one.name: one for one in all_conditions()}
    # A name may hold a comma of its own, as "guard, budget 8" does.
    wanted = list(every.values())
    if names != "all":
        wanted, left = [], names
        while left:
            fitting = [n for n in every if left == n or left.startswith(f"{n},")]
            if not fitting:
                raise KeyError(left.partition(",")[0])
            name = max(fitting, key=len)
            wanted.append(every[name])
            left = left[len(name) + 1 :].strip()
    found, left_out = [], []
    for one in wanted:
        if missing := one.missing():
            words = " and ".join(f"'{name}'" for name in missing)
            left_out.append(f"'{one.name}' is left out: this build has no {words}")
        else:
            found.append(one)
    return found, left_out


def _of(place: type, defences: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the defences that are fields of a class, and the guard off where no
    row asks for it."""
    there = {one.name for one in fields(place)}
    every = {**UNDEFENDED, **defences}
    return {name: value for name, value in every.items() if name in there}
