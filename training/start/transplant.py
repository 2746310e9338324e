"""Embeddings of the parent's tokens, for a vocabulary of our own.

A token that the parent knows keeps its embedding; any other gets the mean of the
pieces that the parent reads it as, or of all tokens if there are none (a few bytes).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from training.start.parent import Parent


def embeddings(parent: Parent, vocabulary: Path) -> Tensor:
    """Embeddings (V, width) for our vocabulary, made of the parent's."""
    saved: dict[str, Any] = json.loads(vocabulary.read_text("utf-8"))
    control = {token["content"]: token["id"] for token in saved["added_tokens"]}
    known = {token: number for number, token in enumerate(parent.tokens)}
    theirs = parent.weights["embedding.weight"]
    ours: dict[str, int] = saved["model"]["vocab"] | control
    made = theirs.mean(0).repeat(len(ours), 1)
    pieces = _Pieces(parent)
    for token, number in ours.items():
        if token in known:
            made[number] = theirs[known[token]]
        elif token not in control and (ids := pieces.of(token)):
            made[number] = theirs[ids].mean(0)
    return made


class _Pieces:
    """Reads our tokens with the parent's merges. A token is one word already."""

    def __init__(self, parent: Parent) -> None:
        from tokenizers import Tokenizer, models

        ids = {token: number for number, token in enumerate(parent.tokens)}
        self._tokenizer: Any = Tokenizer(models.BPE(vocab=ids, merges=parent.merges))

    def of(self, token: str) -> list[int]:
        """The parent's ids for one of our tokens, bytes unknown to it left out."""
        return list(self._tokenizer.encode(token).ids)
