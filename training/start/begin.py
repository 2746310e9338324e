"""The weights a run begins with: cut out of a parent, or chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from decoding_core.errors import ModelNotFoundError
from training import config
from training.config import BEFORE, PUBLIC, Recipe, Shape
from training.network import Network
from training.start import before, parent, prune, search, transplant
from training.start.search import Measure

TYPICAL = 8
"""Rows that show which neurons speak; as many tokens again are random and repeat."""
_CALIBRATION = (2, 385)
"""Rows, and tokens of each, that show which layers can go; more takes hours."""
_REPEATS = (3, 48)
"""Rows, and tokens of each before they repeat, that show which layers copy."""


def weights(plan: Recipe, rows: Tensor) -> dict[str, Tensor]:
    """Weights for a network of the recipe's shape; rows (B, T + 1) are typical."""
    if plan.start.parent == BEFORE:
        return before.load(plan.name, plan.work).weights
    if not plan.start.parent:
        return Network(plan.shape, plan.schedule.seed).state_dict()
    whole, shape = origin(plan)
    pruned = prune.with_layers(whole, plan.start.layers)
    if plan.start.groups:
        pruned = prune.with_groups(pruned, plan.start.groups, shape)
    if plan.shape.hidden == shape.hidden:
        return pruned
    network = Network(replace(plan.shape, hidden=shape.hidden))
    network.load_state_dict(pruned)
    few = rows[:TYPICAL]
    again = search.repeated(shape.vocabulary, len(few), few.shape[1] // 2 + 1)
    typical = torch.cat([few, again[:, : few.shape[1]].to(few.dtype)])
    return prune.with_hidden(network, typical, plan.shape.hidden)


def origin(plan: Recipe) -> tuple[dict[str, Tensor], Shape]:
    """What a model is cut out of, with embeddings of our vocabulary, and its shape.

    Raises:
        ModelNotFoundError: it is cut out of a model that is not trained yet.
    """
    if plan.start.parent != PUBLIC:
        other = config.recipe(plan.start.parent, plan.scale, plan.work)
        if not other.checkpoint.exists():
            raise ModelNotFoundError(
                f"the {plan.name} is cut out of the {other.name}, which is not trained "
                f"yet: run this step with --model {other.name} first"
            )
        state = torch.load(other.checkpoint, map_location="cpu", weights_only=True)
        return state["network"], other.shape
    found = parent.load(plan.work)
    embedding = transplant.embeddings(found, plan.vocabulary)
    shape = replace(found.shape, vocabulary=len(embedding))
    return found.weights | {"embedding.weight": embedding}, shape


def searched(plan: Recipe, rows: Tensor) -> Iterator[str]:
    """Layers and groups of heads that could be kept, fewer and fewer, in words."""
    whole, shape = origin(plan)
    network = Network(shape)
    network.load_state_dict(whole)
    count, length = _CALIBRATION
    repeats = search.repeated(shape.vocabulary, *_REPEATS)
    measure = Measure(rows[:count, :length], repeats)
    kept: list[int] = []
    for kept, texts, again in search.dropped_in_turn(
        network, measure, plan.shape.layers
    ):
        yield (
            f"{len(kept)} layers, {texts:.3f} nats per token, {again:.3f} of what "
            f"repeats: layers = {kept}"
        )
    if plan.shape.kv_heads < shape.kv_heads:
        smaller = search.cut(network, kept)
        groups = search.groups_to_keep(smaller, measure, plan.shape.kv_heads)
        texts, again = measure.nats(smaller)
        yield f"{texts:.3f} nats, {again:.3f} of what repeats: groups = {groups}"
