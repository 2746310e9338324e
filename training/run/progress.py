"""How a run is going: one living line on a terminal, else a line a minute."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from decoding_core.foreign_text import escaped, ungated
from training.run.losses import Step

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
