"""What the models of the server read next, for whom, and in which slots.

The engine thread adds rounds to the `Scheduler` and has it take steps. A round is a
block to verify, or a text that is read ahead of its first block. Each step gives slots
to the texts that wait for one, and reads each model once for all texts of its batch:

- blocks go before prompts, and these before what is only read ahead;
- users take turns: whoever was served the least recently is first, and a step holds no
  more blocks of several users than read as fast as one, or one of each if a pass is
  hardly longer with another block in it (`PassTimes`);
- for such a pass the device that always comes back at once is waited for;
- of several users, none has a block read at once that takes clearly longer than the
  usual one of whoever has the shortest: it is read in parts, with others between them;
- prompts, rounds with more than a chunk before their rows of logits (two if one user
  writes), are read in chunks, which take a part of a block's time while others write
  (`PromptPace`);
- of the holders that may leave its slot the longest unused does, of whoever has most.

A device drafts on while its blocks are out, so several rounds of a session may wait:
each follows the one before as if that were kept whole. A refusal begins a new epoch, as
does another text in the session. A round of an earlier one is *stale*, and never read.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cloud_api.engine.models import BLOCK, Models, ReadingCounts
from cloud_api.errors import StaleBlockError, log_fault
from decoding_core.errors import (
    CloudBusyError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import Verdict, check_verdict
from decoding_core.protocols import BatchEngine, Reading, Rows, RowsEngine
from decoding_core.verifier import common_prefix, evaluate_rows, start_of_reading
from models.running.interface import TextSlots

CHUNK = 256  # tokens of a prompt that one step reads if nobody else writes
AHEAD = 64
"""The same of a text that is read ahead: a block that comes meanwhile waits for it."""
ROWS = 512  # rows of logits that one step may give; the rest waits for the next
PASSED_OVER = 8
"""Steps with blocks of several users after which a prompt has its chunk too."""
SHORTEST_FIRST = 3
"""Of a user's prompts every third time the oldest is read, else the shortest rest."""
ABOUT_SECONDS = 30.0
"""How long after their last block or opening a user or a text is still about."""
PATIENCE_SECONDS, LONGEST_PATIENCE_SECONDS = 1.0, 4.0
"""How long a text without a block keeps its slot while another waits for one: twice the
last pause of its device, within these bounds."""
SHARE_SECONDS = 60.0
"""The same if the other has its share and this one no more: time to think."""
ALIKE = 16
"""Tokens more that another text must have in common for them to be copied."""
TENURE = 10
"""How many times the length of its text a holder may read while others wait. Lending a
slot anew costs one reading of the text, so swaps cost at most about a tenth."""
_NEVER = -math.inf

Party = tuple[str, str]  # A user, and a device of theirs
Result = Verdict | Exception
Opinions = tuple[Rows, Rows | None]
"""Rows of the generalist, and of the base if that is used."""
Outcome = Opinions | DecodingError


@dataclass(slots=True, eq=False)
class Round:
    """A block to verify: what to read, and what to do with the logits."""

    session_id: str
    token_ids: tuple[int, ...]
    rows: int
    uses_base: bool
    verify: Callable[[Rows, Rows | None], Verdict] | None = None
    """None: the text is only read ahead, and `done` is not called."""
    key: tuple[int, int, int] = (0, 0, 0)
    """Number of the text in its session, epoch and round, in the order of coming."""
    position: int = 0  # how many tokens stand before the block
    whole: int = 0
    """How many tokens a verdict keeps that refuses none; 0 if the device decides."""
    done: Callable[[Result], None] = lambda _: None
    candidates: int | None = None
    """How many of a row's likeliest tokens its verdict is made of; None: not known."""
    asked: tuple[int, ...] = ()  # the tokens that it looks up besides
    alone: bool = False
    """Whether its text comes token by token, and a token may be read alone."""
    party: Party = ("", "")  # whose text it is, and on which device it is written
    came: float = 0.0
    """When it came, by the scheduler's clock: a pass may have run since; 0: now."""
    parts: list[Opinions] = field(default_factory=list)
    """Its first rows, if it is read in parts; `rows` are those that are left."""
    seconds: float = 0.0  # how long these took


@dataclass(slots=True, eq=False)
class SlotCache:
    """What one model has read in one slot."""

    engines: list[BatchEngine]  # the scheduler's; empty while the models rest
    model: int
    number: int
    counts: ReadingCounts
    read: tuple[int, ...] = ()
    together: int = 0  # how many of them, from the first, were read with others

    def start(self, round_: Round) -> int:
        """From where the model must read to give the rows of a round."""
        read = self.read if round_.alone else self.read[: self.together]
        ids, rows = round_.token_ids, round_.rows
        return start_of_reading(read, ids, rows, alone=round_.alone)

    def shared(self, token_ids: tuple[int, ...]) -> int:
        """How many of these tokens it has read, with others, from the first."""
        return common_prefix(self.read[: self.together], token_ids)

    def take(self, other: SlotCache, length: int) -> None:
        """Hold the first tokens of another slot of the model as well, unread."""
        engine = self.engines[self.model]
        if isinstance(engine, TextSlots):
            self.roll_back(0)
            engine.share(other.number, self.number, length)
            self.read = tuple(engine.tokens(self.number))
            self.together = len(self.read)
            self.counts.held += len(self.read)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """Note that the model has read `token_ids`."""
        read = len(token_ids) - len(self.read)
        if self.together == len(self.read) and (read > 1 or not self.read):
            self.together += read
        self.counts.tokens += read
        self.counts.held += read
        self.read = token_ids

    def roll_back(self, position: int) -> None:
        """Forget what stands from `position` on."""
        if self.engines:
            self.engines[self.model].rollback(self.number, position)
        self.counts.held -= len(self.read) - position
        self.read = self.read[:position]
        self.together = min(self.together, position)


@dataclass(slots=True, eq=False)
class Text:
    """A session: its rounds that wait, and the slot that it holds."""

    party: Party = ("", "")
    rounds: deque[Round] = field(default_factory=deque)
    """Its blocks that wait, in the order in which they came."""
    ahead: Round | None = None  # what is read while no block of any text waits
    slot: Sequence[SlotCache] = ()
    """A cache of the generalist, and of the base if there is one; empty: no slot."""
    room: int = 0  # how much of the scheduler's budget its slot takes
    used: float = _NEVER  # when something was last read in its slot
    read: int = 0  # how many tokens were read in its slot, rolled back ones too
    epoch: tuple[int, int] = (0, 0)
    """The earliest text and epoch whose blocks are wanted."""
    failed: Round | None = None
    """A block that a model failed on: until it comes again, what follows is stale."""
    answered: float = _NEVER
    """When the last of its blocks was answered; never: it was only read ahead."""
    pause: float = 0.0  # how long its device then took until the next block
    lost: int = 0
    """How many tokens were read for it when it lost its slot; 0 while it has one."""
    gave_way: bool = False
    """Whether it lost its slot before its first block was answered."""

    @property
    def next(self) -> Round | None:
        """The round that is read next, if any."""
        return self.rounds[0] if self.rounds else self.ahead

    @property
    def need(self) -> int:
        """How many tokens its next round has."""
        return len(self.next.token_ids) if self.next else 0

    @property
    def rest(self) -> int:
        """How many tokens of its next round are still to be read in its slot."""
        round_ = self.next
        if round_ is None:
            return 0
        caches = self.slot if round_.uses_base else self.slot[:1]
        return self.need - min(cache.start(round_) for cache in caches)

    def is_stale(self, round_: Round) -> bool:
        """Whether a block follows one that was refused, or that failed."""
        failed = self.failed
        return round_.key[:2] < self.epoch or (
            failed is not None
            and round_.key[:2] == failed.key[:2]
            and round_.position > failed.position
        )


@dataclass(slots=True)
class Turn:
    """What one step reads of a round."""

    text: Text
    round: Round
    size: int  # how many tokens
    is_part: bool = False  # whether they are a chunk, and give no logits yet
    later: int = 0  # how many rows, and tokens, of the block are left to other steps

    @property
    def user(self) -> str:
        """Whose turn it is."""
        return self.text.party[0]


class PromptPace:
    """How many tokens of a prompt a step reads while others write.

    A block that comes in the midst of such a step waits for it. The step takes at most
    `PART` of one that reads a block, so both stay below twice that; or, as a graphics
    card reads few tokens no faster than many, `SLACK` times a step of the fewest.
    """

    FEWEST, MOST = 8, 256
    PART, SLACK = 0.6, 1.2
    TRY_AGAIN = 64  # steps after which one reads a third more, once one was too slow

    def __init__(self) -> None:
        self.tokens = 16
        """The size of the next step."""
        self._blocks: deque[float] = deque(maxlen=15)
        """Seconds of the last steps that read one block alone."""
        self._seconds: deque[float] = deque(maxlen=5)
        """Those of the last steps of this size."""
        self._least = 0.0
        """Those of a step of the smallest size."""
        self._left = self._tries = 1
        """Steps after which a larger one is tried."""

    def note(self, turn: Turn, seconds: float, tokens: int) -> None:
        """Note how long a step took that read this turn and nothing else, while the
        blocks of the user with the shortest have usually so many tokens."""
        if not turn.is_part:
            short = turn.size <= min(1.5 * tokens, 3 * BLOCK)
            self._blocks.extend([seconds] if short else ())
        elif turn.size in (self.tokens, 2 * self.tokens) and self._blocks:
            self._seconds.append(seconds * self.tokens / turn.size)
            usual = statistics.median(self._seconds)
            if self.tokens == self.FEWEST:
                self._least = usual
            bound = self.PART * statistics.median(self._blocks)
            self._left -= 1
            if usual > max(bound, self.SLACK * self._least):
                self.tokens = max(self.FEWEST, self.tokens * 3 // 4)
                self._tries = self.TRY_AGAIN
            elif self._left <= 0:
                self.tokens = min(self.MOST, self.tokens * 4 // 3)
            else:
                return
            self._left = self._tries
            self._seconds.clear()


class PassTimes:
    """What a pass over both models takes: a fixed part, and a part for each token.

    A graphics card reads its weights once however many texts it reads, so that many
    share a pass; on processors each token costs nearly as much as the one before.
    """

    SLACK = 1.2  # how much longer a pass may get by another block
    WAIT = 0.5  # share of the fixed part for which a pass is held up
    FEWEST = 3  # passes of a size before they are believed

    def __init__(self) -> None:
        self._passes: dict[int, deque[tuple[int, float]]] = {}
        """Tokens and seconds of the last passes of each size, by powers of two: who is
        always read with the same others would tell of one size alone."""
        self.fixed = self.token = 0.0
        """Seconds; 0 before they are known."""

    def note(self, tokens: int, seconds: float) -> None:
        """Take in a pass. The line goes through the medians of the smallest and of the
        largest passes, so a single slow one does not move it."""
        size = tokens.bit_length()
        self._passes.setdefault(size, deque(maxlen=9)).append((tokens, seconds))
        known = [n for n, seen in self._passes.items() if len(seen) >= self.FEWEST]
        if not known:
            return
        low, high = (
            [statistics.median(column) for column in zip(*self._passes[n], strict=True)]
            for n in (min(known), max(known))
        )
        if high[0] >= 1.5 * low[0]:
            slope = (high[1] - low[1]) / (high[0] - low[0])
            self.token = min(max(slope, 0.0), low[1] / low[0])
            self.fixed = low[1] - self.token * low[0]

    def share(self, tokens: int) -> bool:
        """Whether another block of so many tokens hardly makes a pass longer."""
        block = self.token * tokens
        return 0.0 < self.fixed + 2 * block <= self.SLACK * (self.fixed + block)

    def longer(self, tokens: int, usual: int) -> bool:
        """Whether a pass of so many tokens takes clearly longer than a usual one."""
        least = self.fixed + self.token * usual
        return self.fixed + self.token * tokens > self.SLACK * least


class Scheduler:
    """The texts with their rounds, and the slots, for the engine thread alone."""

    def __init__(
        self, models: Models, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._models = models
        self._clock = clock
        self._texts: dict[str, Text] = {}
        self._waiting: list[Text] = []
        """Texts with blocks, in the order of their turns."""
        self._holders: list[Text] = []
        """Texts with a slot."""
        self._budget = models.kv_tokens or models.slots
        """How many tokens all texts may hold, or how many slots without that bound."""
        self._pace, self._times = PromptPace(), PassTimes()
        self._ended = _NEVER  # when the models had read for the last step
        self._seen: dict[str, float] = {}
        """When each user last sent a block or opened a text."""
        self._lengths = defaultdict[str, deque[int]](lambda: deque(maxlen=15))
        """How many rows the last blocks of each user asked for."""
        self._served = Counter[str]()
        """The last step that read something for each user."""
        self._steps = self._passed_over = self._prompts_read = 0
        self._again = math.inf
        """When the next holder may leave for a text that waits."""
        self._engines = models.opened()
        """The generalist, and the base if there is one; empty while they rest."""
        elsewhere = any(isinstance(one, RowsEngine) for one in self._engines)
        self._cuts = models.in_pieces and not elsewhere
        """Whether a block may be read in parts: its rows are arrays to join."""
        self._second = ThreadPoolExecutor(1, "base")
        self._counts = models.counts.generalist, models.counts.base
        each = range(len(self._engines))
        self._free = [
            [SlotCache(self._engines, one, number, self._counts[one]) for one in each]
            for number in reversed(range(models.slots))
        ]

    def add(self, round_: Round) -> None:
        """Let a round wait for the next step; earlier epochs become stale."""
        text = self._texts.setdefault(round_.session_id, Text())
        text.party = round_.party
        now = self._seen[text.party[0]] = round_.came or self._clock()
        text.epoch = max(text.epoch, round_.key[:2])
        if round_.verify is None:
            text.ahead = round_
        else:
            if not text.is_stale(round_):
                text.failed = None
            if not text.rounds:
                self._waiting.append(text)
                if text.answered != _NEVER:
                    text.pause = now - text.answered
            text.rounds.append(round_)
            self._lengths[text.party[0]].append(round_.rows)
        self._drop_stale(text)
        if text.rounds or (text.slot and not text.rest):
            # The cache of a session never goes back behind its own block.
            text.ahead = None

    def release(self, session_id: str) -> None:
        """Drop the rounds of a session that ended, and free its slot."""
        text = self._texts.pop(session_id, Text())
        self._finish(text, text.rounds, SessionLostError("the session has ended"))
        self._vacate(text)

    def close(self, error: DecodingError) -> None:
        """Answer everything that waits with an error; nothing is read any more."""
        for text in self._texts.values():
            self._finish(text, text.rounds, error)
        self._second.shutdown()

    def rest(self) -> None:
        """Give the memory of the models back, if it may be; slots are read anew."""
        if not self._models.may_rest:
            return
        for text in list(self._holders):
            self._evict(text, "rest")
        self._engines.clear()
        self._models.rest()

    def pause(self) -> float | None:
        """Seconds until a step would do something; None: not before a command comes."""
        if not any(one.next for one in self._holders):
            self._lend_slots()
        if any(one.next for one in self._holders):
            return self._until_others_are_back()
        seconds = self._again - self._clock()
        return None if seconds == math.inf else max(0.0, seconds)

    def _until_others_are_back(self) -> float:
        """Seconds for which the devices that the last step answered are waited for, if
        they always come back at once; else two halves of the texts take turns, and each
        waits for the other's pass."""
        longest = PassTimes.WAIT * self._times.fixed
        pauses = [
            one.pause
            for one in self._holders
            if one.answered >= self._ended and not one.rounds
        ]
        quick = [pause for pause in pauses if 0.0 < pause <= longest]
        until = self._ended + min(longest, 2 * max(quick, default=0.0))
        return max(0.0, until - self._clock())

    def step(self) -> None:
        """Read what is most urgent, and answer the blocks that were read whole."""
        self._make_room()
        self._lend_slots()
        batch = self._batch()
        if not batch:
            return
        self._steps += 1
        try:
            if not self._engines:
                self._engines += self._models.opened()
        except Exception as error:  # noqa: BLE001 - the thread must go on
            for turn in batch:
                self._note(turn, _known(error), 0.0)
            return
        started = self._clock()
        outcomes = self._read(batch)
        # As a frame holds it, so that the verifiers of both sides agree.
        seconds = float(np.float32(self._clock() - started))
        self._ended = self._clock()
        self._times.note(sum(turn.size for turn in batch), seconds)
        if len(batch) == 1:
            self._pace.note(batch[0], seconds, self._usual(self._about()))
        for turn, outcome in zip(batch, outcomes, strict=True):
            self._note(turn, outcome, seconds)

    def _room_for(self, text: Text) -> int:
        return 1 if self._models.kv_tokens is None else text.need

    def _has_room(self, room: int) -> bool:
        return sum(one.room for one in self._holders) + room <= self._budget

    def _room_of_parties(self) -> Counter[tuple[str, ...]]:
        """How much of the budget each user has, and each device."""
        room = Counter[tuple[str, ...]]()
        for one in self._holders:
            for size in (1, 2):
                room[one.party[:size]] += one.room
        return room

    def _make_room(self) -> None:
        """Have room for the next round of each holder: texts without a block leave for
        it, the longest unused of whoever has the most, or else the text itself."""
        for text in list(self._holders):
            while text.slot:
                more = max(0, self._room_for(text) - text.room)
                if not more or self._has_room(more):
                    text.room += more
                    break
                idle = [one for one in self._holders if not one.rounds]
                room = self._room_of_parties()
                idle.sort(key=lambda one: (-room[one.party[:1]], one.used))
                self._evict(idle[0] if idle else text, "budget")

    def _lend_slots(self) -> None:
        """Give slots to the texts that wait for one, while some are free or holders
        may leave: first to those with blocks, whose users have the fewest slots, and
        who came first."""
        now, self._again = self._clock(), math.inf
        count = Counter(one.party[0] for one in self._holders)
        line = [one for one in self._waiting if not one.slot]
        line.sort(key=lambda one: count[one.party[0]])
        line += [one for one in self._texts.values() if one.ahead and not one.slot]
        in_vain: set[Party] = set()
        for text in line:
            while text.party not in in_vain and not self._lend(text):
                when, leaving = self._first_to_leave(text)
                if when > now:
                    self._again = min(self._again, when)
                    in_vain.add(text.party)
                else:
                    self._evict(leaving, "budget" if self._free else "turn")

    def _lend(self, text: Text) -> bool:
        """Give a free slot to a text, if there is one for it. The last is left to the
        next block that comes, if the user of a text that is read ahead has another."""
        room, users = self._room_for(text), {one.party[0] for one in self._holders}
        last = len(self._free) == 1 and not text.rounds and text.party[0] in users
        if not self._free or last or not self._has_room(room):
            return False
        self._holders.append(text)
        text.slot, text.room = self._free.pop(), room
        text.used, text.read = _NEVER, 0
        self._models.counts.reread += min(text.lost, text.need)
        text.lost = 0
        return True

    def _first_to_leave(self, text: Text) -> tuple[float, Text]:
        """From when on which holder leaves for a text that wants a slot: of those that
        may at any time one without a block, of whoever has most, the longest unused."""
        room, party = self._room_of_parties(), text.party
        parties = {one.party for one in (text, *self._holders, *self._waiting)}
        users = self._budget // len({user for user, _ in parties})
        devices = sum(user == party[0] for user, _ in parties)
        fair = max(1, users), max(1, room[party[:1]] // devices)

        def leaves(one: Text) -> float:
            """By shares of users, or of one user's devices, then by use."""
            at = 2 if one.party[0] == party[0] else 1
            theirs, ours, share = room[one.party[:at]], room[party[:at]], fair[at - 1]
            if one.party != party and ours < share <= theirs - one.room:
                return _NEVER  # it takes more than its share from who has less
            if not text.rounds:
                return math.inf
            if one.party != party and theirs <= share <= ours:
                return math.inf if one.rounds else one.used + SHARE_SECONDS
            if one.read > TENURE * len(one.slot[0].read):
                return _NEVER
            if not one.rounds:
                patience = max(PATIENCE_SECONDS, 2 * one.pause)
                return one.answered + min(patience, LONGEST_PATIENCE_SECONDS)
            # A text that nobody has seen yet gives way to a shorter one once.
            unread = one.answered == _NEVER and not one.gave_way
            return _NEVER if unread and one.rest > 2 * text.need else math.inf

        def order(one: Text) -> tuple[float, bool, int, float]:
            return leaves(one), bool(one.rounds), -room[one.party[:1]], one.used

        first = min(self._holders, key=order)
        return leaves(first), first

    def _evict(self, text: Text, why: str) -> None:
        """Take the slot from a text that has not ended; with a block it waits again."""
        text.lost = len(text.slot[0].read)
        if text.lost:
            self._models.counts.evictions[why] += 1
        if text.rounds:
            text.gave_way |= text.answered == _NEVER
            self._waiting.remove(text)
            self._waiting.append(text)
        self._vacate(text)

    def _vacate(self, text: Text) -> None:
        if text.slot:
            for cache in text.slot:
                cache.roll_back(0)
            self._holders.remove(text)
            self._free.append(list(text.slot))
            text.slot, text.room = (), 0

    def _batch(self) -> list[Turn]:
        """The blocks that are ready, and a chunk of a prompt beside them if its turn
        has come; if no block is ready, a chunk of a prompt alone."""
        now, pace = self._clock(), self._pace.tokens
        about = self._about()
        alone = len(about) < 2
        turns = self._turns(one for one in self._waiting if one.slot)
        chunk = 2 * pace if alone else pace
        if not self._models.in_pieces:
            chunk = self._models.context_length
        # If one user writes, a rest of two chunks is cheaper in one step than in two.
        most = 2 * chunk if alone else chunk
        prompts = [one for one in turns if one.size - one.round.rows > most]
        blocks = [one for one in turns if one not in prompts]
        if self._cuts and not alone:
            self._cut(blocks, self._usual(about))
        ready = first_of(blocks, math.inf if alone else pace, self._times.share)
        # A prompt whose user was served less recently goes before blocks, once between
        # two steps with blocks.
        sooner = 0  # by how many steps
        if prompts and ready:
            sooner = self._served[ready[0].user] - self._served[prompts[0].user]
        if self._passed_over and sooner > 0:
            ready = []
        if ready:
            self._passed_over += 1
            due = alone or (self._passed_over >= PASSED_OVER and sooner == 0)
            if not prompts or not due:
                return ready
            size = sum(turn.size for turn in ready)
            if not alone and self._times.longer(size + chunk, size):
                ready = []  # who comes meanwhile is not to wait for both
        prompts = prompts or self._turns(self._holders)  # if none, what is read ahead
        if not prompts:
            return []
        prompt = self._next_of(prompts)
        others = (one for one in self._texts.values() if one is not prompt.text)
        busy = any(now - one.answered < ABOUT_SECONDS for one in others)
        if alone and not ready and not busy:
            chunk = max(chunk, AHEAD if prompt.round.verify is None else CHUNK)
        prompt.is_part = prompt.round.verify is None or chunk < prompt.size
        prompt.size = min(chunk, prompt.size)
        return [*ready, prompt]

    def _about(self) -> set[str]:
        """The users who have sent something of late, or wait."""
        now = self._clock()
        about = {u for u, when in self._seen.items() if now - when <= ABOUT_SECONDS}
        return about.union(one.party[0] for one in self._waiting)

    def _usual(self, users: Iterable[str]) -> int:
        """How many tokens the blocks usually have of the user who has the shortest."""
        lengths = [self._lengths[user] for user in users if user in self._lengths]
        return max(BLOCK, min(map(statistics.median_low, lengths), default=BLOCK))

    def _cut(self, blocks: Iterable[Turn], usual: int) -> None:
        """Leave equal parts of a block to later steps if it takes clearly longer than a
        usual one: another's block that comes meanwhile waits for no more."""
        for turn in blocks:
            parts = 1
            while self._times.longer(part := math.ceil(turn.size / parts), usual):
                parts += 1
            turn.later, turn.size = turn.size - part, part
            if turn.later >= turn.round.rows:  # the end of its prompt comes first
                turn.later, turn.is_part = 0, True

    def _turns(self, texts: Iterable[Text]) -> list[Turn]:
        """What is next of these, first of who was served the least recently."""
        turns = [Turn(one, next_, one.rest) for one in texts if (next_ := one.next)]
        return sorted(turns, key=lambda turn: self._served[turn.user])

    def _next_of(self, prompts: Sequence[Turn]) -> Turn:
        """The prompt of the first user with the shortest rest, or the oldest."""
        theirs = [turn for turn in prompts if turn.user == prompts[0].user]
        self._passed_over = 0
        self._prompts_read += 1
        if self._prompts_read % SHORTEST_FIRST:
            return min(theirs, key=lambda turn: turn.size)
        return theirs[0]

    def _read(self, batch: Sequence[Turn]) -> list[Outcome]:
        """What the models say to each turn. After a fault the slots are cleared and
        each turn is read alone, so that one fault has one victim."""
        with_base = [turn for turn in batch if turn.round.uses_base]
        try:
            if with_base and self._models.at_once:
                aside = self._second.submit(self._evaluate, 1, with_base)
                try:
                    generalist = self._evaluate(0, batch)
                finally:
                    wait([aside])  # a cache that is being read cannot be cleared
                base = iter(aside.result())
            else:
                generalist = self._evaluate(0, batch)
                base = iter(self._evaluate(1, with_base) if with_base else ())
        except CloudBusyError as error:
            # A server behind an address is away; what was read is not lost.
            return [error for _ in batch]
        except Exception as error:  # noqa: BLE001 - the thread must go on
            for turn in batch:
                for cache in turn.text.slot:
                    cache.roll_back(0)
            if len(batch) == 1:
                return [_known(error)]
            return [one for turn in batch for one in self._read([turn])]
        return [
            (rows, next(base) if turn.round.uses_base else None)
            for turn, rows in zip(batch, generalist, strict=True)
        ]

    def _evaluate(self, number: int, turns: Sequence[Turn]) -> Sequence[Rows]:
        """Read what the turns ask for in one pass through the generalist (0) or the
        base (1)."""
        counts, started = self._counts[number], time.perf_counter()
        rounds, readings = [], []
        for turn in turns:
            round_, cache = turn.round, turn.text.slot[number]
            self._take_alike(turn, number)
            if turn.is_part:
                # Up to where the rows of logits begin; a model always gives one.
                end = len(round_.token_ids) - round_.rows
                ids = round_.token_ids[: min(cache.start(round_) + turn.size, end)]
                round_ = replace(round_, token_ids=ids, rows=1, candidates=0, asked=())
            elif turn.later:
                ids = round_.token_ids[: -turn.later]
                round_ = replace(round_, token_ids=ids, rows=round_.rows - turn.later)
            start = cache.start(round_)
            if start < len(cache.read):
                cache.roll_back(start)
            ids, asked = round_.token_ids[start:], round_.asked
            rounds.append(round_)
            readings.append(
                Reading(cache.number, ids, round_.rows, round_.candidates, asked)
            )
        logits = evaluate_rows(self._engines[number], readings)
        for turn, round_ in zip(turns, rounds, strict=True):
            turn.text.slot[number].advance(round_.token_ids)
        counts.batches[len(turns)] += 1
        counts.seconds += time.perf_counter() - started
        return logits

    def _take_alike(self, turn: Turn, number: int) -> None:
        """Take over what another text of the same user has in common with one of which
        little was read: drafts of one request are opened with one prompt."""
        cache, ids = turn.text.slot[number], turn.round.token_ids
        theirs = (one for one in self._holders if one.party[0] == turn.user)
        others = (one.slot[number] for one in theirs if one is not turn.text)
        best = max(others, key=lambda one: one.shared(ids), default=cache)
        if best.shared(ids) - cache.shared(ids) > ALIKE:
            cache.take(best, best.shared(ids))

    def _note(self, turn: Turn, outcome: Outcome, seconds: float) -> None:
        """Answer a round that was read to its end; one that was not waits again."""
        round_, text = turn.round, turn.text
        failed = isinstance(outcome, DecodingError)
        self._served[turn.user] = self._steps
        text.used = self._clock()
        text.read += turn.size
        if round_.verify is None:
            if failed or not text.rest:
                text.ahead = None
            return
        if turn.later and not isinstance(outcome, DecodingError):
            round_.parts.append(outcome)
            round_.rows = turn.later
            round_.seconds += seconds
            return
        self._waiting.remove(text)  # others have their turn first
        self._waiting.append(text)
        if turn.is_part and not failed:
            return
        result: Result
        try:
            if isinstance(outcome, DecodingError):
                raise outcome
            opinions = _joined([*round_.parts, outcome])
            seconds = float(np.float32(round_.seconds + seconds))
            result = replace(round_.verify(*opinions), seconds=seconds)
            check_verdict(result)
        except Exception as error:  # noqa: BLE001 - the thread must go on
            result = _known(error)
            text.failed = round_
        else:
            if result.accepted < round_.whole:
                text.epoch = round_.key[0], round_.key[1] + 1
        self._finish(text, [round_], result)
        self._drop_stale(text)
        text.answered = text.used

    def _drop_stale(self, text: Text) -> None:
        stale = [round_ for round_ in text.rounds if text.is_stale(round_)]
        self._finish(text, stale, StaleBlockError("the block follows a refusal"))

    def _finish(self, text: Text, rounds: Iterable[Round], result: Result) -> None:
        for round_ in list(rounds):
            text.rounds.remove(round_)
            if not text.rounds:
                self._waiting.remove(text)
            round_.done(result)


def first_of(
    blocks: Sequence[Turn], most: float, share: Callable[[int], bool]
) -> list[Turn]:
    """The first blocks, as many as have `most` tokens and `ROWS` rows, one at least;
    and the first of each other user that may share a pass, as far as the rows go."""
    found: list[Turn] = []
    users = set[str]()
    rows = size = 0
    full = False  # whether a block did not fit: none of its size goes before it
    for turn in blocks:
        shares = turn.user not in users and share(turn.size)
        fits = shares or (not full and size + turn.size <= most)
        if not found or (fits and rows + turn.round.rows <= ROWS):
            found.append(turn)
            users.add(turn.user)
            rows, size = rows + turn.round.rows, size + turn.size
        else:
            full = True
    return found


def _joined(parts: Sequence[Any]) -> Opinions:
    """All rows of a block from those of its parts, which are arrays."""
    if len(parts) == 1:
        return parts[0]  # type: ignore[no-any-return]
    generalist, base = zip(*parts, strict=True)
    return np.concatenate(generalist), None if base[0] is None else np.concatenate(base)


def _known(error: Exception) -> DecodingError:
    """An error whose words may travel; others are logged by type and place."""
    if isinstance(error, DecodingError) and not isinstance(error, MessageError):
        return error
    log_fault("a round")
    return EngineError("a model failed to compute")
