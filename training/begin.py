"""The weights a run begins with: a parent's, with neurons pruned away, or noise.

What the remaining neurons of a layer write is fitted to what all of them wrote, by
least squares, layer after layer, on a few rows, as in SlimGPT (Ling and others, 2024).
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from training import parent
from training.config import BEFORE, Recipe
from training.network import Feed, Network, turns

TYPICAL = 8
"""Rows that show which neurons are active, beside as many of repeated random tokens."""
_COMMON = 300  # ids below are control tokens and bytes in the full vocabulary
_RIDGE = 1e-3
"""Ridge of the least squares, in parts of the neurons' mean square: it keeps the fit
from leaning on a few neurons."""


def weights(plan: Recipe, rows: Tensor) -> dict[str, Tensor]:
    """Weights for a network of the recipe's shape; rows (B, T + 1) are typical."""
    if plan.parent == BEFORE:
        return parent.read(parent.before(plan.work)).weights
    if not plan.parent:
        return Network(plan.shape, plan.schedule.seed).state_dict()
    found = parent.read(parent.fetch(plan.work))
    embedding = parent.embeddings(found, plan.vocabulary)
    network = Network(replace(found.shape, vocabulary=len(embedding)))
    network.load_state_dict(found.weights | {"embedding.weight": embedding})
    if plan.shape.hidden == found.shape.hidden:
        return network.state_dict()
    few = rows[:TYPICAL]
    again = repeated(plan.shape.vocabulary, len(few), few.shape[1] // 2 + 1)
    typical = torch.cat([few, again[:, : few.shape[1]].to(few.dtype)])
    return with_hidden(network, typical, plan.shape.hidden)


def repeated(vocabulary: int, count: int, length: int, seed: int = 1) -> Tensor:
    """Random ids, each row twice in succession: (count, 2 * length)."""
    chance = torch.Generator().manual_seed(seed)
    first = min(_COMMON, vocabulary // 2)
    ids = torch.randint(first, vocabulary, (count, length), generator=chance)
    return torch.cat([ids, ids], dim=1)


@torch.no_grad()
def with_hidden(network: Network, rows: Tensor, hidden: int) -> dict[str, Tensor]:
    """The weights with the `hidden` neurons worth most in each layer, in their order;
    the last matrix is fitted on rows (B, T + 1)."""
    kept = network.state_dict()
    turn = turns(rows.shape[1] - 1, network.shape.head_size, rows.device)
    x = network.embedding(rows[:, :-1])
    for layer, block in enumerate(network.blocks):
        x = x + block.attention(block.attention_norm(x), turn)
        active = neurons(block.feed, block.feed_norm(x))
        chosen = worth(block.feed, active).topk(hidden).indices.sort().values
        down = fitted(active[:, chosen], block.feed.down(active))
        for part in ("gate", "up"):
            name = f"blocks.{layer}.feed.{part}.weight"
            kept[name] = kept[name][chosen]
        kept[f"blocks.{layer}.feed.down.weight"] = down
        x = x + (active[:, chosen] @ down.T).view_as(x)  # as the pruned network has it
    return kept


def neurons(feed: Feed, x: Tensor) -> Tensor:
    """Activations (B * T, hidden) of the neurons at x (B, T, width)."""
    return (functional.silu(feed.gate(x)) * feed.up(x)).flatten(0, -2)


def worth(feed: Feed, active: Tensor) -> Tensor:
    """The mean activation of each neuron times the norm of its column of `down`,
    (hidden,)."""
    return active.abs().mean(0) * feed.down.weight.norm(dim=0)


def fitted(active: Tensor, wanted: Tensor) -> Tensor:
    """The matrix (width, n) that maps `active` (tokens, n) to `wanted` (tokens, width)
    with the least error."""
    squares = active.T @ active
    ridge = _RIDGE * squares.diagonal().mean() + torch.finfo(active.dtype).tiny
    squares = squares + ridge * torch.eye(len(squares), device=active.device)
    return torch.linalg.solve(squares, active.T @ wanted).T.contiguous()
