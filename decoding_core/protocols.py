"""The interfaces: a model with a cache, a verifier of drafts, a decoding method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from decoding_core.messages import (
    Candidates,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.sampling import Floats, Ids


class Engine(Protocol):
    """A model and the tokens it has read. Not safe for two threads at once."""

    @property
    def tokens(self) -> list[int]:
        """What it has read, or a part from its beginning; not to be changed."""

    @property
    def position(self) -> int:
        """How many tokens it has read."""

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read token_ids (T,) after `position`; logits (rows, V) of what may follow
        each of the last `rows` of them, 1 <= rows <= T. Raises ContextFullError if they
        do not fit; nothing was read, and StoppedError if the person stopped; `position`
        says what was read."""

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""

    def close(self) -> None:
        """Free the cache; the engine is not used again."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Tokens to read in one slot of a `BatchEngine`."""

    slot: int
    token_ids: Sequence[int]  # (T,)
    rows: int = 1  # how many rows of logits are wanted, 1 <= rows <= T
    candidates: int | None = None
    """How many of the likeliest tokens of a row will be asked for; 0: nobody will look
    at the rows; None: it is not known. For an engine that must ask somebody else."""
    asked: Sequence[int] = ()  # tokens that will be asked for in rows besides these


class BatchEngine(Protocol):
    """A model with the caches of several texts, one per slot, read at once for little
    more than one. Used by one thread, but for `interrupt`."""

    @property
    def name(self) -> str:
        """The model's name, for the screen."""

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the model knows."""

    @property
    def context_length(self) -> int:
        """How many tokens a slot holds."""

    @property
    def slots(self) -> int:
        """How many texts it can hold."""

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots; logits (rows, V) of each. If it raises, nothing was
        read."""

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread; the model is not used again."""

    def close(self) -> None:
        """Free the memory."""


class LogitRows(Protocol):
    """Rows of logits (N, V) where the engine has them. Whoever verifies asks for a few
    numbers of each, so that a graphics card hands out these and not V a row.

    What is computed over a whole row may be computed for all rows of a pass at once,
    those of other texts among them. A base's rows lie where the generalist's do, row by
    row. `sampling.ArrayRows` is the one for arrays, and says what each must give.
    """

    def __len__(self) -> int:
        """N."""

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the rows are over."""

    def log_sum_exps(self, temperature: float) -> Floats:
        """Logarithms (N,) of the sums of exp(logits / temperature), as float64."""

    def at(self, rows: Sequence[int] | Ids, token_ids: Sequence[int] | Ids) -> Floats:
        """Logits (K,) of tokens, each in its row, or all in one; as float64."""

    def likeliest_ids(
        self,
        row: int,
        count: int,
        tied: float,
        base: Self | None = None,
        weight: float = 0.0,
    ) -> NDArray[np.intp]:
        """The `count` likeliest tokens of a row, rising, of ties the lowest ids; with a
        base, by logits less `weight` times the base's."""

    def largest_besides(
        self, row: int, token_ids: Ids, base: Self | None = None, weight: float = 0.0
    ) -> float:
        """Upper bound on logits, less `weight` times the base's, besides these."""


@runtime_checkable
class WholeRows(Protocol):
    """`LogitRows` that can be had whole, if the rows of two engines meet."""

    def whole(self) -> Floats:
        """The rows (N, V) as an array."""


Rows = Floats | LogitRows  # rows of logits (N, V), whole or where the engine has them


@runtime_checkable
class RowsEngine(Protocol):
    """A `BatchEngine` that hands out less than V logits a row."""

    def evaluate_rows(self, readings: Sequence[Reading]) -> list[LogitRows]:
        """As `evaluate`; the rows stay valid whatever is read later."""


class Verifier(Protocol):
    """Verifies drafts: a server's client, an engine in this process, a test's fake.

    Blocks are submitted, and their verdicts collected later, in the same order. Up to
    `messages.WINDOW` may be out; each follows the one before as if that were kept
    whole. A refusal voids those behind it: the next block has a new epoch, and their
    verdicts are not to be had any more. An error of either call takes all blocks out of
    the window; they may be submitted again.
    """

    @property
    def local(self) -> bool:
        """Whether it keeps everything because no generalist takes part."""

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; a verifier is used for one text at a time."""

    def submit(self, block: DraftBlock) -> None:
        """Hand over a block to be verified."""

    def collect(self) -> Verdict:
        """Wait for the verdict on the oldest block that is out."""

    def ready(self) -> bool:
        """Whether `collect` need not wait: the verdict is there, or an error is."""

    def close(self) -> None:
        """End the text and forget it."""


class Method(Protocol):
    """A decoding method. Its functions return probabilities and draw nothing.

    All log-probabilities are at one temperature. At temperature 0 the device takes
    the argmax of what a method returns. A row holds K candidates; the specialist's
    log-probabilities `specialist` (K,) are those of the row's tokens, but for a
    constant: a target is normalised over the row.
    """

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def summary(self) -> str:
        """One line for a person who chooses."""

    @property
    def decided_by(self) -> Literal["server", "device", "nobody"]:
        """Who compares a draft with the models. The device keeps x with
        min(1, T(x)/S(x)), T being `target`, or, with shared noise, while T draws x."""

    @property
    def drafts(self) -> bool:
        """Whether the specialist drafts; else every token is drawn from a row."""

    @property
    def drafts_again(self) -> bool:
        """Whether a refused place is drafted again with fresh noise, without a row."""

    @property
    def takes_bonus(self) -> bool:
        """Whether a token is drawn after a draft that was kept whole."""

    @property
    def needs_specialist(self) -> bool:
        """Whether the target depends on the specialist."""

    @property
    def needs_base(self) -> bool:
        """Whether anything depends on the base."""

    @property
    def needs_generalist(self) -> bool:
        """Whether anything depends on the generalist; else no server is asked."""

    @property
    def delta_weight(self) -> float:
        """The exponent of the personal delta, and so of 1/B, in the target."""

    @property
    def shares_noise(self) -> bool:
        """Whether draft and target are drawn with one noise per position."""

    @property
    def reads_history(self) -> Literal["specialist", "nobody", "generalist"]:
        """Which model is given the private prompt."""

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """Probability (N,) that the server keeps tokens of such log-probabilities."""

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """Probabilities (K,) of the token to stand there: to redraw, or compare."""

    def bonus(self, specialist: Floats, row: Candidates) -> Floats:
        """Probabilities (K,) of the token after a full block, if one is drawn."""

    def bonus_waits(self, likeliest: int, row: Candidates) -> bool:
        """Whether the specialist's likeliest token is missing in the row of a bonus."""

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """Upper bound on the target's mass outside the row, from the specialist's
        log-probabilities (V,) but for a constant, or none; None: unknown."""
