"""How a draft is to be written: its tone, the stars of a review, and whose words win.

The checker reads the tone and the stars too. A tone is an adjective of what is asked
for, as in `Write a warm email`: of a sentence, a small model would make a thing to say,
and the search in the person's texts a word to look for. Strength and threshold are
settings of the method; the person moves two sliders that have words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from decoding_core.settings import MethodSettings
from models.prompts import Request

TONES = ("", "warm", "formal", "brief", "cheerful", "plain", "polite but firm")
"""Adjectives of what is asked for; empty: as the person writes."""
MOST_STARS = 5

THRESHOLDS = (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 2.0)
"""From nearly all that the device drafts being kept to little of it."""
THRESHOLD_WORDS = (
    "closest to you: the checker refuses next to nothing",
    "much closer to you: it refuses only what it finds odd",
    "closer to you: it refuses a little",
    "in the middle: the checker refuses what it finds unlikely",
    "closer to the checker: it refuses what it likes less",
    "much closer to the checker: only what both like stays",
    "closest to the checker: it refuses most of what you would say",
)
STRENGTHS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
STRENGTH_WORDS = (
    "what is redrawn is the checker's alone",
    "what is redrawn leans to the checker",
    "what is redrawn is half yours, half the checker's",
    "what is redrawn leans to you",
    "what is redrawn is much more you",
    "what is redrawn is as much you as it can be",
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a draft is to be written; None stands for what the settings say."""

    tone: str = ""
    stars: int = 0
    """Of a review, from 1 to 5; 0: none are named."""
    threshold: float | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for what no person can have set."""
        if self.tone not in TONES or type(self.stars) is not int:
            raise ValueError("no such tone or number of stars")
        if not 0 <= self.stars <= MOST_STARS:
            raise ValueError("no such number of stars")
        for number, known in (
            (self.threshold, THRESHOLDS),
            (self.strength, STRENGTHS),
        ):
            if number is not None and number not in known:
                raise ValueError("no such place of a slider")

    def request(self, brief: Request) -> Request:
        """The brief with the tone, and with a sentence that names the stars."""
        parts = [brief.text]
        if self.stars and brief.task == "review":
            plural = "" if self.stars == 1 else "s"
            parts.append(f"I give it {self.stars} star{plural} of {MOST_STARS}.")
        text = "\n".join(part for part in parts if part.strip())
        return replace(brief, text=text, tone=self.tone)

    def settings(self, usual: MethodSettings) -> MethodSettings:
        """The settings with both sliders where they stand."""
        if self.threshold is not None:
            usual = replace(usual, threshold=self.threshold)
        if self.strength is not None:
            usual = replace(usual, strength=self.strength)
        return usual

    def words(self) -> str:
        """The style in a few words; empty where nothing is set."""
        parts = [self.tone] if self.tone else []
        if self.threshold is not None:
            parts.append(
                THRESHOLD_WORDS[THRESHOLDS.index(self.threshold)].split(":")[0]
            )
        if self.strength is not None and self.strength != STRENGTHS[2]:
            more = "more" if self.strength > STRENGTHS[2] else "less"
            parts.append(f"{more} of you in what is redrawn")
        return " · ".join(parts)
