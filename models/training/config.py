"""One TOML file per model says everything about how it is made."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
WORK = HERE / "work"
EMBEDDED = HERE.parent / "embedded"


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a network; widths are multiples of 32, as Q8_0 wants."""

    vocabulary: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    hidden: int
    context: int = 2048


@dataclass(frozen=True, slots=True)
class Mixture:
    """What the rows a model reads are made of."""

    rows: int
    row: int
    """Tokens in a row."""
    long_rows: int
    """Rows of twice the length, so that later positions are learnt too."""
    shards: int
    """How many of the five shards of real texts are read."""
    synthetic: float
    """Share of examples by synthetic writers."""
    private: float
    """Share of authored examples that come with the author's other texts."""
    seed: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast a model learns."""

    batch: int
    """Tokens in a step."""
    tokens: int
    """Tokens in the whole run."""
    minutes: float
    """The run ends then if that is sooner; 0: never. Not exactly repeatable."""
    muon_rate: float
    adam_rate: float
    warmup: float
    """Share of the run in which the rates rise."""
    steady: float
    """Share of the run after which the rates fall to nothing."""
    repeats: float
    """Share of rows that repeat a random span, at first; fades out half-way."""
    seed: int
    save_minutes: float
    copying: float = 0.0
    """Share of the run after which copying is wired in by hand; 0: never."""
    start_from: str = ""
    """A smaller model to grow this one from, or nothing."""
    blend: float = 0.0
    """Share of the grown weights, as they were at first, in the finished ones."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything about one model."""

    name: str
    shape: Shape
    mixture: Mixture
    schedule: Schedule
    work: Path

    @property
    def rows_file(self) -> Path:
        """Where the training rows are kept."""
        return self.work / f"{self.name}-rows.npz"

    @property
    def checkpoint(self) -> Path:
        """Where the latest state of the run is kept."""
        return self.work / f"{self.name}.pt"

    @property
    def losses(self) -> Path:
        """Where the loss of each step is written."""
        return self.work / f"{self.name}-loss.csv"


def recipe(name: str, scale: str = "full", work: Path | None = None) -> Recipe:
    """The recipe of a model, from `configs/NAME.toml` or `configs/NAME-tiny.toml`."""
    suffix = "" if scale == "full" else f"-{scale}"
    path = HERE / "configs" / f"{name}{suffix}.toml"
    table = tomllib.loads(path.read_text("utf-8"))
    return Recipe(
        name,
        Shape(**table["shape"]),
        Mixture(**table["mixture"]),
        Schedule(**table["schedule"]),
        work or WORK / scale,
    )


def data_folder() -> Path:
    """Where the training texts lie: `SPECSTEER_DATA`, or beside the repository."""
    beside = HERE.parents[2] / "shared" / "data"
    return Path(os.environ.get("SPECSTEER_DATA") or beside)
