"""How many tokens to draft before a block is sent, and how many blocks to have out.

Where no bonus is drawn, neither changes the text: only how soon it comes. Between two
refusals the device drafts on while blocks are out. So, with a the share of drafted
tokens that are kept, a token takes at least

    t_draft + (1 - a) * (t_verify + round trip)

as every token is drafted, and only a refusal is waited for. What a block
adds is that its refused token waits until the block is full, that the verifier reads
one block after the other, and that a token whose drafting has begun when the answer
comes is drafted to its end. `seconds_a_token` adds this up; `plan` takes what
makes it least. With a window of one, drafting and verifying take turns: G drafted
tokens take G * t_draft + t_verify + round trip and give (1 - a^G) / (1 - a) tokens.

Source of the turns: Leviathan et al. 2023 (arXiv 2211.17192), theorem 3.8, without its
bonus; of drafting on while a block is out: PipeInfer (arXiv 2407.11798), PEARL (arXiv
2408.11850).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from decoding_core.settings import FIXED_LENGTH, WINDOW, DraftLength, Window

_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64)
_NEWLY_PLANNED = (1, 2, 3, 5)
_PLANNED_EVERY = 8  # verdicts after which a plan is made anew; one takes milliseconds
_NEARLY_ALWAYS = 0.98  # highest acceptance: runs without an end have no mean
_HARDLY_EVER = 0.01
_WORTH_A_BLOCK = 1.01  # how much slower a smaller window may be than the best
_LONGEST_HANDLING = 0.05
_AT_ONCE = 1e-6  # share of a token's time by which an answer may be late
_FAR_TOO_SLOW = 1.5
_TRIED = 6  # blocks drafted ahead before their cost is known; of turns, one will do
_LEAST_CHANCE = 0.05  # that the draft is kept, for drafting to go on
_WORTH_ITS_TIME = 1.25
"""In turns a token is drafted if it is worth this many times its time: those that seem
just worth it are the ones of which too much is believed, and what is drafted in vain is
sent, and read by a server that others wait for."""
_FIRST_CHANCE = 0.5  # A block ends at this chance while nothing is measured yet
_TOGETHER = 4
"""Blocks of texts that are written at once have a multiple of so many tokens: equally
long ones are read in one pass, and processors compute four tokens nearly as one."""
_CONFIDENCES = (0.1, 0.4, 0.8, 0.95, 0.99)  # bounds of the bins of probability
_BELIEVED = (0.45, 0.5, 0.7, 0.85, 0.92, 0.97)  # shares kept per bin at first
_BELIEF = 4.0  # drafted tokens that it takes to outweigh what was believed


@dataclass(frozen=True, slots=True)
class Costs:
    """What the parts of a round take, in seconds."""

    draft: float  # to draft a token
    verify: float  # to verify a block, whatever its length
    verify_token: float  # for each of its tokens besides
    round_trip: float
    handling: float = 0.0  # to send a block and take in its verdict

    def block(self, length: int) -> float:
        """Seconds to verify a block of `length` tokens."""
        return self.verify + self.verify_token * length


@dataclass(frozen=True, slots=True)
class Plan:
    """Lengths of blocks, and how many may be out."""

    first: int  # of the first block after a refusal, which finds the verifier idle
    later: int  # of those behind it
    window: int


def seconds_a_token(
    costs: Costs, acceptance: float, plan: Plan, bound: float = math.inf
) -> float:
    """Expected seconds a token under a plan; infinite if they are above `bound`."""
    kept = min(acceptance, _NEARLY_ALWAYS)
    if plan.window == 1:
        tokens = (1.0 - kept**plan.first) / (1.0 - kept)
        turn = plan.first * costs.draft + costs.block(plan.first) + costs.round_trip
        return (turn + costs.handling) / tokens
    # Block after block from a refusal on: when it is drafted, sent, read, answered, and
    # how likely it holds the next refusal.
    half = costs.round_trip / 2.0
    drafts: list[tuple[float, float]] = []
    answers: list[float] = []
    chances: list[float] = []
    drafted_at = read_at = least = 0.0
    before, length = 1.0, plan.first
    more = plan.window  # blocks that are still drafted behind the last that counts
    while more:
        number = len(answers)
        room = answers[number - plan.window - 1] if number > plan.window else 0.0
        begin = max(drafted_at, room)
        drafted_at = begin + length * costs.draft
        drafts.append((begin, drafted_at))
        drafted_at += costs.handling
        turn = answers[number - plan.window] if number >= plan.window else 0.0
        read_at = max(max(drafted_at, turn) + half, read_at) + costs.block(length)
        answers.append(read_at + half)
        after = before * kept**length
        if before < _HARDLY_EVER:
            more -= 1
        else:
            chances.append(before if after < _HARDLY_EVER else before - after)
            # No later answer comes before this one, nor is one noticed before it comes.
            if (least + before * answers[number]) * (1.0 - kept) > bound:
                return math.inf
            least += chances[number] * answers[number]
        before, length = after, plan.later
    cycle = sum(
        chance * _noticed(answers[number], drafts[number + 1 :], costs.draft)
        for number, chance in enumerate(chances)
    )
    return cycle * (1.0 - kept)


def _noticed(answer: float, drafts: list[tuple[float, float]], token: float) -> float:
    """When the device takes in an answer: once the token it drafts then is done."""
    for begin, end in drafts:
        if answer <= begin:
            break
        if answer < end:
            begun = math.ceil((answer - begin) / token - _AT_ONCE)
            return begin + begun * token
    return answer


@lru_cache(512)
def plan(costs: Costs, acceptance: float, limit: int, window: Window = "auto") -> Plan:
    """The lengths up to `limit`, and the window if open, that take the least time."""
    lengths = [length for length in _LENGTHS if length <= limit] or [limit]
    best, least = Plan(lengths[0], lengths[0], 1), math.inf
    for number in range(1, WINDOW + 1) if window == "auto" else (window,):
        bound = least / _WORTH_A_BLOCK
        for first in lengths:
            # The verifier is idle when the first one comes.
            for later in lengths[lengths.index(first) :] if number > 1 else [first]:
                one = Plan(first, later, number)
                seconds = seconds_a_token(costs, acceptance, one, bound)
                if seconds < bound:
                    best, least, bound = one, seconds, seconds
    return best


class _Measured:
    """What the parts of a round have taken."""

    def __init__(self) -> None:
        self.draft_times: deque[float] = deque(maxlen=16)
        self.handling = 0.0
        self.blocks: deque[tuple[int, float]] = deque(maxlen=32)
        """Lengths, and how long the models took."""
        self.trips: deque[float] = deque(maxlen=32)

    def costs(self) -> Costs:
        """The median draft, the least trip, the line through the models' times."""
        count = len(self.blocks) or 1
        length = sum(length for length, _ in self.blocks) / count
        seconds = sum(seconds for _, seconds in self.blocks) / count
        spread = sum((one - length) ** 2 for one, _ in self.blocks)
        slope = 0.0
        if spread > 0.0:
            both = sum((g - length) * (s - seconds) for g, s in self.blocks)
            slope = min(max(both / spread, 0.0), seconds / max(length, 1.0))
        trip = min(self.trips, default=0.0)
        fixed = seconds - slope * length
        return Costs(self.draft, fixed, slope, trip, self.handling)

    @property
    def draft(self) -> float:
        """What it takes to draft a token."""
        return median(self.draft_times) if self.draft_times else 0.0


class _Confidence:
    """How often tokens are kept, by how likely the specialist held them."""

    def __init__(self) -> None:
        self._kept = [share * _BELIEF for share in _BELIEVED]
        self._tried = [_BELIEF] * len(_BELIEVED)

    def learn(self, confidence: float, *, kept: bool) -> None:
        """Take in what became of a drafted token."""
        place = bisect_left(_CONFIDENCES, confidence)
        self._kept[place] += kept
        self._tried[place] += 1.0

    def chance(self, confidence: float) -> float:
        """That a token of which the specialist thought so is kept."""
        place = bisect_left(_CONFIDENCES, confidence)
        return self._kept[place] / self._tried[place]


class DraftLengths:
    """Chooses how long drafts are, from what one text's rounds have taken so far.

    If the window is open too, a text begins in turns. It drafts ahead once that is
    expected to be faster, and goes back if it was not: if device and verifier
    share their cores, each is slower while the other works.
    """

    def __init__(
        self,
        length: DraftLength,
        window: Window,
        limit: int,
        *,
        by_confidence: bool = False,
        together: bool = False,
    ) -> None:
        """`limit` is the longest draft; what is set stays. Ends by confidence show the
        server where the specialist was sure; else all tokens count alike. `together`:
        blocks of other texts are read with these."""
        self._confidence = _Confidence() if by_confidence else None
        self._together = together
        self._length = limit if length == "auto" else min(length, limit)
        self._fitted = length == "auto"
        self._window = window
        self._kept, self._tried = 6.0, 8.0  # what is believed before anything is seen
        self._turns, self._ahead = _Measured(), _Measured()
        self._verdicts = 0
        self._least = _FIRST_CHANCE  # in turns, the chance at which a block ends
        self._adopt(self._choose())

    def _adopt(self, plan: Plan) -> None:
        self._plan = plan
        self.window = plan.window  # how many blocks may be out

    @property
    def acceptance(self) -> float:
        """The share kept of the drafted tokens up to and with a refused one."""
        return self._kept / self._tried

    @property
    def costs(self) -> Costs:
        """What the parts of a round have taken, in the way that is gone now."""
        return (self._ahead if self.window > 1 else self._turns).costs()

    def next(self, out: int, drafted: Sequence[float] = ()) -> int:
        """The length of the next block behind `out` others, `drafted` being begun."""
        planned = self._plan.later if out else self._plan.first
        if self._together and self._fitted:
            measured = planned if self._turns.blocks else 0
            return min(self._length, max(1, measured // _TOGETHER) * _TOGETHER)
        if self._confidence is None or not self._fitted:
            return planned
        least, chance = self._least, 1.0
        if self.window > 1:
            least = self.acceptance**planned
        for length, confidence in enumerate(drafted[: self._length], 1):
            chance *= self._confidence.chance(confidence)
            if chance <= least:
                return length
        return self._length

    def begins_a_block(self, drafted: Sequence[float]) -> bool:
        """Whether to begin another block behind tokens that wait for verdicts."""
        return self.window > 1 and self.chance(drafted) >= _LEAST_CHANCE

    def worth_a_token(
        self, drafted: Sequence[float], oldest: int, seconds: float
    ) -> bool:
        """Whether to draft one more token behind `drafted`, of which the first `oldest`
        expect their verdict in `seconds`; an overdue one is not waited for."""
        draft = self._ahead.draft
        if not self._ahead.blocks or seconds < -draft:
            return True
        late = max(draft - max(seconds, 0.0), 0.0)
        stays = self.chance(drafted[:oldest])
        return self.chance(drafted) * draft >= (1.0 - stays) * late

    def chance(self, drafted: Sequence[float]) -> float:
        """Probability that all tokens of these confidences are kept."""
        if self._confidence is None:
            return self.acceptance ** len(drafted)
        return math.prod(map(self._confidence.chance, drafted))

    def drafted(self, seconds: float, out: int) -> None:
        """Take in what it took to draft a token, with `out` blocks out."""
        (self._ahead if out else self._turns).draft_times.append(seconds)

    def handled(self, seconds: float) -> None:
        """Take in what it took to send a block and to take in its verdict."""
        way = self._ahead if self.window > 1 else self._turns
        # Connecting again would count for many blocks.
        way.handling += 0.1 * (min(seconds, _LONGEST_HANDLING) - way.handling)

    def verified(
        self,
        length: int,
        kept: int,
        models: float,
        waited: float,
        drafted: Sequence[float] = (),
    ) -> None:
        """Take in a verdict: seconds of the models, and seconds waited in all."""
        if self._confidence is not None:
            for place, confidence in enumerate(drafted[: kept + 1]):
                self._confidence.learn(confidence, kept=place < kept)
        self._kept = 0.98 * self._kept + kept
        self._tried = 0.98 * self._tried + min(kept + 1, length)
        self._verdicts += 1
        ahead = self.window > 1
        if self._verdicts > 1:  # with the first block the models read the prompt
            way = self._ahead if ahead else self._turns
            way.blocks.append((length, models))
            way.trips.append(max(waited - models, 0.0))
        new = self._verdicts in _NEWLY_PLANNED or (
            ahead and len(self._ahead.blocks) in _NEWLY_PLANNED
        )
        if new or not self._verdicts % _PLANNED_EVERY:
            self._adopt(self._choose())
        if self.window == 1 and self._plan.first and self._turns.blocks:
            # One more token gives one with the chance that all before it are kept, and
            # takes its own time alone: it is worth it while that is the better pace.
            costs = self._turns.costs()
            pace = seconds_a_token(costs, self.acceptance, self._plan)
            if pace > 0.0:
                share = (costs.draft + costs.verify_token) / pace
                self._least = min(1.0, _WORTH_ITS_TIME * share)

    def _choose(self) -> Plan:
        """What takes the least time a token, by what was measured."""
        limit, window = self._length, self._window
        turns, ahead = self._turns.blocks, self._ahead.blocks
        if not limit:
            return Plan(0, 0, 1)
        if window == "auto" and not turns:
            window = 1
        if not (turns or ahead) or (window != "auto" and not self._fitted):
            length = min(FIXED_LENGTH, limit) if self._fitted else limit
            return Plan(length, length, WINDOW if window == "auto" else window)
        if window == 1:
            return self._planned(self._turns, 1)[0]
        if window != "auto":
            return self._planned(self._ahead if ahead else self._turns, window)[0]
        in_turns, by_turns = self._planned(self._turns, 1)
        measured = self._ahead if len(ahead) >= _TRIED else self._turns
        drafted_ahead, by_ahead = min(
            (self._planned(measured, number) for number in range(2, WINDOW + 1)),
            key=lambda found: found[1] * _WORTH_A_BLOCK ** found[0].window,
        )
        if ahead and measured is self._turns:
            # A single block shows when both sides slow each other down badly.
            share, found = self.acceptance, self._ahead.costs()
            if seconds_a_token(found, share, drafted_ahead) > _FAR_TOO_SLOW * by_turns:
                return in_turns
        return drafted_ahead if by_ahead * _WORTH_A_BLOCK < by_turns else in_turns

    def _planned(self, measured: _Measured, window: int) -> tuple[Plan, float]:
        """The best plan under these costs, and its seconds a token."""
        exact = measured.costs()
        costs = Costs(
            *map(_rounded, (exact.draft, exact.verify, exact.verify_token)),
            *map(_rounded, (exact.round_trip, exact.handling)),
        )
        share = round(self.acceptance * 25) / 25
        found = Plan(self._length, self._length, window)
        if self._fitted:
            found = plan(costs, share, self._length, window)
        return found, seconds_a_token(costs, share, found)


def _rounded(seconds: float) -> float:
    """Within a twentieth of what it was, so that plans are found again."""
    if seconds < 1e-5:
        return 0.0
    return math.exp(round(math.log(seconds) * 10.0) / 10.0)
