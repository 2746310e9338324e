"""AdamW, and how fast it may go at which part of a run."""

from __future__ import annotations

import math

from torch import nn
from torch.optim import AdamW

from training.config import Schedule

_BETAS = (0.9, 0.95)
_DECAY = 0.01
"""Weight decay of the matrices; norms have none."""


def optimiser(network: nn.Module, rate: float) -> AdamW:
    """AdamW for all weights of a network."""
    weights = list(network.parameters())
    matrices = [weight for weight in weights if weight.ndim == 2]
    others = [weight for weight in weights if weight.ndim != 2]
    groups = [
        {"params": matrices, "weight_decay": _DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=rate, betas=_BETAS, fused=True)


def set_rate(optimiser: AdamW, rate: float) -> None:
    """Give the optimiser its learning rate for the next step."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def rate_at(tokens: int, schedule: Schedule) -> float:
    """Learning rate after so many tokens: up in a line, then down along a cosine."""
    if tokens < schedule.warmup:
        return (
            schedule.rate
            * (tokens + schedule.batch)
            / (schedule.warmup + schedule.batch)
        )
    share = (tokens - schedule.warmup) / max(1, schedule.tokens - schedule.warmup)
    falling = 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
    return schedule.rate * (schedule.floor + (1 - schedule.floor) * falling)
