"""The parameters of a decoding method, checked once, and what a server is told of them.

Numpy takes a tenth of a second to import, and the app paints without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from decoding_core.errors import InvalidSettingsError

if TYPE_CHECKING:
    from decoding_core.sampling import Draw

Origin = Literal["accepted", "recovered", "bonus", "local"]
"""Where a token came from: drafted and kept; redrawn after a refusal; drawn after a
full block; written by the device alone."""

AcceptanceRule = Literal["greedy", "stochastic"]
"""Compare the ratio with the threshold, or keep with probability ratio / threshold."""

CandidateRule = Literal["generalist", "contrast"]
"""Candidates are the likeliest by L, or, as the paper has it, by L / B^strength."""

BasePlace = Literal["cloud", "edge"]
"""Where the base runs: on the server, or on the device."""

BonusFrom = Literal["steered", "none", "generalist"]
Threshold = float | Literal["auto"]
DraftLength = int | Literal["auto"]
Window = int | Literal["auto"]
WINDOW = 4  # blocks of one text that may be out at once
DRAFT_LIMIT = 64  # the longest draft any server takes
THRESHOLD_LIMIT = 1e6  # the highest threshold
STRENGTH_LIMIT = 100.0
"""The highest strength, and the highest that CoSteer's loop may amount to."""
STEPS_LIMIT = 1000  # the most steps of CoSteer's loop
FIXED_LENGTH = 8  # of a draft whose length is not fitted and not set
LONGEST = 16  # longest fitted draft: answers with a row per token stay small
START = 0.5  # the papers' threshold; the first one if it is "auto"


@dataclass(frozen=True, slots=True)
class Terms:
    """What the server must know of the method to verify a block."""

    method: str
    rule: AcceptanceRule = "greedy"
    temperature: float = 0.0
    seed: int = 0  # of the server's own noise; says nothing about the device's
    candidates: int = 100
    """K: how many tokens a row of candidates holds, besides the drafted one."""
    candidate_rule: CandidateRule = "generalist"
    strength: float = 1.0
    """Beta: the server says by it how much may lie outside of the candidates."""
    draft_limit: int = 8
    """G: the longest draft of the session; sets the size of the frames."""
    base: BasePlace = "cloud"
    """On the edge, the server runs no base and verifies nothing."""
    bonus: bool = False
    """Whether a token may be drawn after a block that was kept whole."""
    costeer_steps: int = 20
    """T: of CoSteer's loop, by which the server knows what its strength amounts to."""
    costeer_alpha: float = 2.0
    costeer_lambda: float = 2.0
    costeer_eta: float = 10.0


@dataclass(frozen=True, slots=True)
class MethodSettings:
    """How to decode. The defaults are the papers', if they name one."""

    method: str = "steering"
    threshold: Threshold = START  # lambda; "auto": a running mean
    strength: float = 1.0  # beta: how strongly the personal delta counts
    draft_length: DraftLength = "auto"  # gamma, tokens per block; "auto": fitted
    window: Window = "auto"  # blocks out at once; 1: in turns
    temperature: float = 0.0  # 0 takes the likeliest token
    top_p: float = 1.0
    seed: int = 0
    rule: AcceptanceRule | None = None  # None: greedy at 0, else stochastic
    bonus_from: BonusFrom = "none"
    """From what a token is drawn after a block that was kept whole. Where there is one,
    the text depends on where blocks end, so their length is fixed and the window 1."""
    candidates: int = 100
    candidate_rule: CandidateRule = "generalist"
    base: BasePlace = "cloud"
    plausibility: float = 0.1
    """Share of the specialist's largest probability below which `contrast` draws no
    token; 0 cuts none."""
    costeer_steps: int = 20  # T: loops of `costeer`; `lightcosteer` has one
    costeer_alpha: float = 2.0  # how much a step learns from those before it
    costeer_lambda: float = 2.0  # how strongly each step is held near the generalist
    costeer_eta: float = 10.0  # how far a step may go from the one before

    def __post_init__(self) -> None:
        check_draw(self.temperature, self.top_p, self.seed)
        if self.threshold != "auto":
            _check("threshold", self.threshold, 0.0, THRESHOLD_LIMIT)
        _check("strength", self.strength, 0.0, STRENGTH_LIMIT)
        _check("plausibility", self.plausibility, 0.0, 1.0)
        if self.draft_length != "auto":
            _check("draft length", self.draft_length, 1, DRAFT_LIMIT)
        if self.window != "auto":
            _check("window", self.window, 1, WINDOW)
        _check("candidates", self.candidates, 1, 1 << 20)
        _check("costeer steps", self.costeer_steps, 1, STEPS_LIMIT)
        _check("costeer alpha", self.costeer_alpha, 0.0, 100.0)
        _check("costeer lambda", self.costeer_lambda, 0.0, 100.0)
        _check("costeer eta", self.costeer_eta, 0.01, 1e6)
        if self.base == "edge" and self.candidate_rule == "contrast":
            raise InvalidSettingsError(
                "candidates by contrast need the base on the server: choose base "
                "'cloud', or candidates by the generalist"
            )

    @property
    def acceptance_rule(self) -> AcceptanceRule:
        """The rule by which the server keeps a token."""
        return self.rule or ("greedy" if self.temperature == 0.0 else "stochastic")

    @property
    def draft_limit(self) -> int:
        """The longest draft, which sets the size of the frames."""
        if self.draft_length != "auto":
            return self.draft_length
        return FIXED_LENGTH if self.bonus_from != "none" else LONGEST

    def draw(self) -> Draw:
        """How the device draws tokens."""
        from decoding_core.sampling import Draw, Noise

        return Draw(self.temperature, self.top_p, Noise(self.seed))

    def terms(self) -> Terms:
        """What the server must know of these settings."""
        from decoding_core.sampling import acceptance_seed

        return Terms(
            method=self.method,
            rule=self.acceptance_rule,
            temperature=self.temperature,
            seed=acceptance_seed(self.seed),
            candidates=self.candidates,
            candidate_rule=self.candidate_rule,
            strength=self.strength,
            draft_limit=self.draft_limit,
            base=self.base,
            bonus=self.bonus_from != "none",
            costeer_steps=self.costeer_steps,
            costeer_alpha=self.costeer_alpha,
            costeer_lambda=self.costeer_lambda,
            costeer_eta=self.costeer_eta,
        )


def _check(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        raise InvalidSettingsError(
            f"{name} must lie between {lowest:g} and {highest:g}, not {value:g}"
        )


def check_draw(temperature: float, top_p: float, seed: int) -> None:
    """Raise InvalidSettingsError when a sampling parameter is out of range."""
    if not 0.0 <= temperature <= 10.0:
        raise InvalidSettingsError(
            f"temperature must lie between 0 and 10, not {temperature}"
        )
    if not 0.0 < top_p <= 1.0:
        raise InvalidSettingsError(f"top-p must lie above 0 and up to 1, not {top_p}")
    if not 0 <= seed < 1 << 63:
        raise InvalidSettingsError(f"seed must be a whole number from 0, not {seed}")
