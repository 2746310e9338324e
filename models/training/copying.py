"""Copying, wired by hand: what a short run would not learn by itself.

An induction circuit needs two heads that are useless alone: one that notes at each
token which token came before it, and one that looks for a place where the present
token was noted and copies what stands there. Here both are solved for by least
squares on the network's own activations, and training refines them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from models.training.network import NORM_EPSILON, ROPE_BASE, Network, turns

_NOTE_PAIRS = 5
"""Fast rotary pairs: they tell neighbours apart."""
_MATCH_FROM = 19
"""First of the slow rotary pairs: they hardly turn over a prompt."""
_SHARPNESS = 1.7
_CONSTANT = 0.4
_NOTE_SIZE = 1.0
_COPY_SIZE = 0.6
_FIRMNESS = 30.0


@torch.no_grad()
def wire(network: Network, rows: Tensor) -> None:
    """Overwrite one group of heads in the first layer and all in the last but one;
    `rows` (B, T) are typical of what the network reads."""
    _add_constant(network)
    codes, basis = _codes(network, rows)  # (V, width), (width, width)
    size = network.shape.head_size
    _wire_note(network, rows, codes[:, :size], basis[:, -size:])
    _wire_copy(network, rows, codes, basis)


def _wire_note(network: Network, rows: Tensor, codes: Tensor, room: Tensor) -> None:
    """The first head attends to the token before and writes its code into `room`."""
    size = network.shape.head_size
    attention = _attention(network, 0)
    seen = _activations(network, rows, 0)
    always = _solved(seen, torch.ones(*rows.shape, 1))[0]
    query, key = _neighbour(size)
    _weight(attention, "q")[:size] = _firm(torch.outer(query, always))
    _weight(attention, "k")[:size] = _firm(torch.outer(key, always))
    _weight(attention, "v")[:size] = _solved(seen, codes[rows])
    length = network.embedding(rows).norm(dim=-1).mean() * _NOTE_SIZE
    output = _weight(attention, "output")
    output[:, : network.shape.heads // network.shape.kv_heads * size] = 0
    output[:, :size] = room * length / math.sqrt(size)
    fast = torch.arange(_NOTE_PAIRS)
    _sharpen(attention, torch.cat((fast, fast + size // 2)))


def _wire_copy(network: Network, rows: Tensor, codes: Tensor, basis: Tensor) -> None:
    """All heads look for the present token among the noted ones and copy on."""
    size, heads = network.shape.head_size, network.shape.heads
    layer = max(1, network.shape.layers - 2)
    attention = _attention(network, layer)
    seen, here = _activations(network, rows, layer), codes[rows]
    slots = _slow_slots(size)
    query = _firm(_solved(seen, here[..., : len(slots)]))  # (slots, width)
    key = _firm(_solved(seen[:, 1:], here[:, :-1, : len(slots)]))
    _weight(attention, "q").copy_(_placed(query, slots, heads, size))
    _weight(attention, "k").copy_(_placed(key, slots, network.shape.kv_heads, size))
    inner = network.shape.kv_heads * size
    _weight(attention, "v").copy_(_solved(seen, here[..., :inner]))
    strength = (network.embedding.weight @ basis).std(dim=0)  # (width,)
    strength *= _COPY_SIZE * _length(network, rows, layer) / strength.norm()
    back = (basis * strength)[:, :inner].reshape(len(basis), -1, size)
    share = heads // network.shape.kv_heads
    repeated = back.repeat_interleave(share, dim=1) / share
    _weight(attention, "output").copy_(_noisy(repeated.flatten(1)))
    _sharpen(attention, slots)


def _placed(weights: Tensor, slots: Tensor, heads: int, size: int) -> Tensor:
    """The same rows in every head, at these of its slots."""
    head = torch.zeros(size, weights.shape[1])
    head[slots] = weights
    return _noisy(head.repeat(heads, 1))


def _noisy(weights: Tensor) -> Tensor:
    """Told apart a little, so that equal heads can become different."""
    return weights + torch.randn_like(weights) * weights.std() * 0.02


def _sharpen(attention: torch.nn.Module, slots: Tensor) -> None:
    for name in ("q_norm", "k_norm"):
        _weight(attention, name)[slots] = _SHARPNESS


def _add_constant(network: Network) -> None:
    """Add one vector to every embedding: a softmax over them does not change, and
    heads that look at positions alone have something to hold on to."""
    table = network.embedding.weight
    _, _, directions = torch.linalg.svd(table - table.mean(0), full_matrices=False)
    table.add_(directions[-1] * table.norm(dim=1).mean() * _CONSTANT)


def _codes(network: Network, rows: Tensor) -> tuple[Tensor, Tensor]:
    """A whitened code of each token (V, width), and the directions it is made of,
    the strongest first."""
    table = network.embedding.weight
    count = torch.bincount(rows.flatten(), minlength=len(table)).sqrt()[:, None]
    centred = table - (table * count).sum(0) / count.sum()
    _, _, directions = torch.linalg.svd(centred * count, full_matrices=False)
    code = centred @ directions.T
    weight = code.pow(2).mul(count).sum(0) / count.sum()
    return code / weight.sqrt(), directions.T


def _firm(weights: Tensor) -> Tensor:
    """Larger weights: queries and keys are normalised afterwards, so that nothing
    changes but how much a step of training can undo."""
    firm: Tensor = weights * (_FIRMNESS / torch.linalg.matrix_norm(weights, 2))
    return firm


def _neighbour(size: int) -> tuple[Tensor, Tensor]:
    """A query and a key that meet best when the key stands one place earlier."""
    angle = ROPE_BASE ** -(torch.arange(0, size, 2)[:_NOTE_PAIRS] / size)
    query, key = torch.zeros(size), torch.zeros(size)
    query[:_NOTE_PAIRS] = 1
    key[:_NOTE_PAIRS] = angle.cos()
    key[size // 2 : size // 2 + _NOTE_PAIRS] = angle.sin()
    return query, key


def _slow_slots(size: int) -> Tensor:
    slow = torch.arange(_MATCH_FROM * size // 64, size // 2)
    return torch.cat((slow, slow + size // 2))


def _activations(network: Network, rows: Tensor, layer: int) -> Tensor:
    """What the attention of a layer reads (B, T, width)."""
    norm = network.blocks[layer].get_submodule("attention_norm")
    normed: Tensor = norm(_stream(network, rows, layer))
    return normed


def _stream(network: Network, rows: Tensor, layer: int) -> Tensor:
    """What the layers before this one hand on (B, T, width)."""
    turn = turns(rows.shape[1], network.shape.head_size, rows.device)
    x: Tensor = network.embedding(rows)
    for block in list(network.blocks)[:layer]:
        x = block(x, turn)
    return x


def _length(network: Network, rows: Tensor, layer: int) -> Tensor:
    length: Tensor = _stream(network, rows, layer).norm(dim=-1).mean()
    return length


def _solved(seen: Tensor, wanted: Tensor) -> Tensor:
    """The matrix (out, in) that best makes `wanted` of `seen`."""
    x, y = seen.flatten(0, -2), wanted.flatten(0, -2)
    square = x.T @ x
    ridge = square.diagonal().mean() * 1e-3 + NORM_EPSILON
    solved: Tensor = torch.linalg.solve(
        square + ridge * torch.eye(len(square)), x.T @ y
    )
    return solved.T


def _attention(network: Network, layer: int) -> torch.nn.Module:
    return network.blocks[layer].get_submodule("attention")


def _weight(module: torch.nn.Module, name: str) -> Tensor:
    return module.get_parameter(f"{name}.weight").data
