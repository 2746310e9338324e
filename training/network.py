"""The llama network in plain torch, as llama.cpp computes it.

Letters in shapes: B rows, T tokens, H heads, D head size, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config import Shape
from training.loops import AVOID, SILENT
from training.tokenizer import PAD

NORM_EPSILON = 1e-5
ROPE_BASE = 100_000.0
_SURE = 1e-6
"""How far from certain a token to be avoided is held, so that its cost is finite."""

_MOST_OVER = 4.0
"""Log-ratios beyond this are not pulled at: a teacher that did not foresee a word at
all says nothing of how likely it is."""


class Norm(nn.Module):
    """Root-mean-square normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised over the last axis."""
        return functional.rms_norm(x, self.weight.shape, self.weight, NORM_EPSILON)


class Attention(nn.Module):
    """Grouped-query attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.head_size = shape.head_size
        self.group = shape.heads // shape.kv_heads
        inner, kv = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
        self.q = nn.Linear(shape.width, inner, bias=False)
        self.k = nn.Linear(shape.width, kv, bias=False)
        self.v = nn.Linear(shape.width, kv, bias=False)
        self.output = nn.Linear(inner, shape.width, bias=False)
        nn.init.zeros_(self.output.weight)  # a layer begins as nothing

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        """(B, T, width) to the same shape."""
        q = rotated(self._split(self.q(x)), turn)
        k = self._shared(rotated(self._split(self.k(x)), turn))
        v = self._shared(self._split(self.v(x)))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        mixed: Tensor = self.output(y.transpose(1, 2).flatten(2))
        return mixed

    def _split(self, x: Tensor) -> Tensor:
        heads = x.reshape(*x.shape[:-1], -1, self.head_size)
        return heads.transpose(1, 2)  # (B, H, T, D)

    def _shared(self, x: Tensor) -> Tensor:
        """Each key and value head once per query head of its group: torch's own
        grouping leaves the fast path on a CPU."""
        return x.repeat_interleave(self.group, dim=1)


class Feed(nn.Module):
    """The gated feed-forward layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)
        nn.init.zeros_(self.down.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) to the same shape."""
        fed: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return fed


class Block(nn.Module):
    """One layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention_norm = Norm(shape.width)
        self.attention = Attention(shape)
        self.feed_norm = Norm(shape.width)
        self.feed = Feed(shape)

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        """(B, T, width) to the same shape."""
        x = x + self.attention(self.attention_norm(x), turn)
        out: Tensor = x + self.feed(self.feed_norm(x))
        return out


class Network(nn.Module):
    """Token ids (B, T) to logits (B, T, V); input and output embeddings are one."""

    def __init__(self, shape: Shape, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width)
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of what may follow each token."""
        turn = turns(ids.shape[1], self.shape.head_size, ids.device)
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, turn)
        return functional.linear(self.norm(x), self.embedding.weight)

    def loss(self, rows: Tensor) -> Tensor:
        """Mean nats per token of rows (B, T + 1), padding left out."""
        return self.nats(rows) / targets(rows)

    def nats(self, rows: Tensor) -> Tensor:
        """What the tokens of rows (B, T + 1) cost together, padding left out: nats,
        and where tokens are marked to be avoided, the nats of avoiding them."""
        logits = self(unmarked(rows[:, :-1]))
        return cost_of(logits.flatten(0, 1).float(), rows[:, 1:].flatten())

    def distance(
        self, rows: Tensor, teacher: Tensor, ratio: float = 0.0, reverse: float = 0.0
    ) -> Tensor:
        """How far this network is from a teacher on rows (B, T + 1) without marks,
        together, in nats: KL(teacher || self) (Hinton et al., 2015), `ratio` times how
        much likelier it holds a token of the rows than the teacher (log B/L beyond 0):
        that is what has a drafted token refused, and `reverse` times the same of
        whatever it would draw itself (the reverse KL of Agarwal et al., "On-Policy
        Distillation of Language Models", 2024, with ratios cut at both ends).
        `teacher` holds logits (B * T, V) of the same rows."""
        ours = self(rows[:, :-1]).flatten(0, 1).float().log_softmax(-1)
        theirs = teacher.float().log_softmax(-1)
        tokens = rows[:, 1:].flatten()
        costly = tokens != PAD
        apart = (theirs.exp() * (theirs - ours)).sum(-1)
        if ratio:
            said = tokens[:, None]
            over = (ours.gather(1, said) - theirs.gather(1, said)).squeeze(1)
            apart = apart + ratio * over.clamp(0.0, _MOST_OVER)
        if reverse:
            over = (ours - theirs).clamp(0.0, _MOST_OVER)
            apart = apart + reverse * (ours.exp() * over).sum(-1)
        return apart.where(costly, 0.0).sum()


def targets(rows: Tensor) -> int:
    """How many tokens of rows (B, T + 1) have a cost; one at least."""
    marked = rows[:, 1:]
    costly = (unmarked(marked) != PAD) & ((marked & SILENT) == 0)
    return max(1, int(costly.sum()))


def cost_of(logits: Tensor, marked: Tensor) -> Tensor:
    """What tokens (N,) with marks cost under logits (N, V), all together: -ln p, and
    -ln (1 - p) of those to be avoided (Welleck et al., "Neural Text Generation with
    Unlikelihood Training", 2020, eq. 3)."""
    costs = functional.cross_entropy(
        logits, unmarked(marked), reduction="none", ignore_index=PAD
    )
    likely = (-costs).exp().clamp(max=1 - _SURE)
    costs = costs.where(marked < AVOID, -(-likely).log1p())
    return costs.where((marked & SILENT) == 0, 0.0).sum()


def unmarked(rows: Tensor) -> Tensor:
    """Token ids without the marks of `loops`."""
    return rows & (SILENT - 1)


def turns(length: int, size: int, device: torch.device) -> Tensor:
    """The rotary turns of T positions: cosines and sines, (2, T, D / 2)."""
    steps = torch.arange(0, size, 2, device=device, dtype=torch.float32) / size
    positions = torch.arange(length, device=device, dtype=torch.float32)
    angles = positions[:, None] * ROPE_BASE**-steps
    return torch.stack((angles.cos(), angles.sin()))


def rotated(x: Tensor, turn: Tensor) -> Tensor:
    """x (B, H, T, D) turned by its positions; neighbours are paired, as in a GGUF
    file of a llama (its makers pair halves; the file holds the rows in this order)."""
    # No complex numbers, which torch's compiler leaves out.
    left, right = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cosines, sines = turn
    pairs = (left * cosines - right * sines, left * sines + right * cosines)
    return torch.stack(pairs, -1).flatten(-2).type_as(x)
