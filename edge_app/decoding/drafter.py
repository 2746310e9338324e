"""The specialist at work: drafting tokens from the private prompt.

Only this module evaluates that prompt. V vocabulary, G drafted tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.protocols import Engine
from decoding_core.sampling import Draw, Floats, Use
from decoding_core.verifier import read_on


@dataclass(slots=True)
class Draft:
    """Drafted tokens and the specialist's logits; those never leave the device."""

    token_ids: list[int] = field(default_factory=list)  # (G,)
    logits: list[Floats] = field(default_factory=list)  # G times (V,)
    after: Floats | None = None
    """Logits (V,) of what follows it, once they were asked for."""


class Drafter:
    """Drafts on from the text; its engine has never read the text's last token."""

    def __init__(
        self,
        engine: Engine,
        prompt_ids: Sequence[int],
        draw: Draw,
        end_ids: Collection[int],
        *,
        shares_noise: bool = False,
        stop: threading.Event | None = None,
    ) -> None:
        self._engine = engine
        self._prompt = list(prompt_ids)
        self._draw = draw
        self._end_ids = end_ids
        self._shares_noise = shares_noise
        self._stop = stop or threading.Event()
        self._known = 0
        self._draft = Draft()

    def draft(
        self,
        text_ids: Sequence[int],
        length: int,
        on_token: Callable[[int], None],
        attempt: int = 0,
    ) -> Draft:
        """Up to `length` tokens after the text, fewer when it ends or the context is
        full before; another attempt draws with other noise.

        Raises:
            StoppedError: the person stopped.
            ContextFullError: the text no longer fits.
        """
        row = self._read(text_ids)
        self._draft = Draft()
        while True:
            position = len(text_ids) + len(self._draft.token_ids)
            token = self._choose(row, position, attempt)
            self._draft.token_ids.append(token)
            self._draft.logits.append(row)
            on_token(token)
            if len(self._draft.token_ids) == length or token in self._end_ids:
                return self._draft
            if self._stop.is_set():
                raise StoppedError("stopped while drafting")
            try:
                row = self._engine.evaluate([token])[0]
            except ContextFullError:
                return self._draft

    def logits_at(self, text_ids: Sequence[int], index: int) -> Floats:
        """Logits (V,) at drafted position `index`; the last may be G, after them all.
        Without a draft, index 0 is what follows the text."""
        draft = self._draft
        if index < len(draft.logits):
            return draft.logits[index]
        if draft.after is None and index:
            draft.after = self._engine.evaluate([draft.token_ids[-1]])[0]
        elif draft.after is None:
            draft.after = self._read(text_ids)
        return draft.after

    def shorten(self, length: int) -> Draft:
        """The draft's first `length` tokens, at least one, as if no more had been
        drafted."""
        draft = self._draft
        del draft.token_ids[length:], draft.logits[length:]
        draft.after = None
        self._rollback_to(self._known + length - 1)
        return draft

    def keep(self, count: int) -> None:
        """Forget the draft but for its first `count` tokens."""
        self._known += count
        self._draft = Draft()
        self._rollback_to(self._known)

    def _rollback_to(self, position: int) -> None:
        if self._engine.position > position:
            self._engine.rollback(position)

    def _read(self, text_ids: Sequence[int]) -> Floats:
        token_ids = self._prompt + list(text_ids)
        row: Floats = read_on(self._engine, token_ids, self._known, 1)[0]
        self._known = len(token_ids)
        return row

    def _choose(self, row: Floats, position: int, attempt: int) -> int:
        if self._shares_noise:
            return self._draw.coupled(self._draw.unnormalised(row), position)
        return self._draw.from_logits(row, Use.DRAFT, position, attempt)
