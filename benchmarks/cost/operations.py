"""How many operations a text takes, from the shapes of both models.

G drafted tokens a round, of which a share stays. A round settles G * share tokens, and
one more where a token was refused. It takes

- the specialist: G tokens, one after the other;
- generalist and base: the token settled last and all drafted ones but the last, in one
  pass.

With a bonus, as in the paper, a full block gives one token more, for which each model
reads one token more. So refused drafts are counted too; what is drafted behind a block
that is out, and in vain, is not. Before the first round each model reads its prompt:
the specialist the history and the request, generalist and base the request alone.
Counted by `tokens`, that is what the processors do. Counted by `passes`, prompts are
left out, and a pass over a block counts as one token: what is done when moving the
weights decides, as on a GPU. Counted as `published`, a weight besides is one operation
and not two, while attention is counted in full: so the paper's own table comes out
(docs/bench.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.cost.shapes import ShapedPair

Count = Literal["tokens", "passes", "published"]


@dataclass(frozen=True, slots=True)
class Text:
    """What is written."""

    tokens: int = 100
    request: int = 100
    """Tokens of the public prompt."""
    draft_length: int = 8
    count: Count = "tokens"
    bonus: bool = False
    """Whether a token is drawn after a block that was kept whole."""

    @property
    def per_weight(self) -> int:
        """Operations of a token that is multiplied with one weight."""
        return 1 if self.count == "published" else 2


def with_history(pair: ShapedPair, text: Text, history: int) -> float:
    """The generalist reads history and request, and writes token by token."""
    model, prompt = pair.generalist, history + text.request
    written = text.tokens  # one step for each; the last of the prompt gives the first
    total = model.reading(written, prompt - 1, written, text.per_weight)
    if text.count == "tokens":
        total += model.reading(prompt - 1, 0, 1)
    return total


def steering(pair: ShapedPair, text: Text, history: int, share: float) -> float:
    """Operations of steering, on the device and on the server."""
    small, large = pair.specialist, pair.generalist
    public, private = text.request, history + text.request
    total = 0.0
    if text.count == "tokens":
        total += small.reading(private - 1, 0, 1) + small.reading(public - 1, 0, 1)
        total += large.reading(public - 1, 0, 1)
    block = text.draft_length + text.bonus if text.count == "tokens" else 1
    each = text.per_weight
    for weight, settled in _rounds(text, share):
        # A model's last token, settled last, is read with the block.
        drafted = float(text.draft_length)
        if text.bonus:
            drafted += full_share(share, text.draft_length)
        total += weight * small.reading(drafted, private - 1 + settled, drafted, each)
        for model in (small, large):
            total += weight * model.reading(block, public - 1 + settled, block, each)
    return total


def tokens_per_round(share: float, draft_length: int, *, bonus: bool = False) -> float:
    """Settled in one round: those kept, and one drawn in place of a refused one or, as
    a bonus, after a full block; without a draft, the one that is drawn."""
    if bonus or not draft_length:
        return share * draft_length + 1
    return share * draft_length + 1 - full_share(share, draft_length)


def share_kept(chance: float, draft_length: int) -> float:
    """Share of the drafted tokens that is kept, when every token stays with one chance
    and a refused one takes along those after it."""
    return sum(chance**i for i in range(1, draft_length + 1)) / draft_length


def full_share(share: float, draft_length: int) -> float:
    """How many blocks are kept whole, when every token stays with one probability p,
    for which sum of p^i, i = 1..G, is the share of G."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        kept = sum(p**i for i in range(1, draft_length + 1))
        low, high = (p, high) if kept < share * draft_length else (low, p)
    return high**draft_length


def _rounds(text: Text, share: float) -> Iterator[tuple[float, float]]:
    """Each round's weight, 1 but for the last, and the tokens settled before it."""
    step = tokens_per_round(share, text.draft_length, bonus=text.bonus)
    settled = 0.0
    while settled < text.tokens:
        yield min(1.0, (text.tokens - settled) / step), settled
        settled += step
