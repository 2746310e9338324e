"""What a run wrote down: a line per step, and a picture of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEADER = "step,tokens,seconds,rate,loss,held_out"
_SMOOTH = 0.03
"""Weight of a new step in the smoothed line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run; losses are nats per token."""

    step: int
    tokens: int
    seconds: float
    rate: float
    loss: float
    held_out: float | None = None
    """Loss on rows that are not learnt from, after the steps that look at them."""

    @classmethod
    def of(cls, line: Sequence[str]) -> Step:
        """The step that a line of the file holds."""
        step, tokens, *numbers, held_out = line
        seconds, rate, loss = map(float, numbers)
        seen = float(held_out) if held_out else None
        return cls(int(step), int(tokens), seconds, rate, loss, seen)

    def line(self) -> str:
        """The step as a line of the file."""
        seen = "" if self.held_out is None else f"{self.held_out:.4f}"
        return (
            f"{self.step},{self.tokens},{self.seconds:.0f},{self.rate:.3g},"
            f"{self.loss:.4f},{seen}"
        )


class Losses:
    """The file of a run's losses."""

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        kept = [s for s in read(path) if s.step <= step] if step else []
        lines = [HEADER, *(s.line() for s in kept)]
        path.write_text("\n".join(lines) + "\n", "utf-8")

    def add(self, step: Step) -> None:
        """Write one more line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(step.line() + "\n")


def read(path: Path) -> list[Step]:
    """The steps that a file tells of; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    if not lines or lines[0] != HEADER.split(","):
        return []
    return [Step.of(line) for line in lines[1:]]


def plot(name: str, steps: Sequence[Step], path: Path) -> None:
    """Draw the losses over the tokens read."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tokens = [step.tokens / 1e6 for step in steps]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(tokens, [s.loss for s in steps], color="0.8", lw=0.7, label="step")
    axes.plot(tokens, smoothed([s.loss for s in steps]), lw=1.5, label="smoothed")
    seen = [(t, s.held_out) for t, s in zip(tokens, steps, strict=True) if s.held_out]
    if seen:
        axes.plot(*zip(*seen, strict=True), "o-", ms=3, label="held-out rows")
    axes.set(yscale="log", xlabel="million tokens read", ylabel="nats per token")
    axes.set_title(name)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    part = path.with_suffix(".part")
    figure.savefig(part, dpi=120, format="png")
    part.replace(path)


def smoothed(values: Sequence[float]) -> list[float]:
    """The running mean that forgets slowly and begins without a bias."""
    means, total, weight = [], 0.0, 0.0
    for value in values:
        total += _SMOOTH * (value - total)
        weight += _SMOOTH * (1 - weight)
        means.append(total / weight)
    return means
