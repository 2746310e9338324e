"""The device's part of a round: what is drafted, and what becomes of it.

The `Drafter` drafts with the specialist; nothing else evaluates the private prompt. A
`Decider` says how many drafted tokens stay and which token comes after them. There are
four: the server decides by its verdict; the device decides by itself, by rejection or
by coupling, from the candidates that the verdict holds; or nobody decides and all is
kept. `edge_app.decoding.loop.decode_loop` chooses one for a method.

G drafted tokens, V vocabulary, K candidates of a row.

Source of the device's rejection: Leviathan et al. 2023 (arXiv 2211.17192).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from decoding_core.errors import ContextFullError, MessageError, StoppedError
from decoding_core.messages import Candidates, Origin, Verdict
from decoding_core.protocols import Engine, Method
from decoding_core.residual import keep_probability, residual_distribution
from decoding_core.sampling import Draw, Floats, Use, likeliest, log_softmax
from decoding_core.settings import START, Threshold
from decoding_core.verifier import RunningThreshold, VerifierRole, read_on


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
            if self._shares_noise:
                token = self._draw.coupled(self._draw.unnormalised(row), position)
            else:
                token = self._draw.from_logits(row, Use.DRAFT, position, attempt)
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


@dataclass(frozen=True, slots=True)
class Decision:
    """How many drafted tokens stay, and the token drawn after them, if any."""

    kept: int
    redrawn: int | None = None
    origin: Origin = "bonus"
    """Of the token that was drawn."""
    truncation_bound: float | None = None
    """How much of a target lay outside of its candidates at most; None: not known."""


class Decider(ABC):
    """Decides on one draft after the other."""

    origin: ClassVar[Origin] = "accepted"
    """Of the drafted tokens that stay."""

    def __init__(self, draft_length: int, threshold: Threshold = START) -> None:
        self.draft_length = draft_length
        """How many tokens are drafted in a round; 0: each is drawn from candidates."""
        self.threshold = RunningThreshold(threshold)
        """Goes to the server with each block."""

    def attempt(self, epoch: int) -> int:
        """With which attempt's noise the next draft is drawn."""
        del epoch
        return 0

    @abstractmethod
    def decide(
        self, draft: Draft, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """What becomes of a draft after the text; after `most` of its tokens the text
        is at its end."""


class NobodyDecides(Decider):
    """Keeps the whole draft: no verifier takes part, or none answers."""

    origin: ClassVar[Origin] = "local"

    def decide(
        self, draft: Draft, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """The whole draft stays, and nothing is drawn after it."""
        del verdict, text_ids, most
        return Decision(len(draft.token_ids))


class ComparingDecider(Decider):
    """Decides by a method, from a verdict."""

    def __init__(
        self,
        drafter: Drafter,
        method: Method,
        draw: Draw,
        role: VerifierRole,
        threshold: Threshold,
    ) -> None:
        super().__init__(role.draft_limit, threshold)
        self._drafter = drafter
        self._method = method
        self._draw = draw
        self._redrafts = role.redrafts
        self._text: list[int] = []
        self._bound: float | None = None

    def attempt(self, epoch: int) -> int:
        """Fresh noise after each refusal, where the refused place is drafted again."""
        return epoch if self._redrafts else 0

    def decide(
        self, draft: Draft, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """What becomes of a draft after the text.

        Raises:
            MessageError: the verdict names tokens that the specialist does not have.
        """
        assert verdict is not None
        self._text, self._bound = text_ids, None
        if verdict.rows:
            # Before anything is looked up by the server's ids. Where no specialist
            # takes part, the vocabulary refuses the token that is drawn.
            own = draft.logits[0] if draft.logits else self._specialist(0)
            if own is not None:
                for row in verdict.rows:
                    row.check(len(own))
        try:
            return self._decide(draft, verdict, most)
        except ContextFullError:
            # Only what follows a full block is still to be read: it stays without.
            if not draft.token_ids:
                raise
            return Decision(len(draft.token_ids), truncation_bound=self._bound)

    @abstractmethod
    def _decide(self, draft: Draft, verdict: Verdict, most: int) -> Decision:
        """What becomes of a draft that is compared with a verdict."""

    def _specialist(self, kept: int) -> Floats | None:
        """The specialist's logits (V,) after `kept` drafted tokens; None where no
        target depends on them."""
        if not self._method.needs_specialist:
            return None
        return self._drafter.logits_at(self._text, kept)

    def _on_row(self, row: Candidates, kept: int) -> Floats:
        """The specialist's log-probabilities (K,) of a row's tokens, but for a
        constant, which no target depends on."""
        logits = self._specialist(kept)
        if logits is None:
            return np.zeros_like(row.generalist_logprobs)
        return self._draw.unnormalised(logits[row.token_ids])

    def _note_bound(self, row: Candidates, kept: int) -> None:
        """Note how much of the target the row may lack."""
        logits = self._specialist(kept)
        specialist: Floats = np.empty(0)
        if logits is not None:
            specialist = log_softmax(logits.astype(float), self._draw.temperature)
        bound = self._method.truncation_bound(specialist, row)
        if bound is not None:
            self._bound = max(bound, self._bound or 0.0)


class ServerDecides(ComparingDecider):
    """The server counted the tokens that stay; the device draws the one after them."""

    def _decide(self, draft: Draft, verdict: Verdict, most: int) -> Decision:
        self.threshold.learn(verdict.mean_ratio, len(draft.token_ids))
        kept = verdict.accepted
        if kept >= most or not verdict.rows:  # without a row, the next draft goes on
            return Decision(kept)
        row, refused = verdict.rows[0], kept < len(draft.token_ids)
        if kept and not refused:
            own = self._specialist(kept)
            if own is not None and self._method.bonus_waits(likeliest(own), row):
                return Decision(kept)
        pick = self._method.target if refused else self._method.bonus
        probs = pick(self._on_row(row, kept), row)
        if probs is None:
            return Decision(kept)
        self._note_bound(row, kept)
        index = self._draw.from_probs(probs, Use.REDRAW, len(self._text) + kept)
        origin: Origin = "recovered" if refused else "bonus"
        return Decision(kept, int(row.token_ids[index]), origin, self._bound)


class DeviceDecides(ComparingDecider):
    """The device keeps a drafted token x with min(1, T(x)/S(x)), else draws from the
    positive part of T - S; after a full block it draws from T."""

    def _decide(self, draft: Draft, verdict: Verdict, most: int) -> Decision:
        for kept, row in enumerate(verdict.rows):
            if kept >= most:
                return Decision(kept, truncation_bound=self._bound)
            self._note_bound(row, kept)
            target = self._method.target(self._on_row(row, kept), row)
            if kept == len(draft.token_ids):
                index: int | None = self._drawn(target, row, kept)
                origin: Origin = "bonus"
            else:
                index, origin = self._refusal(target, draft, row, kept), "recovered"
            if index is not None:
                return Decision(kept, int(row.token_ids[index]), origin, self._bound)
        raise MessageError("the verdict holds too few rows")

    def _drawn(self, target: Floats, row: Candidates, kept: int) -> int:
        """Place in the row of a token drawn from the target."""
        del row
        probs = self._draw.distribution(target)
        return self._draw.from_distribution(probs, len(self._text) + kept)

    def _refusal(
        self, target: Floats, draft: Draft, row: Candidates, kept: int
    ) -> int | None:
        """Place in the row of the token that replaces a drafted one; None: it stays."""
        position = len(self._text) + kept
        wanted = self._draw.distribution(target)
        drawn_from = self._draw.distribution_of(draft.logits[kept])
        stays = keep_probability(wanted, drawn_from, row, draft.token_ids[kept])
        if self._draw.noise.keeps(stays, position):
            return None
        left = residual_distribution(wanted, drawn_from, row)
        return self._draw.from_distribution(left, position)


class DeviceCouples(DeviceDecides):
    """The device draws each token of the target with the noise that the draft was drawn
    with, and keeps the draft while the two agree."""

    def _drawn(self, target: Floats, row: Candidates, kept: int) -> int:
        with np.errstate(divide="ignore"):
            logprobs = np.log(target)
        position = len(self._text) + kept
        return self._draw.coupled(logprobs, position, row.token_ids)

    def _refusal(
        self, target: Floats, draft: Draft, row: Candidates, kept: int
    ) -> int | None:
        index = self._drawn(target, row, kept)
        return None if row.token_ids[index] == draft.token_ids[kept] else index
