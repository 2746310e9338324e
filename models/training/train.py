"""The training run: rows in order, checkpoints, exact resume, losses as CSV."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.training.config import Recipe, Schedule, recipe
from models.training.copying import wire
from models.training.data import Rows
from models.training.grow import grown
from models.training.network import Network
from models.training.optimiser import optimisers, set_rates

_LONG_EVERY = 8
"""One step in so many reads long rows."""
_CLIP = 1.0
_TYPICAL = 60
"""Rows that show the network what texts are like when copying is wired in."""


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    wired: bool = False
    """Whether copying has been wired in."""
    blended: bool = False
    """Whether the finished weights have been averaged with the first ones."""

    def share(self, schedule: Schedule) -> float:
        """Part of the run that is done, 0 to 1, by tokens or by the clock."""
        done = self.tokens / schedule.tokens
        if schedule.minutes:
            done = max(done, self.seconds / 60 / schedule.minutes)
        return min(done, 1.0)


class Run:
    """A model on its way; `advance` until `finished`."""

    def __init__(self, plan: Recipe, device: str = "cpu") -> None:
        self.plan = plan
        self.device = torch.device(device)
        with np.load(plan.rows_file) as rows:
            self.rows, self.long_rows = rows["rows"], rows["long"]
        self.network = Network(plan.shape, plan.schedule.seed).to(self.device)
        self.optimisers = self._fresh_optimisers()
        self.progress = Progress()
        self._begin()

    @property
    def finished(self) -> bool:
        """Whether the schedule is at its end."""
        return self.progress.share(self.plan.schedule) >= 1.0

    def advance(self) -> float:
        """One step; its loss in nats per token."""
        started = time.monotonic()
        schedule = self.plan.schedule
        share = self.progress.share(schedule)
        if schedule.copying and share >= schedule.copying and not self.progress.wired:
            self._wire_copying()
        factor = rate_factor(share, schedule)
        rates = (schedule.muon_rate * factor, schedule.adam_rate * factor)
        set_rates(self.optimisers, rates)
        rows = self._batch(share)
        loss = self._loss(rows)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad()
        self.progress.step += 1
        self.progress.tokens += rows.shape[0] * (rows.shape[1] - 1)
        self.progress.seconds += time.monotonic() - started
        return loss

    def save(self) -> None:
        """Write the whole state, replacing the last one in one stroke."""
        state = {
            "network": self.network.state_dict(),
            "optimisers": [o.state_dict() for o in self.optimisers],
            "progress": astuple(self.progress),
        }
        part = self.plan.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.plan.checkpoint)

    def finish(self) -> None:
        """Average with the grown weights, where the recipe says so, and save.

        The average of a short run's two ends is better than either (Wortsman and
        others, 2022): what the first weights knew is not lost.
        """
        share = self.plan.schedule.blend
        if share and not self.progress.blended:
            first = self._grown()
            for name, tensor in self.network.state_dict().items():
                tensor.lerp_(first[name].to(self.device), share)
            self.progress.blended = True
        self.save()

    def _begin(self) -> None:
        if self.plan.checkpoint.exists():
            state = load(self.plan.checkpoint)
            self.network.load_state_dict(state["network"])
            for optimiser, saved in zip(
                self.optimisers, state["optimisers"], strict=True
            ):
                optimiser.load_state_dict(saved)
            self.progress = Progress(*state["progress"])
        elif self.plan.schedule.start_from:
            self.network.load_state_dict(self._grown())

    def _grown(self) -> dict[str, Tensor]:
        schedule = self.plan.schedule
        small = recipe(schedule.start_from, work=self.plan.work)
        fresh = Network(self.plan.shape, schedule.seed)
        return grown(load(small.checkpoint)["network"], fresh, schedule.seed)

    def _fresh_optimisers(self) -> list[torch.optim.Optimizer]:
        schedule = self.plan.schedule
        return optimisers(self.network, schedule.muon_rate, schedule.adam_rate)

    def _wire_copying(self) -> None:
        rows = torch.from_numpy(self.rows[:_TYPICAL].astype(np.int64))
        wire(self.network.cpu(), rows)
        self.network.to(self.device)
        self.optimisers = self._fresh_optimisers()
        self.progress.wired = True

    def _batch(self, share: float) -> Tensor:
        step, batch = self.progress.step, self.plan.schedule.batch
        rng = np.random.default_rng((self.plan.schedule.seed, step))
        use_long = step % _LONG_EVERY == _LONG_EVERY - 1 and len(self.long_rows) > 0
        source = self.long_rows if use_long else self.rows
        turn = step // _LONG_EVERY if use_long else step - step // _LONG_EVERY
        count = max(1, batch // (source.shape[1] - 1))
        rows = source[np.arange(turn * count, (turn + 1) * count) % len(source)]
        chance = self.plan.schedule.repeats * max(0.0, 1 - 2 * share)
        rows = with_repeats(rows, chance, self.plan.shape.vocabulary, rng)
        return torch.from_numpy(rows.astype(np.int64)).to(self.device)

    def _loss(self, rows: Tensor) -> float:
        reduced = torch.autocast("cuda", torch.bfloat16, self.device.type == "cuda")
        with reduced:
            loss = self.network.loss(rows)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())


def train(plan: Recipe, device: str = "cpu") -> Path:
    """Train a model to the end of its schedule, from where it was left."""
    run = Run(plan, device)
    saved = time.monotonic()
    with plan.losses.open("a", encoding="utf-8") as losses:
        while not run.finished:
            loss = run.advance()
            progress = run.progress
            losses.write(
                f"{progress.step},{progress.tokens},{progress.seconds:.0f},{loss:.4f}\n"
            )
            losses.flush()
            if time.monotonic() - saved > 60 * plan.schedule.save_minutes:
                run.save()
                saved = time.monotonic()
    run.finish()
    return plan.checkpoint


def load(path: Path) -> dict[str, Any]:
    """A checkpoint's content."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def rate_factor(share: float, schedule: Schedule) -> float:
    """Learning rate as a part of its peak: up, steady, then down to nothing."""
    if share < schedule.warmup:
        return (share + 1e-3) / (schedule.warmup + 1e-3)
    if share < schedule.steady:
        return 1.0
    return max(0.0, (1 - share) / (1 - schedule.steady))


def with_repeats(
    rows: Rows, chance: float, vocabulary: int, rng: np.random.Generator
) -> Rows:
    """Rows, some of them one random span again and again: copying is learnt from it."""
    rows = rows.copy()
    for row in rows:
        if rng.random() < chance:
            span = rng.integers(
                4, vocabulary, rng.integers(len(row) // 32 + 1, len(row) // 2)
            )
            row[:] = np.resize(span, len(row))
    return rows
