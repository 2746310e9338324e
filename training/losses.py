"""How a run is going: losses in a file, a picture, and one living line."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from decoding_core.foreign_text import escaped, ungated

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


_PAUSE = 60.0
"""Seconds between two lines where nobody looks at a terminal."""
_MEMORY = 20
"""Steps whose losses are averaged for the line."""


class ProgressLine:
    """Says after each step where the run is."""

    def __init__(self, name: str, tokens: int, console: Console | None = None) -> None:
        self._name, self._tokens = name, tokens
        # Its line is redrawn with sequences of rich's own; what it says is numbers.
        self._console = console or Console(file=ungated(sys.stdout))
        self._live = Live(console=self._console, auto_refresh=False)
        self._said_at = float("-inf")
        self._first: Step | None = None
        self._losses: list[float] = []
        self._held_out: float | None = None

    def __enter__(self) -> ProgressLine:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def step(self, step: Step) -> None:
        """One more step is done."""
        self._losses = [*self._losses, step.loss][-_MEMORY:]
        self._held_out = step.held_out or self._held_out
        line = self._line(step)
        self._first = self._first or step
        if self._console.is_terminal:
            self._live.update(Text(line), refresh=True)
        elif time.monotonic() - self._said_at > _PAUSE:
            self._said_at = time.monotonic()
            self.say(line)

    def say(self, sentence: str) -> None:
        """A line that stays."""
        self._console.print(
            escaped(sentence), highlight=False, markup=False, soft_wrap=True
        )

    def _line(self, step: Step) -> str:
        parts = [
            f"{self._name}  step {step.step}",
            f"{step.tokens:,} of {self._tokens:,} tokens",
            f"loss {sum(self._losses) / len(self._losses):.3f}",
        ]
        if self._held_out is not None:
            parts.append(f"held out {self._held_out:.3f}")
        parts.append(f"rate {step.rate:.2g}")
        if self._first is not None and step.seconds > self._first.seconds:
            done = step.tokens - self._first.tokens
            speed = done / (step.seconds - self._first.seconds)
            left = max(0.0, (self._tokens - step.tokens) / speed)
            hours, minutes = divmod(round(left / 60), 60)
            clock = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
            parts.append(f"{speed:.0f} tokens/s, {clock} left")
        return ", ".join(parts)
