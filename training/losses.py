"""How a run is going: a file with the losses of each step, and a line about it."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

HEADER = "step,tokens,seconds,rate,loss,held_out"
_MEMORY = 20  # steps whose losses are averaged for the line
_PAUSES = {True: 2.0, False: 60.0}
"""Seconds between two lines, in a terminal and elsewhere."""


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

    def line(self) -> str:
        """The step as a line of the file."""
        seen = "" if self.held_out is None else f"{self.held_out:.4f}"
        return (
            f"{self.step},{self.tokens},{self.seconds:.0f},{self.rate:.3g},"
            f"{self.loss:.4f},{seen}"
        )


class Losses:
    """The file of a run's losses, and what is printed of them."""

    def __init__(self, path: Path, name: str, step: int, tokens: int) -> None:
        """Keep the steps up to `step`, from which the run goes on to `tokens`."""
        self.path = path
        self._name, self._tokens = name, tokens
        self._said_at = float("-inf")
        self._first: Step | None = None
        self._last: list[float] = []
        self._held_out: float | None = None
        before = path.read_text("utf-8").splitlines()[1:] if step else []
        kept = [line for line in before if int(line.partition(",")[0]) <= step]
        lines = [HEADER, *kept]
        path.write_text("\n".join(lines) + "\n", "utf-8")

    def add(self, step: Step) -> None:
        """Write one more step, and print it if the last one printed is old enough."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(step.line() + "\n")
        self._first = self._first or step
        self._last = [*self._last, step.loss][-_MEMORY:]
        self._held_out = step.held_out or self._held_out
        if time.monotonic() - self._said_at > _PAUSES[sys.stdout.isatty()]:
            self._said_at = time.monotonic()
            click.echo(self._line(step, self._first))

    def _line(self, step: Step, first: Step) -> str:
        parts = [
            f"{self._name}  step {step.step}",
            f"{step.tokens:,} of {self._tokens:,} tokens",
            f"loss {sum(self._last) / len(self._last):.3f}",
        ]
        if self._held_out is not None:
            parts.append(f"held out {self._held_out:.3f}")
        parts.append(f"rate {step.rate:.2g}")
        if step.seconds > first.seconds:
            speed = (step.tokens - first.tokens) / (step.seconds - first.seconds)
            minutes = round(max(0, self._tokens - step.tokens) / speed / 60)
            hours, minutes = divmod(minutes, 60)
            parts.append(f"{speed:.0f} tokens/s, {hours} h {minutes:02d} min left")
        return ", ".join(parts)
