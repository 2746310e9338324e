"""What the device and the server say to each other, as frozen values.

Letters: G drafted tokens, K candidates, R rows of candidates. Ids are those of the
shared vocabulary, log-probabilities are in nats. Positions count the tokens of the
text in its public form, from 0 after the prompt. How these become bytes is the
business of `wire`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import MessageError

Origin = Literal["accepted", "recovered", "bonus", "local"]
"""Where a token came from: drafted and kept; redrawn after a refusal; drawn after a
full block; written by the device alone."""

AcceptanceRule = Literal["greedy", "stochastic"]
"""Compare the ratio with the threshold, or keep with probability ratio / threshold."""

CandidateRule = Literal["generalist", "contrast"]
"""Candidates are the likeliest by L, or, as the paper has it, by L / B^strength."""

BasePlace = Literal["cloud", "edge"]
"""Where the base runs: on the server, or on the device."""

SETTLED_LIMIT = 16
"""Settled tokens that one block may carry; with more, the session is opened anew."""
WINDOW = 4
"""Blocks of one text that may be out at once."""
DRAFT_LIMIT = 64
"""The longest draft any server takes."""
THRESHOLD_LIMIT = 1e6
"""The highest threshold."""
RATIO_UNIT = 2.0**-20
"""Sums of multiples of this are exact in a double, in any order."""
NOTHING_LEFT_OUT = float(np.finfo(np.float32).min)
"""What stands for the logarithm of zero where only finite numbers travel."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the server must know of the method to verify a block."""

    method: str
    rule: AcceptanceRule = "greedy"
    temperature: float = 0.0
    seed: int = 0
    """Of the server's own noise; tells nothing about the device's."""
    candidates: int = 100
    """K: how many tokens a row of candidates holds, besides the drafted one."""
    candidate_rule: CandidateRule = "generalist"
    strength: float = 1.0
    """Beta: the server says by it how much may lie outside of the candidates."""
    draft_limit: int = 8
    """G: the longest draft of the session; sets the size of the frames."""
    base: BasePlace = "cloud"
    """On the edge, the server runs no base and verifies nothing."""
    bonus: bool = False
    """Whether a token may be drawn after a block that was kept whole."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A request for a session."""

    prompt_ids: tuple[int, ...]
    """The public prompt."""
    text_ids: tuple[int, ...]
    """The text so far, when a session is opened again; else empty."""
    vocabulary_id: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The server's answer to `OpenSession`."""

    session_id: str
    generalist: str
    """Name of the large model, for the screen."""
    base: str


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """One round: what the device settled since the last, and what it drafted."""

    epoch: int
    """Grows at each refusal."""
    round: int
    position: int
    """How many text tokens stand before this block; the server forgets any others."""
    digest: int
    """`digest` of those tokens."""
    settled: tuple[int, ...]
    """Tokens the device has fixed after `position`; not to be verified."""
    drafted: tuple[int, ...]  # (G,)
    threshold: float = 0.5
    """A drafted token stays while generalist / base lies above it."""

    def __post_init__(self) -> None:
        if min(self.epoch, self.round, self.position) < 0:
            raise MessageError("epoch, round and position count from 0")
        if not 0.0 <= self.threshold <= THRESHOLD_LIMIT:
            raise MessageError("a threshold that cannot be")
        if len(self.settled) > SETTLED_LIMIT or len(self.drafted) > DRAFT_LIMIT:
            raise MessageError("a block holds too many tokens")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Log-probabilities of K tokens at one position, at the session's temperature."""

    token_ids: NDArray[np.int32]  # (K,)
    generalist_logprobs: NDArray[np.float32]  # (K,)
    base_logprobs: NDArray[np.float32] | None  # (K,)
    """None where the server asks no base."""
    tail_log_ratio: float = NOTHING_LEFT_OUT
    """Logarithm of the largest L / B^strength, or L where there is no base, of a token
    that is no candidate; never too small. The strength is that of the method's target,
    which for `costeer` is more than the one that is set."""
    whole_base: NDArray[np.floating[Any]] | None = None  # (V,)
    """The base on all tokens, where it runs on this device; never travels."""

    def __post_init__(self) -> None:
        given = (self.generalist_logprobs, self.base_logprobs)
        shapes = {a.shape for a in given if a is not None}
        if shapes != {self.token_ids.shape} or self.token_ids.ndim != 1:
            raise MessageError("candidates must be rows of one length")
        if self.token_ids.size and self.token_ids.min() < 0:
            raise MessageError("candidates with ids below 0")

    def check(self, vocabulary: int) -> None:
        """Raise MessageError where an id is none of so many tokens: the ids came from
        another machine, and are looked up here."""
        if self.token_ids.size and self.token_ids.max() >= vocabulary:
            raise MessageError(
                "the server names tokens that this device's model does not have; it is "
                "faulty, so choose another with --server, or write with --offline"
            )

    @property
    def base(self) -> NDArray[np.float32]:
        """The base's log-probabilities (K,), of which a method has need."""
        if self.base_logprobs is None:
            raise MessageError("the candidates came without the base's opinion")
        return self.base_logprobs


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The answer to one block."""

    epoch: int
    round: int
    accepted: int
    """How many drafted tokens stay."""
    rows: tuple[Candidates, ...]
    """One row, for the token in place of the first refused one, when the server
    decides; G rows, one per drafted token, when the device does; none when the device
    drafts again after a refusal. Where a bonus is drawn, one more after them all."""
    ratio_sum: float = 0.0
    """Sum of L / B over the drafted tokens up to and with the first refused one, each a
    multiple of `RATIO_UNIT`, where the server decides; else 0. The sum over a text is
    therefore the same wherever its blocks end."""
    seconds: float = 0.0
    """How long the models took for this block, as far as the verifier says."""


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """Settled tokens with their origins, in the form the person reads."""

    token_ids: tuple[int, ...]
    origins: tuple[Origin, ...]


def digest(token_ids: Sequence[int]) -> int:
    """CRC-32 of token ids: a check that both sides hold the same text, no secret."""
    return zlib.crc32(np.asarray(token_ids, dtype="<u4").tobytes())
