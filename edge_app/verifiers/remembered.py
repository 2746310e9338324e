"""An engine that two readers share, who ask it about the same places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decoding_core.protocols import Engine
from decoding_core.sampling import Floats
from decoding_core.verifier import common_prefix, read_text

_KEPT = 96
"""Rows that are remembered: those of a window of the longest drafts, and more."""


class RememberedRows:
    """An `Engine` that computes no row of logits a second time while it is asked about
    one text: what follows the same tokens is the same."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self._read: list[int] = []  # the text that the rows are of
        self._rows: dict[int, Floats] = {}  # by how many tokens stand before
        self.tokens: list[int] = []
        """What its reader takes to be read."""

    @property
    def position(self) -> int:
        """How many tokens that are."""
        return len(self.tokens)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self._inner.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Logits (rows, V), computed where they are not remembered; raises what the
        engine inside raises."""
        wanted = [*self.tokens, *token_ids]
        same, end = common_prefix(self._read, wanted), len(wanted)
        if same < end:  # it is another text from there on, or a longer one
            self._rows = {at: row for at, row in self._rows.items() if at <= same}
        asked = range(end - rows + 1, end + 1)
        lacking = [at for at in asked if at not in self._rows]
        if lacking:
            found = read_text(self._inner, wanted, end + 1 - lacking[0])
            self._rows.update(zip(range(lacking[0], end + 1), found, strict=True))
            if same < end:
                self._read = list(wanted)
        self.tokens = wanted
        answer = np.stack([self._rows[at] for at in asked])
        for at in sorted(self._rows)[:-_KEPT]:
            del self._rows[at]
        return answer

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        del self.tokens[position:]

    def close(self) -> None:
        """Free the engine inside."""
        self._inner.close()
