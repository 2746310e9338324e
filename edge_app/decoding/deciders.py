"""The device's part of a round: what is drafted, and what becomes of it.

The `Drafter` drafts with the specialist; nothing else evaluates the private prompt. A
`Decider` says how many drafted tokens stay and which token comes after them. There are
three: the server decides by its verdict; the device decides by itself, by rejection or
by coupling, from the candidates that the verdict holds; or nobody decides and all is
kept. `edge_app.decoding.loop.DecodeLoop` chooses one for a method. What is drawn is
drawn by `Draws`, of which a privacy account is one.

G drafted tokens, V vocabulary, K candidates of a row.

Source of the device's rejection: Leviathan et al. 2023 (arXiv 2211.17192).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from decoding_core import residual
from decoding_core.errors import ContextFullError, MessageError
from decoding_core.messages import Candidates, Verdict
from decoding_core.mixture import Probabilities
from decoding_core.protocols import Engine, Method
from decoding_core.sampling import Draw, Floats, Use, likeliest
from decoding_core.settings import START, Origin, Threshold
from decoding_core.verifier import (
    RunningThreshold,
    VerifierRole,
    common_prefix,
    hold_text,
)
from edge_app.decoding.events import Choice, Place
from edge_app.decoding.shaping import Shape
from models.never_drawn import NeverDrawn

NEXT_BEST = 3  # how many alternatives a `Weighed` event lists per token

Outcomes = Callable[[Floats, Probabilities, Candidates, int], Floats]
"""Probabilities (1 + K,) of what becomes of a draft, as in `decoding_core.residual`."""


@dataclass(frozen=True, slots=True)
class DraftedToken:
    """A drafted token on which the device decides."""

    token: int
    row: Candidates
    target: Floats  # T (K,), before top-p
    without: Callable[[], Floats]  # T (K,) if there were no history
    logits: Floats  # the specialist's (V,)
    outcomes: Outcomes
    refusal: Callable[[], int | None]
    """Draws the place in the row of the token that replaces the draft; None: it
    stays."""


class Draws:
    """Draws tokens; `before` is all text before the place, drafted tokens too."""

    binds = False  # whether a limit may change what is drawn from

    shares_noise = False  # whether draft and target are drawn with one noise

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        """Of draft and target, so that noise which both share is computed once."""

    def draft(
        self, logits: Floats, before: Sequence[int], attempt: int, epoch: int
    ) -> int:
        """A token from logits (V,), by the attempt's noise; raises as `evaluate`."""
        del epoch
        if self.shares_noise:
            return self.draw.coupled(self.draw.unnormalised(logits), len(before))
        return self.draw.from_logits(logits, Use.DRAFT, len(before), attempt)

    def redraw(
        self,
        target: Floats,
        without: Callable[[], Floats] | None,
        row: Candidates,
        before: Sequence[int],
    ) -> int:
        """A place in a row, drawn from the target (K,); `without` gives that without
        the history, and is None if it is the same."""
        del without, row
        return self.draw.from_probs(target, Use.REDRAW, len(before))

    def decide(self, judged: DraftedToken, before: Sequence[int]) -> int | None:
        """The place in the row of the token that replaces a draft; None: it stays."""
        del before
        return judged.refusal()


class Drafter:
    """Drafts on from the text, token by token; its engine has never read the last.

    The engine reads each token of the text alone, and what stood before it at once: a
    token that is drawn again is read as it was the first time, to the last bit.
    """

    def __init__(
        self,
        engine: Engine,
        prompt_ids: Sequence[int],
        draws: Draws,
        never: NeverDrawn | None = None,
        shape: Shape | None = None,
    ) -> None:
        """`never` says which tokens may not be drawn; `shape` shifts the logits."""
        self._never, self._shape = never, shape
        self._engine = engine
        self._prompt = list(prompt_ids)
        self._after: Floats | None = None
        self._given: int | None = None  # tokens of the text that were read at once
        self._alone: list[int] = []  # what the engine has read token by token
        self.draws = draws
        self.token_ids: list[int] = []  # all that is drafted after the text
        self.logits: list[Floats] = []  # logits (V,) that each was drawn from
        self.confidences: list[float] = []  # probability of each, at temperature 1

    def next(self, text_ids: Sequence[int], attempt: int = 0, epoch: int = 0) -> int:
        """Draft one more token after the text and the draft, with the attempt's noise.

        Raises StoppedError, and ContextFullError if there is no room: the draft stays.
        """
        row = self.logits_at(text_ids, len(self.token_ids))
        before = [*text_ids, *self.token_ids]
        token = self.draws.draft(row, before, attempt, epoch)
        self.token_ids.append(token)
        self.logits.append(row)
        most = row.max()
        others = float(np.exp(row - most).sum())
        self.confidences.append(exp(float(row[token] - most)) / others)
        self._after = None
        return token

    def logits_at(self, text_ids: Sequence[int], index: int) -> Floats:
        """Logits (V,) at drafted position `index`, at most the one behind the draft."""
        if index < len(self.logits):
            return self.logits[index]
        if self._after is None:
            self._after = self._read(text_ids)
            self._after[self.never_at(text_ids, index)] = -np.inf
        return self._after

    def never_at(self, text_ids: Sequence[int], index: int) -> NDArray[np.intp]:
        """Ids that may not be drawn at drafted position `index`."""
        if self._never is None:
            return np.empty(0, np.intp)
        before = [*text_ids, *self.token_ids[:index]]
        return np.asarray(self._never(before), np.intp)

    def _read(self, text_ids: Sequence[int]) -> Floats:
        """Logits (V,) after the text and all that is drafted, shifted by the shape."""
        if self._given is None:
            reach = self._shape.reach if self._shape else 0
            self._given = max(0, len(text_ids) - reach)
            self._prompt += text_ids[: self._given]
            hold_text(self._engine, self._prompt[:-1])
        start = len(self._prompt) - 1
        wanted = [self._prompt[-1], *text_ids[self._given :], *self.token_ids]
        known = len(self._alone)
        if known >= len(wanted) or wanted[:known] != self._alone:
            known = min(common_prefix(self._alone, wanted), len(wanted) - 1)
        if known < len(self._alone):
            self._engine.rollback(start + known)
            del self._alone[known:]
        logits: Floats
        for token in wanted[known:]:
            logits = self._engine.evaluate([token])[0]
            self._alone.append(token)
            if self._shape is not None:
                before = [*text_ids[: self._given], *self._alone[1:]]
                logits = self._shape(before, logits)
        return logits

    def weighed(
        self,
        token_ids: Sequence[int],
        rows: Sequence[Candidates | None],
        refused: int | None,
    ) -> list[Place]:
        """What the models thought at each place that settles next; at the last one
        `refused` was drafted, if any. The choices have no texts yet."""
        places = []
        for index, (token, row) in enumerate(zip(token_ids, rows, strict=True)):
            known = index < len(self.logits)
            logits = self.logits[index] if known else self._after
            last = index + 1 == len(token_ids)
            places.append(self._place(token, logits, row, refused if last else None))
        return places

    def _place(
        self,
        token: int,
        logits: Floats | None,
        row: Candidates | None,
        refused: int | None,
    ) -> Place:
        said = [token] if refused is None else [token, refused]
        likely: Sequence[int] = ()
        total = 0.0
        if logits is not None:
            logits = self.draws.draw.unnormalised(logits)
            likely = likeliest_few(logits, NEXT_BEST + 1)
            total = float(np.exp(logits - logits[likely[0]]).sum())
        elif row is not None:
            best = likeliest_few(row.generalist_logprobs, NEXT_BEST + 1)
            likely = row.token_ids[best].tolist()
        choices = []
        for one in list(dict.fromkeys([*said, *likely]))[: NEXT_BEST + 1]:
            own = base = generalist = None
            if logits is not None:
                own = exp(float(logits[one] - logits[likely[0]])) / total
            if row is not None and (at := np.flatnonzero(row.token_ids == one)).size:
                generalist = exp(min(0.0, float(row.generalist_logprobs[at[0]])))
                if row.base_logprobs is not None:
                    base = exp(min(0.0, float(row.base_logprobs[at[0]])))
            choices.append(Choice(one, "", own, base, generalist))
        return Place(tuple(choices), refused is not None)

    def cut(self, length: int) -> None:
        """Forget all that is drafted but the first `length` tokens."""
        if length < len(self.token_ids):
            del self.token_ids[length:], self.logits[length:], self.confidences[length:]
            self._after = None

    def settle(self, kept: int, *, replaced: bool) -> None:
        """The first `kept` drafted tokens are text; `replaced` drops what follows."""
        if replaced:
            self.cut(kept)
            self._after = None
        del self.token_ids[:kept], self.logits[:kept], self.confidences[:kept]


@dataclass(frozen=True, slots=True)
class Decision:
    """How many drafted tokens stay, and the token drawn after them, if any."""

    kept: int
    redrawn: int | None = None
    origin: Origin = "bonus"  # of the token that was drawn
    truncation_bound: float | None = None  # on the target's mass outside its row


class Decider:
    """Decides on one draft after the other."""

    origin: ClassVar[Origin]  # of the drafted tokens that stay

    redrafts = False  # whether a refused place is drafted again, with fresh noise

    def __init__(self, threshold: Threshold = START) -> None:
        self.threshold = RunningThreshold(threshold)  # goes with each block

    def first_row(self, verdict: Verdict) -> int:
        """The drafted position of the first row of a verdict."""
        del verdict
        return 0

    def row_at(self, verdict: Verdict | None, index: int) -> Candidates | None:
        """The server's row at a drafted position; None: there is none."""
        if verdict is None:
            return None
        at = index - self.first_row(verdict)
        return verdict.rows[at] if 0 <= at < len(verdict.rows) else None

    def decide(
        self, length: int, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """What becomes of a draft after the text, which ends after `most` tokens."""
        raise NotImplementedError


class NobodyDecides(Decider):
    """Keeps the whole draft: no verifier takes part, or none answers."""

    origin: ClassVar[Origin] = "local"

    def decide(
        self, length: int, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """The whole draft stays, and nothing is drawn after it."""
        del verdict, text_ids, most
        return Decision(length)


class ComparingDecider(Decider):
    """Decides by a method, from a verdict."""

    origin: ClassVar[Origin] = "accepted"

    def __init__(
        self, drafter: Drafter, method: Method, role: VerifierRole, threshold: Threshold
    ) -> None:
        super().__init__(threshold)
        self._drafter = drafter
        self._method = method
        self._draws, self._draw = drafter.draws, drafter.draws.draw
        self.redrafts = role.redrafts
        self._reads_specialist = role.reads_specialist
        self._text: list[int] = []
        self._bound: float | None = None

    def decide(
        self, length: int, verdict: Verdict | None, text_ids: list[int], most: int
    ) -> Decision:
        """As above; raises MessageError for a verdict with unknown tokens."""
        assert verdict is not None
        self._text, self._bound = text_ids, None
        if verdict.rows:
            # Before anything is looked up by the server's ids. If no specialist takes
            # part, the vocabulary refuses the token that is drawn.
            own = self._drafter.logits[0] if length else self._specialist(0)
            if own is not None:
                for row in verdict.rows:
                    row.check(len(own))
            rows = tuple(
                row.without(self._drafter.never_at(text_ids, at))
                for at, row in enumerate(verdict.rows, self.first_row(verdict))
            )
            verdict = replace(verdict, rows=rows)
        try:
            decision = self._decide(length, verdict, most)
            token, never = decision.redrawn, self._drafter.never_at
            if token is not None and token in never(text_ids, decision.kept):
                # The server proposes nothing else: then the draft stays.
                kept = min(decision.kept + 1, length)
                return Decision(kept, truncation_bound=decision.truncation_bound)
            return decision
        except ContextFullError:
            # Only what follows a full block is still to be read: it stays without.
            if not length:
                raise
            return Decision(length, truncation_bound=self._bound)

    def _decide(self, length: int, verdict: Verdict, most: int) -> Decision:
        """What becomes of a draft that is compared with a verdict."""
        raise NotImplementedError

    def _specialist(self, kept: int) -> Floats | None:
        """Logits (V,) after `kept` drafted tokens; None: no target depends on them."""
        if not self._reads_specialist:
            return None
        return self._drafter.logits_at(self._text, kept)

    def _compared(self, row: Candidates, kept: int) -> Floats:
        """Log-probabilities (K,) of a row, but for a constant; zeros if unused. Notes
        how much of the target the row may lack."""
        logits = self._specialist(kept)
        specialist: Floats = np.empty(0)
        if logits is not None:
            specialist = self._draw.unnormalised(logits)
        bound = self._method.truncation_bound(specialist, row)
        if bound is not None:
            self._bound = max(bound, self._bound or 0.0)
        if logits is None:
            return np.zeros_like(row.generalist_logprobs)
        return np.asarray(specialist[row.token_ids])


class ServerDecides(ComparingDecider):
    """The server counted the tokens that stay; the device draws the one after them."""

    def first_row(self, verdict: Verdict) -> int:
        """The server gives a row behind what stays alone."""
        return verdict.accepted

    def _decide(self, length: int, verdict: Verdict, most: int) -> Decision:
        kept = verdict.accepted
        places = min(kept + 1, length)
        self.threshold.learn(len(self._text), verdict.ratio_sum, places)
        if kept >= most or not verdict.rows:  # without a row, the next draft goes on
            return Decision(kept)
        row, refused = verdict.rows[0], kept < length
        if kept and not refused:
            own = self._specialist(kept)
            if own is not None and self._method.bonus_waits(likeliest(own), row):
                return Decision(kept)
        pick = self._method.bonus if kept and not refused else self._method.target
        without = (lambda: pick(row.base, row)) if self._reads_specialist else None
        index = self._draws.redraw(
            pick(self._compared(row, kept), row),
            without,
            row,
            [*self._text, *self._drafter.token_ids[:kept]],
        )
        origin: Origin = "recovered" if refused else "bonus"
        return Decision(kept, int(row.token_ids[index]), origin, self._bound)


class DeviceDecides(ComparingDecider):
    """The device keeps a drafted token x with min(1, T(x)/S(x)), else draws from the
    positive part of T - S. If both share their noise, it draws from T with the noise of
    the draft, and keeps the draft while the two agree."""

    def _decide(self, length: int, verdict: Verdict, most: int) -> Decision:
        if len(verdict.rows) != length and verdict.reaches is None:
            raise MessageError("the verdict holds too few rows")
        length = min(length, len(verdict.rows))
        for kept, row in enumerate(verdict.rows[:most]):
            index = self._judged(row, kept)
            if index is not None:
                token = int(row.token_ids[index])
                return Decision(kept, token, "recovered", self._bound)
        return Decision(min(most, length), truncation_bound=self._bound)

    def _judged(self, row: Candidates, kept: int) -> int | None:
        """Place in the row of the token that replaces a drafted one; None: it stays."""
        target = self._method.target(self._compared(row, kept), row)
        couples = self._method.shares_noise
        judged = DraftedToken(
            self._drafter.token_ids[kept],
            row,
            target,
            lambda: (
                self._method.target(row.base, row) if self._reads_specialist else target
            ),
            self._drafter.logits[kept],
            residual.coupling_outcomes if couples else residual.rejection_outcomes,
            lambda: self._refusal(target, row, kept),
        )
        return self._draws.decide(
            judged, [*self._text, *self._drafter.token_ids[:kept]]
        )

    def _refusal(self, target: Floats, row: Candidates, kept: int) -> int | None:
        position, token = len(self._text) + kept, self._drafter.token_ids[kept]
        if self._method.shares_noise:
            with np.errstate(divide="ignore"):
                logprobs = np.log(target)
            index = self._draw.coupled(logprobs, position, row.token_ids)
            return None if row.token_ids[index] == token else index
        wanted = self._draw.distribution(target)
        drawn_from = self._draw.distribution_of(self._drafter.logits[kept])
        stays = residual.keep_probability(wanted, drawn_from, row, token)
        if self._draw.noise.keeps(stays, position):
            return None
        left = residual.residual_distribution(wanted, drawn_from, row)
        return self._draw.from_distribution(left, position)


def likeliest_few(logits: Floats, count: int) -> list[int]:
    """Places of the `count` largest of logits (V,), without a slow partition."""
    rest, found = logits.copy(), list[int]()
    for _ in range(min(count, len(rest))):
        found.append(int(rest.argmax()))
        rest[found[-1]] = -np.inf
    return found
