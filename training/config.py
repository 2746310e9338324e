"""One TOML file per model says everything about how it is made."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from training.invented import OWN_WAY

HERE = Path(__file__).parent
WORK = HERE / "work"
EMBEDDED = HERE.parent / "models" / "embedded"
PUBLIC = "smollm2"  # the public model that `parent.fetch` gets
BEFORE = "before"  # the specialist itself, as it was before
SCALES = "full", "tiny"


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
    row: int  # tokens in a row
    long_rows: int  # rows of twice the length, so that later positions are learnt too
    held_out: int
    """Rows of each kind, with and without history, that are kept for validation."""
    shards: int  # how many of the five shards of real texts are read
    synthetic: float  # share of the tokens that belong to synthetic writers
    private: float  # share of examples that come with the writer's other texts
    repeats: float
    """Share of rows that hold nothing but random tokens, span after span repeated."""
    seed: int
    loops: int = 0  # rows of texts that get caught in loops, which are unlearnt
    everyday: float = 0.0
    """Share of the texts by synthetic writers that answer everyday requests."""
    own_way: float = OWN_WAY
    """Share of the plain examples by synthetic writers who have ways of their own."""
    plain_rows: int = 0
    """Rows of examples without any history, which a teacher comments."""
    drafted: float = 0.0
    """Share of these rows whose texts the model as it was drafts from histories."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast a model learns."""

    batch: int  # tokens in a step
    micro: int
    """Tokens that are computed at a time; more need more memory, not fewer steps."""
    tokens: int  # tokens in the whole run; raise it to prolong a run, finished or not
    rate: float  # the highest learning rate
    warmup: int  # tokens over which the rate rises; then it falls along a cosine
    floor: float  # the last learning rate, in parts of the highest
    seed: int
    save_minutes: float
    check_every: int  # steps between two looks at the held-out rows
    long_every: int = 8  # one step in N reads long rows
    round_from: float = 1.0
    """Part of the run after which weights are learnt as they are exported; 1: never."""
    loops_from: float = 1.0  # part of the run after which loops are unlearnt; 1: never
    loops_every: int = 4  # one step in N unlearns loops then
    teacher: str = ""
    """The recipe whose finished model comments plain rows; empty: none."""
    teacher_every: int = 2  # one step in N learns from the teacher
    ratio: float = 0.0
    """Weight of the log-ratio between both on what the rows say, beside the distance
    of their distributions."""
    reverse: float = 0.0  # weight of the same on whatever the model would draw itself


@dataclass(frozen=True, slots=True)
class Export:
    """How the finished weights are written: names of quantisations, as Q8_0."""

    matrices: str = "F32"
    embedding: str = "F32"  # the embedding is the output matrix too
    down: str = ""
    """The last matrix of each feed-forward layer, if not as the others; only its rows
    may be multiples of 256, as kinds that end in K want."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything about one model."""

    name: str
    shape: Shape
    parent: str  # what it begins as: `PUBLIC`, `BEFORE`, or noise if empty
    mixture: Mixture
    schedule: Schedule
    export: Export
    work: Path
    scale: str = "full"

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

    @property
    def vocabulary(self) -> Path:
        """Where the pair's one vocabulary is kept."""
        return self.work / "tokenizer.json"


def recipe(name: str, scale: str = "full", work: Path | None = None) -> Recipe:
    """The recipe of a model, from `configs/NAME.toml` or `configs/NAME-tiny.toml`."""
    suffix = "" if scale == "full" else f"-{scale}"
    path = HERE / "configs" / f"{name}{suffix}.toml"
    table = tomllib.loads(path.read_text("utf-8"))
    return Recipe(
        name,
        Shape(**table["shape"]),
        table.get("parent", ""),
        Mixture(**table["mixture"]),
        Schedule(**table["schedule"]),
        Export(**table.get("export", {})),
        work or WORK / scale,
        scale,
    )


def data_folder() -> Path:
    """Where the training texts lie: `SPECSTEER_DATA`, or beside the repository."""
    beside = HERE.parents[1] / "shared" / "data"
    return Path(os.environ.get("SPECSTEER_DATA") or beside)
