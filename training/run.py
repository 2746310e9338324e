"""The training run: rows in order, checkpoints, exact resume, losses as they fall."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor

from decoding_core.errors import (
    InvalidSettingsError,
    ModelError,
    ModelNotFoundError,
    StoppedError,
)
from training import begin, config, parent
from training.config import Recipe
from training.learning import (
    Machine,
    as_exported,
    fast_bfloat16,
    kind_of,
    optimiser,
    rate_at,
    rounded,
)
from training.losses import Losses, Step
from training.network import Network, targets
from training.rows import Rows

_CLIP = 1.0
_SEEN = 40  # held-out rows that are looked at during a run


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    rows: int = 0
    """Rows read so far, long rows, and those with loops, counted over all passes."""
    long_rows: int = 0
    loops: int = 0
    plain: int = 0  # plain rows read so far, with the teacher


class Run:
    """A model on its way; `advance` until `finished`."""

    def __init__(self, plan: Recipe, machine: Machine | None = None) -> None:
        self.plan = plan
        self.machine = machine or Machine()
        self.device = torch.device(self.machine.device)
        self.stop = threading.Event()
        """Set it to end a step half-way; the step then never was."""
        if self.machine.threads:
            torch.set_num_threads(self.machine.threads)
        with np.load(plan.rows_file) as file:
            made = dict(file)
        self.held_out: Rows = made.pop("held_out")
        self.sources: dict[str, Rows] = {"long_rows": made.pop("long"), **made}
        """Rows to learn from, by the names of `Progress`."""
        self.network = Network(plan.shape, plan.schedule.seed).to(self.device)
        self.optimiser = optimiser(self.network, plan.schedule.rate)
        self.progress = Progress()
        if plan.checkpoint.exists():
            state = load(plan.checkpoint)
            if state.get("shape", asdict(plan.shape)) != asdict(plan.shape):
                raise InvalidSettingsError(
                    f"{plan.checkpoint} is a network of another shape: move it away to "
                    "begin anew, or set [shape] back"
                )
            self.network.load_state_dict(state["network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.progress = Progress(*state["progress"])
        else:
            rows = self._tensor(self.sources["rows"][: begin.TYPICAL]).cpu()
            self.network.load_state_dict(begin.weights(plan, rows))
        self._nats = self.network.nats
        if self.machine.compiled:
            self._nats = torch.compile(self.network.nats)
        self._reduced = fast_bfloat16(self.device)
        self._teacher = _teacher(plan, self.device)

    @property
    def finished(self) -> bool:
        """Whether all tokens of the schedule are read."""
        return self.progress.tokens >= self.plan.schedule.tokens

    @property
    def origin(self) -> str:
        """Where the run goes on from, in words."""
        if self.progress.step:
            return f"goes on after step {self.progress.step}"
        return f"begins with the weights of {self.plan.parent or 'noise'}"

    def advance(self) -> Step:
        """One step.

        Raises:
            StoppedError: `stop` was set; the run is as it was before the step.
            ModelError: the loss is no number; nothing was learnt from it.
        """
        started = time.monotonic()
        schedule, progress = self.plan.schedule, self.progress
        rate = rate_at(progress.tokens, schedule)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        taught = self._kind() == "plain"
        rows, after = self._batch()
        with self._rounding():
            loss = self._learn(rows, taught)
        if not math.isfinite(loss):
            raise ModelError(
                f"the loss of step {after.step} is {loss}: lower the rate in [schedule]"
            )
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.progress = after
        after.seconds += time.monotonic() - started
        seen = None
        if after.step % schedule.check_every == 0 or self.finished:
            seen = self.loss_held_out()
        return Step(after.step, after.tokens, after.seconds, rate, loss, seen)

    def loss_held_out(self) -> float | None:
        """Nats per token of rows that are not learnt from, if there are any."""
        if not len(self.held_out):
            return None
        spread = np.linspace(0, len(self.held_out) - 1, _SEEN).round().astype(int)
        rows = self._tensor(self.held_out[np.unique(spread)])
        with torch.no_grad(), self._autocast(), self._rounding():
            nats = [float(self._nats(part)) for part in self._parts(rows)]
        return sum(nats) / targets(rows)

    def save(self) -> None:
        """Write the whole state, replacing the last one in one stroke."""
        state = {
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "progress": astuple(self.progress),
            "shape": asdict(self.plan.shape),
        }
        part = self.plan.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.plan.checkpoint)

    def _batch(self) -> tuple[Tensor, Progress]:
        """The next rows, and how far the run will have come with them."""
        kind = self._kind()
        source = self.sources[kind]
        length = source.shape[1] - 1
        count = max(1, self.plan.schedule.batch // length)
        first = getattr(self.progress, kind)
        rows = in_turn(source, first, count, self.plan.schedule.seed)
        after = Progress(*astuple(self.progress))
        after.step += 1
        after.tokens += count * length
        setattr(after, kind, first + count)
        return self._tensor(rows), after

    def _kind(self) -> str:
        """Which rows the next step reads."""
        step, schedule = self.progress.step, self.plan.schedule
        every = schedule.long_every
        if step % every == every - 1 and len(self.sources["long_rows"]):
            return "long_rows"
        taught = step % schedule.teacher_every == schedule.teacher_every - 1
        if self._teacher is not None and taught:
            return "plain"
        turn = step % schedule.loops_every == 0 and self._is_past(schedule.loops_from)
        return "loops" if turn and len(self.sources["loops"]) else "rows"

    def _learn(self, rows: Tensor, taught: bool) -> float:
        """Gradients of the mean loss of these rows, or of the mean distance from the
        teacher; the loss."""
        count, nats = targets(rows), 0.0
        for part in self._parts(rows):
            if self.stop.is_set():
                self.optimiser.zero_grad()
                raise StoppedError("stopped while learning")
            with self._autocast():
                if taught and self._teacher is not None:
                    with torch.no_grad():
                        said = self._teacher(part[:, :-1]).flatten(0, 1)
                    weights = self.plan.schedule.ratio, self.plan.schedule.reverse
                    loss = self.network.distance(part, said, *weights)
                else:
                    loss = self._nats(part)
            (loss / count).backward()
            nats += float(loss.detach())
        return nats / count

    def _parts(self, rows: Tensor) -> Iterator[Tensor]:
        at_once = max(1, self.plan.schedule.micro // (rows.shape[1] - 1))
        yield from rows.split(at_once)

    def _tensor(self, rows: Rows) -> Tensor:
        return torch.from_numpy(rows.astype(np.int64)).to(self.device)

    def _rounding(self) -> AbstractContextManager[None]:
        """Weights as they will be exported, in the last part of the run."""
        if self._is_past(self.plan.schedule.round_from):
            return as_exported(self.network, self.plan.export)
        return nullcontext()

    def _is_past(self, part: float) -> bool:
        """Whether so much of the run is done."""
        return self.progress.tokens >= part * self.plan.schedule.tokens

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, self._reduced)


def train(plan: Recipe, machine: Machine | None = None) -> Path:
    """Train a model to the end of its schedule, from where it was left.

    Raises:
        StoppedError: Ctrl-C or SIGTERM; what was learnt so far is saved.
    """
    run = Run(plan, machine)
    done, tokens = run.progress.step, plan.schedule.tokens
    written = Losses(plan.losses, plan.name, done, tokens)
    with _signals_to(run.stop):
        saved = time.monotonic()
        click.echo(f"{plan.name}: {run.origin}")
        try:
            while not run.finished:
                written.add(run.advance())
                if time.monotonic() - saved > 60 * plan.schedule.save_minutes:
                    run.save()
                    saved = time.monotonic()
            run.save()
        except StoppedError as error:
            run.save()
            raise StoppedError(
                f"stopped after step {run.progress.step}, which is saved; the same "
                "command goes on from there"
            ) from error
    return plan.checkpoint


def _teacher(plan: Recipe, device: torch.device) -> Network | None:
    """The finished model that comments plain rows, rounded as its file is."""
    if not plan.schedule.teacher:
        return None
    other = config.recipe(plan.schedule.teacher, plan.scale, plan.work)
    finished = config.EMBEDDED / f"{other.name}.gguf"
    network = Network(other.shape).to(device)
    if other.checkpoint.exists():
        network.load_state_dict(load(other.checkpoint)["network"])
    elif plan.scale == config.SCALES[0] and finished.is_file():
        # One of the pair is made again: the other is the one that is here.
        network.load_state_dict(parent.read(finished).weights)
    else:
        raise ModelNotFoundError(
            f"the {plan.name} learns from the {other.name}, which is not trained yet: "
            f"run this step with --model {other.name} first"
        )
    for name, weight in network.named_parameters():
        if weight.ndim == 2:
            weight.data = rounded(weight.data, kind_of(name, other.export))
    return network.requires_grad_(False).eval()


def load(path: Path) -> dict[str, Any]:
    """A checkpoint's content."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def in_turn(rows: Rows, first: int, count: int, seed: int) -> Rows:
    """`count` rows from number `first` on, counted over all passes: the first pass in
    their own order, each later one in another."""
    chosen = []
    for number in range(first, first + count):
        turn, place = divmod(number, len(rows))
        if turn:
            order = np.random.default_rng((seed, turn)).permutation(len(rows))
            place = int(order[place])
        chosen.append(rows[place])
    return np.stack(chosen)


@contextmanager
def _signals_to(stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the run in good order; a second ends it at once."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def restore() -> None:
        for kind, handler in before.items():
            signal.signal(kind, handler)

    def end(_kind: int, _frame: object) -> None:
        stop.set()
        restore()

    for kind in kinds:
        signal.signal(kind, end)
    try:
        yield
    finally:
        restore()
