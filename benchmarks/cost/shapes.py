"""The shape of a transformer, and what reading tokens costs with it.

An operation is one multiplication or one addition, so a weight costs two per token.
Norms, rotations, softmax and the look-up of embeddings are left out: together they are
below a hundredth of what is counted, for every shape that is in use.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from decoding_core.errors import ModelError
from models.gguf_header import read_header

_PAIRS = Path(__file__).with_name("pairs.toml")
_NO_SHAPE = "does not say the shape of a decoder with one kind of layer"


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder with grouped heads and a gated feed-forward, as Llama and Qwen have."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    key: int
    """Width of one head's keys."""
    value: int
    feed_forward: int
    vocabulary: int

    @property
    def weights(self) -> int:
        """Those that every token is multiplied with, but for the output's."""
        queries = self.heads * self.key + self.kv_heads * (self.key + self.value)
        attention = self.width * (queries + self.heads * self.value)
        return self.layers * (attention + 3 * self.width * self.feed_forward)

    def reading(
        self, tokens: float, after: float, rows: float, per_weight: int = 2
    ) -> float:
        """Operations of reading so many tokens after others, giving `rows` rows of
        logits. Expected numbers of tokens may be broken ones."""
        linear = per_weight * tokens * self.weights
        seen = tokens * after + tokens * (tokens + 1) / 2  # keys, over all tokens
        attention = 2 * self.layers * self.heads * (self.key + self.value) * seen
        return linear + attention + per_weight * rows * self.width * self.vocabulary


@dataclass(frozen=True, slots=True)
class ShapedPair:
    """Both models of a pair, and what is known of their acceptance."""

    name: str
    source: str
    specialist: Shape
    generalist: Shape
    accepted: dict[float, float]
    """Share of drafted tokens kept, by threshold."""


def shape_of(path: Path) -> Shape:
    """The shape in the header of a GGUF file; raises ModelError where it has none that
    is counted here."""
    header = read_header(path)
    kind = header.get("general.architecture", "")
    if header.get(f"{kind}.expert_count"):
        raise ModelError(f"{path} has experts; their operations are not counted here")
    attention = f"{kind}.attention"
    try:
        width = header[f"{kind}.embedding_length"]
        heads = header[f"{attention}.head_count"]
        of_one_head = width // heads
        numbers = (
            header[f"{kind}.block_count"],
            width,
            heads,
            header.get(f"{attention}.head_count_kv", heads),
            header.get(f"{attention}.key_length", of_one_head),
            header.get(f"{attention}.value_length", of_one_head),
            header[f"{kind}.feed_forward_length"],
            len(header["tokenizer.ggml.tokens"]),
        )
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ModelError(f"{path} {_NO_SHAPE}") from error
    if not all(isinstance(number, int) for number in numbers):
        # A list has a number for each layer: their kinds differ.
        raise ModelError(f"{path} {_NO_SHAPE}")
    return Shape(*numbers)


@cache
def published() -> dict[str, ShapedPair]:
    """The pairs of `pairs.toml`, by name."""
    body = tomllib.loads(_PAIRS.read_text(encoding="utf-8"))
    return {
        one["name"]: ShapedPair(
            one["name"],
            one["source"],
            Shape(**one["specialist"]),
            Shape(**one["generalist"]),
            {float(limit): share for limit, share in one["accepted"].items()},
        )
        for one in body["pair"]
    }
