"""The engine of the server: one thread that owns both models, and what is read next.

The event loop hands rounds to the `EngineThread`: a round is a block to verify, or a
text to read before its first block comes. The thread's `Scheduler` takes the oldest
round of every session that waits and has a `Slot`, and reads each model once for all of
them. Blocks go before prompts. A long prompt is read in chunks beside the blocks that
are ready; a text whose first block has not come yet, while no block waits at all. While
other texts are being written, a chunk takes no longer than a part of their rounds
(`PromptPace`).

Where several users are about, the one who has had the least of the engine's time is
next (`FairTime`), and a step holds no more blocks than read as fast as one: so a user
who sends many waits for their own, and the others for one of them at most.

A device drafts on while its blocks are out, so several rounds of a session may wait:
each follows the one before as if that were kept whole. A refusal begins a new epoch,
and a session may begin another text. A round of an earlier epoch or text is *stale*,
and never computed.
"""

from __future__ import annotations

import asyncio
import queue
import statistics
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from cloud_api.engine.models import Models, Opened, ReadingCounts
from cloud_api.errors import StaleBlockError, StoppingError, log_fault
from decoding_core.errors import (
    CloudBusyError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import DRAFT_LIMIT, SETTLED_LIMIT, Verdict, check_verdict
from decoding_core.protocols import BatchEngine, Reading, Rows
from decoding_core.verifier import evaluate_rows, start_of_reading

SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Tokens of a prompt that one step may read."""
_PART = 0.6
"""How much of a quiet round a step of a prompt may take: a block that comes in its
midst waits for it, and the two together stay below twice a quiet round."""
_SLACK = 1.2
"""Where even the smallest step takes longer than that, as on a graphics card, which
reads few tokens no faster than many, this much more than it."""
_TRY_AGAIN = 64
"""Steps after which a larger size is tried once more."""
TENURE = 10
"""How many times the length of its text a holder may read while others wait. Lending a
slot anew costs one reading of the text, so swaps cost at most about a tenth."""
ROOM_STEP = 256
"""Room for tokens is had in steps of so many, so that a text seldom asks for more."""
SHARE_SECONDS = 60.0
"""How long a text keeps its slot from users who have their share, though its device is
silent: as long as a person may think about a sentence."""

Party = tuple[str, str]
"""A user, and the device that holds or wants a slot."""
NOBODY: Party = ("", "")
Claim = Literal["at once", "not soon", "in turn"]
"""Whether another party may have a holder's slot for the sake of fair shares."""


Result = Verdict | Exception
Key = tuple[int, int, int]
"""Text, epoch and round: the name of a block in its session, in the order in which
they come. The texts of a session are counted, for each may begin with epoch 0."""


@dataclass(slots=True, eq=False)
class Round:
    """A block to verify: what to read, and what to do with the logits."""

    session_id: str
    token_ids: tuple[int, ...]
    rows: int
    uses_base: bool
    verify: Callable[[Rows, Rows | None], Verdict] | None = None
    """None: the text is only read ahead, before its first block comes, and `done` is
    not called."""
    key: Key = (0, 0, 0)
    position: int = 0
    """How many tokens stand before the block."""
    whole: int = 0
    """How many tokens a verdict keeps that refuses none; 0 where the device decides,
    and the server knows of no refusal."""
    done: Callable[[Result], None] = lambda _: None
    candidates: int | None = None
    """How many of a row's likeliest tokens its verdict is made of; None: not known."""
    asked: tuple[int, ...] = ()
    """The tokens that it looks up besides."""
    alone: bool = False
    """Whether its text comes token by token, and a token may be read alone."""
    user: str = ""
    """Whose text it is."""
    device: str = ""
    """The device of that user on which it is written."""

    @property
    def party(self) -> Party:
        """Who wants a slot for it."""
        return self.user, self.device


class SlotCache:
    """What one model has read in one slot."""

    def __init__(self, model: BatchEngine, number: int, counts: ReadingCounts) -> None:
        self._model = model
        self._number = number
        self._counts = counts
        self._read: tuple[int, ...] = ()
        self._together = 0  # how many of them, from the first, were read with others
        self.count = 0
        """How many tokens the model has read for the slot's holder, those that were
        rolled back too."""

    def __len__(self) -> int:
        return len(self._read)

    def start(self, token_ids: tuple[int, ...], rows: int, alone: bool) -> int:
        """From where the model must read to give the last `rows` rows of logits."""
        read = self._read if alone else self._read[: self._together]
        return start_of_reading(read, token_ids, rows, alone=alone)

    def prepare(
        self,
        token_ids: tuple[int, ...],
        rows: int,
        candidates: int | None = None,
        asked: Sequence[int] = (),
        *,
        alone: bool = False,
    ) -> Reading:
        """Roll back to where the cache and `token_ids` differ; what is then to be
        read. Call `advance` when it was read."""
        start = self.start(token_ids, rows, alone)
        if start < len(self._read):
            self._model.rollback(self._number, start)
            self._counts.held -= len(self._read) - start
            self._read = self._read[:start]
            self._together = min(self._together, start)
        return Reading(self._number, token_ids[start:], rows, candidates, asked)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """Note that the model has read `token_ids`."""
        read = len(token_ids) - len(self._read)
        if self._together == len(self._read) and (read > 1 or not self._read):
            self._together += read
        self.count += read
        self._counts.tokens += read
        self._counts.held += read
        self._read = token_ids

    def clear(self) -> None:
        """Forget the text, before another session takes the slot or after a fault."""
        self._model.rollback(self._number, 0)
        self._counts.held -= len(self._read)
        self._read, self._together = (), 0


class Slot:
    """One cache in each model."""

    def __init__(self, models: Models, opened: Opened, number: int) -> None:
        counts, self._base = models.counts, None
        self.generalist = SlotCache(opened.generalist, number, counts.generalist)
        if opened.base is not None:
            self._base = SlotCache(opened.base, number, counts.base)
        self.party = NOBODY
        """Whose text it holds."""
        self.room = 0
        """For how many tokens there is room, where their number is bounded."""
        self.kept_until = -float("inf")
        """Until when a holder without a block keeps the slot while another waits; one
        whose text was only read ahead leaves at once."""
        self.used = -float("inf")
        """When something was last read for the holder."""

    @property
    def base(self) -> SlotCache:
        """The cache of the base; asked for in sessions that use the base alone."""
        assert self._base is not None
        return self._base

    @property
    def used_up(self) -> bool:
        """Whether its holder has read so much that another may have the slot."""
        return self.generalist.count > TENURE * len(self.generalist)

    @property
    def only_read_ahead(self) -> bool:
        """Whether no block of the holder was answered."""
        return self.kept_until == -float("inf")

    def clear(self) -> None:
        """Forget the text in each model."""
        self.generalist.clear()
        if self._base is not None:
            self._base.clear()

    def vacate(self) -> None:
        """Forget the text and its holder."""
        self.clear()
        self.generalist.count = self.room = 0
        self.party = NOBODY
        self.kept_until = self.used = -float("inf")


@dataclass(slots=True, eq=False)
class Turn:
    """What one step reads of a round: all of it, or of a long text the next chunk."""

    round: Round
    slot: Slot
    chunk: int | None = None
    seconds: float = 0.0
    """How long the models took for the step, once it was done."""
    size: int = 0
    """How many tokens the step reads of it."""

    @property
    def rest(self) -> int:
        """How many tokens of the round are still to be read."""
        wanted = self.round.token_ids, self.round.rows, self.round.alone
        start = self.slot.generalist.start(*wanted)
        if self.round.uses_base:
            start = min(start, self.slot.base.start(*wanted))
        return len(wanted[0]) - start

    def cut(self, chunk: int) -> None:
        """Read so many of its tokens alone, and give no logits yet."""
        self.chunk, self.size = chunk, min(chunk, self.size)


@dataclass(slots=True, eq=False)
class TextState:
    """What the scheduler knows of a session."""

    rounds: deque[Round] = field(default_factory=deque)
    """Its blocks that wait, in the order in which they came."""
    epoch: tuple[int, int] = (0, 0)
    """The earliest text and epoch whose blocks are wanted."""
    failed: Round | None = None
    """A block that a model failed on: what stands behind it is stale until it has come
    again, under its name or a later one."""
    answered: float | None = None
    """When the last of its blocks was answered."""
    pause: float = 0.0
    """How long its device then took until the next block."""
    party: Party = NOBODY
    lost: int = 0
    """How many tokens were read for it when it lost its slot; 0 while it has one."""
    gave_way: bool = False
    """Whether it lost its slot to a shorter text before it was read, which happens
    once."""

    def is_stale(self, round_: Round) -> bool:
        """Whether a block follows what is no part of the text."""
        failed = self.failed
        return round_.key[:2] < self.epoch or (
            failed is not None
            and round_.key[:2] == failed.key[:2]
            and round_.position > failed.position
        )


class SlotPool:
    """All slots, and the sessions that hold them."""

    def __init__(self, models: Models, opened: Opened) -> None:
        self._free = [Slot(models, opened, number) for number in range(models.slots)]
        self._free.reverse()
        self._size = len(self._free)
        self._budget = models.kv_tokens
        self._held: dict[str, Slot] = {}

    @property
    def has_free(self) -> bool:
        """Whether a slot is held by nobody."""
        return bool(self._free)

    def has_room(self, need: int) -> bool:
        """Whether there is a free slot with room for so many tokens."""
        return bool(self._free) and self._more_room(0, need) is not None

    def _more_room(self, has: int, need: int) -> int | None:
        """How much room a text of `need` tokens has to get that has room for `has`;
        None: others have it."""
        if self._budget is None or need <= has:
            return 0
        more = min(-(-need // ROOM_STEP) * ROOM_STEP, self._budget) - has
        taken = sum(slot.room for slot in self._held.values())
        return more if taken + more <= self._budget else None

    def held(self, session_id: str) -> Slot | None:
        """The slot that a session holds, or None."""
        return self._held.get(session_id)

    def take(self, session_id: str, party: Party, need: int) -> Slot | None:
        """A free slot with room for so many tokens, or None."""
        room = self._more_room(0, need)
        if not self._free or room is None:
            return None
        self._held[session_id] = slot = self._free.pop()
        slot.party, slot.room = party, room
        return slot

    def grow(self, slot: Slot, need: int) -> bool:
        """Have room in a slot for so many tokens; False: others have it."""
        more = self._more_room(slot.room, need)
        if more is None:
            return False
        slot.room += more
        return True

    def idle(self, waiting: Mapping[str, Party]) -> str | None:
        """The holder to leave for the room of another: one without a block, of the user
        who has the most room, the longest unused; None: all have blocks."""
        idle = [one for one in self._held if one not in waiting]
        of_user = Counter[str]()
        for slot in self._held.values():
            of_user[slot.party[0]] += slot.room

        def order(session_id: str) -> tuple[int, float]:
            slot = self._held[session_id]
            return -of_user[slot.party[0]], slot.used

        return min(idle, key=order, default=None)

    def held_by_all(self) -> list[str]:
        """The sessions that hold a slot."""
        return list(self._held)

    def count(self, user: str) -> int:
        """How many slots a user has."""
        return sum(slot.party[0] == user for slot in self._held.values())

    def leaving(
        self,
        waiting: Mapping[str, Party],
        wanting: Party,
        need: int,
        unread: Mapping[str, int],
    ) -> tuple[str, float]:
        """The holder that is the first to leave for a party that wants a slot for so
        many tokens, and from when on. `waiting` are the sessions with a block, by their
        parties; `unread` says of those that may give way to a shorter text how much of
        theirs is still to be read.

        A holder leaves at any time if it takes more than its share from who has less.
        Else, where it has no more than its share and the other no less, it stays until
        it was not used for `SHARE_SECONDS`. Otherwise one that has more than twice the
        other's need still to read, whose text was only read ahead, or that has used its
        slot up, leaves at any time; one that is not in `waiting`, at the end of its
        patience; any other, never (infinity). The pool must not be empty.
        """
        shares = self._shares(waiting, wanting)
        greed = shares.held

        def leaves(session_id: str) -> float:
            slot, waits = self._held[session_id], session_id in waiting
            claim = shares.claim(slot)
            if claim == "at once":
                return -float("inf")
            if claim == "not soon":
                return float("inf") if waits else slot.used + SHARE_SECONDS
            if slot.used_up or unread.get(session_id, 0) > 2 * need:
                return -float("inf")
            return float("inf") if waits else slot.kept_until

        def order(session_id: str) -> tuple[float, bool, int, float, int]:
            # Of those that may leave now, a text that nobody writes at costs least;
            # then one of whoever has the most, and of these the one read soonest anew.
            slot = self._held[session_id]
            waits, most = session_id in waiting, -greed[slot.party[:1]]
            size = len(slot.generalist)
            return leaves(session_id), waits, most, slot.kept_until, size

        first = min(self._held, key=order)
        return first, leaves(first)

    def spare(
        self, waiting: Mapping[str, Party], wanting: Party, need: int
    ) -> str | None:
        """What a party may read so many tokens ahead in: "" for a free slot, the name
        of a session that has to leave for it, as its text was only read ahead, or None.

        The last free slot is left to the next block that comes, unless it is the only
        slot there is, which is lent, or others have more than their share.
        """
        free = len(self._free)
        has_room = self.has_room(need)
        if has_room and (free > 1 or free == self._size):
            return ""
        shares = self._shares(waiting, wanting)
        for session_id, slot in self._held.items():
            if shares.claim(slot) != "at once":
                continue
            if has_room:
                return ""
            if session_id not in waiting and slot.only_read_ahead:
                return session_id
        return None

    def release(self, session_id: str) -> None:
        """Clear the slot of a session that ended, or leaves it to another."""
        slot = self._held.pop(session_id, None)
        if slot is not None:
            slot.vacate()
            self._free.append(slot)

    def _shares(self, waiting: Mapping[str, Party], wanting: Party) -> _Shares:
        """What each has of the slots, or of the room where that is bounded."""
        slots = self._held.values()
        if self._budget is None:
            held = [(slot.party, 1) for slot in slots]
            return _Shares(self._size, held, waiting.values(), wanting)
        held = [(slot.party, slot.room) for slot in slots]
        return _Shares(self._budget, held, waiting.values(), wanting)


class _Shares:
    """How many slots, or how much room, each user and each device has, and what that
    gives to one who wants more."""

    def __init__(
        self,
        size: int,
        held: Sequence[tuple[Party, int]],
        waiting: Iterable[Party],
        wanting: Party,
    ) -> None:
        parties = {*(party for party, _ in held), *waiting, wanting}
        self.held = Counter[tuple[str, ...]]()
        """What each user has, and each device."""
        for party, much in held:
            for n in (1, 2):
                self.held[party[:n]] += much
        users = len({user for user, _ in parties})
        devices = sum(user == wanting[0] for user, _ in parties)
        self._fair = {
            1: max(1, size // users),
            2: max(1, self.held[wanting[:1]] // devices),
        }
        self._wanting = wanting

    def claim(self, slot: Slot) -> Claim:
        """What the one who wants a slot may have of a holder's. At once it is had only
        from who has their share without it too: of two texts that are each more than a
        share, neither would ever be read else."""
        for level in (1, 2):
            theirs, ours = slot.party[:level], self._wanting[:level]
            if theirs == ours:
                continue
            fair = self._fair[level]
            left = self.held[theirs] - (slot.room or 1)
            if self.held[ours] < fair <= left:
                return "at once"
            if self.held[ours] >= fair >= self.held[theirs]:
                return "not soon"
            return "in turn"
        return "in turn"


class FairTime:
    """The computing that each user has had, as virtual time."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}
        self._now = 0.0
        """When, in virtual time, the last step began that was charged."""

    def order(self, users: Iterable[str]) -> list[str]:
        """The users, each once, the one who had the least first."""
        return sorted(dict.fromkeys(users), key=self._start)

    def charge(self, user: str, seconds: float) -> None:
        """Note that a user had so much of the engine's time."""
        start = self._start(user)
        self._now = max(self._now, start)
        self._ends[user] = start + seconds
        if len(self._ends) > 1:  # whoever had no more than all others is forgotten
            self._ends = {u: end for u, end in self._ends.items() if end > self._now}

    def _start(self, user: str) -> float:
        return max(self._ends.get(user, 0.0), self._now)


class PromptPace:
    """How many tokens of a prompt a step reads where others write too."""

    def __init__(self) -> None:
        self._at = SIZES.index(16)
        self._most = len(SIZES) - 1
        """The largest size that was not found to be too slow lately."""
        self._since = 0
        self._quiet: deque[float] = deque(maxlen=15)
        self._seconds = [deque[float](maxlen=5) for _ in SIZES]

    @property
    def tokens(self) -> int:
        """The size of the next step."""
        return SIZES[self._at]

    def note_quiet(self, seconds: float) -> None:
        """Note how long a block took that was read alone."""
        self._quiet.append(seconds)

    def note_prompt(self, tokens: int, seconds: float) -> None:
        """Note how long a step took that read so much of a prompt and nothing else: as
        much as `tokens` says, or twice that."""
        if tokens not in (self.tokens, 2 * self.tokens) or not self._quiet:
            return
        seconds *= self.tokens / tokens
        self._since += 1
        self._seconds[self._at].append(seconds)
        bound = _PART * statistics.median(self._quiet)
        if self._seconds[0]:
            bound = max(bound, _SLACK * statistics.median(self._seconds[0]))
        if statistics.median(self._seconds[self._at]) > bound:
            self._at = self._most = max(0, self._at - 1)
            self._since = 0
        elif self._at < self._most:
            self._at += 1
        elif self._since >= _TRY_AGAIN and self._at < len(SIZES) - 1:
            self._at = self._most = self._at + 1
            self._seconds[self._at].clear()
            self._since = 0


def needs_of(rounds: Iterable[tuple[Party, Round]]) -> dict[Party, int]:
    """The fewest tokens that a round of each party needs room for."""
    needs: dict[Party, int] = {}
    for party, round_ in rounds:
        need = len(round_.token_ids)
        needs[party] = min(need, needs.get(party, need))
    return needs


def read_turns(
    model: BatchEngine,
    counts: ReadingCounts,
    turns: Sequence[tuple[Turn, SlotCache]],
) -> Sequence[Rows]:
    """Read what the turns ask for in one pass through a model; each turn comes with its
    cache in that model."""
    texts, readings, started = [], [], time.perf_counter()
    for turn, cache in turns:
        ids, rows, alone = turn.round.token_ids, turn.round.rows, turn.round.alone
        candidates, asked = turn.round.candidates, turn.round.asked
        if turn.chunk is not None:
            # Up to where the rows of logits begin; a model always gives one.
            end = min(cache.start(ids, rows, alone) + turn.chunk, len(ids) - rows)
            ids, rows, candidates, asked = ids[:end], 1, 0, ()
        texts.append(ids)
        readings.append(cache.prepare(ids, rows, candidates, asked, alone=alone))
    logits = evaluate_rows(model, readings)
    for (_, cache), ids in zip(turns, texts, strict=True):
        cache.advance(ids)
    counts.batches[len(turns)] += 1
    counts.seconds += time.perf_counter() - started
    return logits


CHUNK = 256
"""Tokens of a long text that are read in one step where nobody else writes."""
AHEAD = 64
"""Tokens that are read ahead in one step there: a block that comes meanwhile waits for
it."""
LONGEST_BLOCK = SETTLED_LIMIT + DRAFT_LIMIT
"""Tokens of a round beyond which it is a text to be read, and not a block. Where other
users are about, fewer: rows of logits are read at once, but not what stands before."""
QUIET = 24
"""Tokens of a usual block, at most."""
ROWS = 512
"""Rows of logits that one step may give; the rest waits for the next."""
PATIENCE_SECONDS = 1.0
"""How long a session without a block keeps its slot while another waits for one."""
LONGEST_PATIENCE_SECONDS = 4.0
"""The same for a device that takes long over its drafts: twice its last pause, up to
this."""
ABOUT_SECONDS = 30.0
"""How long after its last block or opening a user, or a text, is still about."""
PASSED_OVER = 8
"""Steps with blocks of several users after which a prompt has its chunk too."""
SHORTEST_FIRST = 3
"""Of a user's prompts the shortest rest is read first, but in every so many steps the
one that waits the longest: short ones wait for no long one, and long ones for a third
of the time."""
_REST_SECONDS = 0.01
"""Models that somebody else needs are asked again whether they rest after so long."""
Logits = tuple[Rows, Rows | None]
"""Rows of the generalist and of the base; None where the base is not used."""


class Scheduler:
    """The rounds that wait, in the order in which they came, and the slots. Used by the
    engine thread alone."""

    def __init__(
        self,
        models: Models,
        clock: Callable[[], float] = time.monotonic,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`stopwatch` says how long the models took; tests have one of their own."""
        self._models = models
        self._clock = clock
        self._stopwatch = stopwatch
        self._opened = models.opened()
        self.asleep = False
        """Whether the models' memory was given back."""
        self._pool = SlotPool(models, self._opened)
        self._texts: dict[str, TextState] = {}
        self._waiting: dict[str, Party] = {}
        """Sessions with blocks. Those that have no slot are in the order in which they
        began to wait for one; those that have, in the order of their next turn."""
        self._ahead: dict[str, Round] = {}
        """By session: what is read while no block waits."""
        self._time = FairTime()
        self._pace = PromptPace()
        self._about: dict[str, float] = {}
        """When each user last sent a block or opened a text."""
        self._passed_over = self._prompts_read = 0
        self._second: ThreadPoolExecutor | None = None
        if models.at_once and models.base is not None:
            self._second = ThreadPoolExecutor(1, "base")

    def pause(self) -> float | None:
        """Seconds until a step would do something; None: not before a command comes."""
        ready = any(self._pool.held(one) for one in self._waiting)
        if ready or any(map(self._pool.held, self._ahead)):
            return 0.0
        readers = needs_of((one.party, one) for one in self._ahead.values())
        if any(
            self._pool.spare(self._waiting, *one) is not None for one in readers.items()
        ):
            return 0.0
        if not self._waiting:
            return None
        needs = needs_of(
            (party, self._texts[session_id].rounds[0])
            for session_id, party in self._waiting.items()
        )
        if any(map(self._pool.has_room, needs.values())):
            return 0.0
        unread = self._unread()
        when = min(
            self._pool.leaving(self._waiting, *one, unread)[1] for one in needs.items()
        )
        return max(0.0, when - self._clock())

    def _unread(self) -> dict[str, int]:
        """How much is still to be read of the texts that hold a slot and wait for their
        first verdict; those that gave way before are left alone."""
        found = {}
        for session_id in self._waiting:
            slot, text = self._pool.held(session_id), self._texts[session_id]
            if slot is not None and slot.only_read_ahead and not text.gave_way:
                found[session_id] = Turn(text.rounds[0], slot).rest
        return found

    def add(self, round_: Round) -> None:
        """Let a round wait for the next step. One of a later epoch makes those of
        earlier epochs stale."""
        text = self._texts.setdefault(round_.session_id, TextState())
        text.party = round_.party
        self._about[round_.user] = self._clock()
        text.epoch = max(text.epoch, round_.key[:2])
        if round_.verify is not None:
            if not text.is_stale(round_):
                text.failed = None
            if not text.rounds and text.answered is not None:
                text.pause = self._clock() - text.answered
            text.rounds.append(round_)
            self._waiting.setdefault(round_.session_id, round_.party)
        self._drop_stale(text)
        if text.rounds:
            # What a block reads needs not be read ahead, and the cache of a session
            # never goes back behind its own block.
            self._ahead.pop(round_.session_id, None)
        elif round_.verify is None:
            self._ahead[round_.session_id] = round_

    def release(self, session_id: str) -> None:
        """Drop the rounds of a session that ended, and free its slot."""
        self._ahead.pop(session_id, None)
        text = self._texts.pop(session_id, TextState())
        for round_ in list(text.rounds):
            self._finish(text, round_, SessionLostError("the session has ended"))
        self._pool.release(session_id)

    def close(self, error: DecodingError) -> None:
        """Answer everything that waits with an error; nothing is read any more."""
        self._ahead.clear()
        for text in self._texts.values():
            for round_ in list(text.rounds):
                self._finish(text, round_, error)
        if self._second is not None:
            self._second.shutdown()

    @property
    def may_rest(self) -> bool:
        """Whether the models could give their memory back."""
        return self._models.may_rest

    def rest(self) -> None:
        """Give the memory of the models back; what their slots hold is read anew when
        somebody asks again."""
        for session_id in self._pool.held_by_all():
            self._evict(session_id, "rest")
        self._models.rest()
        self.asleep = True

    def _wake(self) -> None:
        """Have the models in memory again; where that cannot be, say so to all that
        wait."""
        try:
            self._opened = self._models.opened()
        except Exception as error:  # noqa: BLE001 - the thread must go on
            self._ahead.clear()
            for text in self._texts.values():
                for round_ in list(text.rounds):
                    text.failed = text.rounds[0]
                    self._finish(text, round_, _known(error))
            return
        self.asleep = False
        self._pool = SlotPool(self._models, self._opened)

    def step(self) -> None:
        """Read what is most urgent, and answer the blocks that were read whole."""
        if self.asleep and (self._waiting or self._ahead):
            self._wake()
        if self.asleep:
            return
        if self._models.kv_tokens is not None:
            self._make_room()
        self._lend_slots()
        batch = self._schedule()
        if batch:
            outcomes = self._run(batch)
            self._postprocess(batch, outcomes)

    def _make_room(self) -> None:
        """Have room for the next block of each text that holds a slot: texts without a
        block leave for it, and where there are none the text itself, which then waits
        for a slot again."""
        for session_id in list(self._waiting):
            slot = self._pool.held(session_id)
            if slot is None:
                continue
            need = len(self._texts[session_id].rounds[0].token_ids)
            leaving = None
            while leaving != session_id and not self._pool.grow(slot, need):
                leaving = self._pool.idle(self._waiting) or session_id
                self._evict(leaving, "budget")

    def _evict(self, session_id: str, why: str = "") -> None:
        """Take the slot from a text that has not ended: where others are free, for its
        tokens."""
        slot, counts = self._pool.held(session_id), self._models.counts
        if slot is not None and len(slot.generalist):
            self._texts[session_id].lost = len(slot.generalist)
            counts.evictions[why or ("budget" if self._pool.has_free else "turn")] += 1
        self._pool.release(session_id)

    def _lend(self, session_id: str, party: Party, need: int) -> Slot | None:
        """A slot for a text of so many tokens; None: there is none."""
        slot, text = self._pool.take(session_id, party, need), self._texts[session_id]
        if slot is not None:
            self._models.counts.reread += min(text.lost, need)
            text.lost = 0
        return slot

    def _lend_slots(self) -> None:
        """Give slots to the sessions that wait for one, those first whose users have
        the fewest, and of these the first that came first, while there are free ones or
        holders that may leave."""
        now = self._clock()
        line = [one for one in self._waiting if self._pool.held(one) is None]
        if len({self._waiting[one][0] for one in line}) > 1:
            line.sort(key=lambda one: self._pool.count(self._waiting[one][0]))
        in_vain: dict[Party, int] = {}
        unread = self._unread() if line else {}
        for session_id in line:
            party = self._waiting[session_id]
            need = len(self._texts[session_id].rounds[0].token_ids)
            # Nor is there one for longer texts of those who came later.
            if need >= in_vain.get(party, need + 1):
                continue
            while self._lend(session_id, party, need) is None:
                leaving, when = self._pool.leaving(self._waiting, party, need, unread)
                if when > now:
                    in_vain[party] = need
                    break
                self._evict(leaving)
                if unread.pop(leaving, None) is not None:
                    self._texts[leaving].gave_way = True
                if leaving in self._waiting:  # it waits again, behind the others
                    self._waiting[leaving] = self._waiting.pop(leaving)

    def _schedule(self) -> list[Turn]:
        """The blocks that are ready, and a chunk of a prompt beside them where its turn
        has come; where no block is ready, a chunk of a prompt alone."""
        blocks: list[Turn] = []
        prompts: list[Turn] = []
        alone = len(self._users_about()) < 2
        for session_id in self._waiting:
            slot = self._pool.held(session_id)
            if slot is None:
                continue
            turn = Turn(self._texts[session_id].rounds[0], slot)
            turn.size = turn.rest
            unread = turn.size - turn.round.rows
            is_long = turn.size > LONGEST_BLOCK or (
                not alone and unread > self._pace.tokens
            )
            (prompts if is_long and self._models.in_pieces else blocks).append(turn)
        ready = self._ready(blocks, alone)
        if not ready or (not alone and self._prompt_is_due(prompts, ready[0])):
            # A block that waits for its prompt goes before one that has not come yet.
            prompt = self._of_prompts(prompts) or self._read_ahead()
            if prompt is None:
                return []
            chunk = self._chunk(prompt)
            if prompt.round.verify is None or chunk < prompt.size:
                prompt.cut(chunk)
            return [prompt]
        self._passed_over += 1
        if alone or self._passed_over >= PASSED_OVER:
            prompt = self._of_prompts(prompts)
            if prompt is not None:
                prompt.cut(self._beside(alone=alone))
                ready.append(prompt)
        return ready

    def _prompt_is_due(self, prompts: Sequence[Turn], block: Turn) -> bool:
        """Whether a prompt that a block waits for goes before a block that is ready:
        where its user has had less time, once between two steps with blocks."""
        users = [turn.round.user for turn in prompts]
        first = self._time.order([block.round.user, *users])[0]
        return self._passed_over > 0 and first != block.round.user

    def _ready(self, blocks: Sequence[Turn], alone: bool) -> list[Turn]:
        """The blocks of the next step: in the order in which they came, as many as give
        no more than `ROWS` rows; where several users are about, in the order of their
        users' time, one of each and then one more of each, as many as take about the
        time of one."""
        if not alone:
            by_user: dict[str, list[Turn]] = {}
            for turn in blocks:
                by_user.setdefault(turn.round.user, []).append(turn)
            users = self._time.order(by_user)
            longest = max(map(len, by_user.values()), default=0)
            blocks = [
                by_user[user][n]
                for n in range(longest)
                for user in users
                if n < len(by_user[user])
            ]
        ready: list[Turn] = []
        rows = size = 0
        for turn in blocks:
            rows += turn.round.rows
            size += turn.size
            crowded = rows > ROWS or (not alone and size > self._pace.tokens)
            if ready and crowded:
                if not alone:
                    break
                rows -= turn.round.rows
                continue
            ready.append(turn)
        return ready

    def _of_prompts(self, prompts: Sequence[Turn]) -> Turn | None:
        """Of which prompt a chunk is next, if of any: of the user who has had the least
        time, and there of the one with the shortest rest or the oldest."""
        if not prompts:
            return None
        user = self._time.order(turn.round.user for turn in prompts)[0]
        theirs = [turn for turn in prompts if turn.round.user == user]
        self._passed_over = 0
        self._prompts_read += 1
        if self._prompts_read % SHORTEST_FIRST:
            return min(theirs, key=lambda turn: turn.size)
        return theirs[0]

    def _read_ahead(self) -> Turn | None:
        """The text that is read ahead next, in a slot; None: there is none, or no slot
        for it."""
        texts: list[Turn] = []
        in_vain: set[Party] = set()
        for session_id, round_ in list(self._ahead.items()):
            party = round_.party
            slot = self._pool.held(session_id)
            if slot is None and party not in in_vain:
                need = len(round_.token_ids)
                leaving = self._pool.spare(self._waiting, party, need)
                if leaving is not None:
                    if leaving:
                        self._evict(leaving)
                    slot = self._lend(session_id, party, need)
            if slot is None:
                in_vain.add(party)
                continue
            turn = Turn(round_, slot)
            turn.size = turn.rest
            if turn.size:
                texts.append(turn)
            else:
                del self._ahead[session_id]
        return self._of_prompts(texts)

    def _chunk(self, turn: Turn) -> int:
        """How many tokens a step reads of a prompt while no block is ready."""
        if not self._models.in_pieces:
            return turn.size
        now = self._clock()
        for session_id, text in self._texts.items():
            about = text.answered is not None and now - text.answered < ABOUT_SECONDS
            if about and session_id != turn.round.session_id:
                return self._beside(alone=len(self._users_about()) < 2)
        if self._users_about() - {turn.round.user}:
            return self._beside(alone=False)
        return AHEAD if turn.round.verify is None else CHUNK

    def _beside(self, *, alone: bool) -> int:
        """How many tokens a step reads of a prompt while others write: as the pace has
        it, or, where all are of one user, about as many as take a whole quiet round.
        Fewer cost more each."""
        return 2 * self._pace.tokens if alone else self._pace.tokens

    def _users_about(self) -> set[str]:
        """The users who sent something a short while ago, or wait."""
        now = self._clock()
        for user, when in list(self._about.items()):
            if now - when > ABOUT_SECONDS:
                del self._about[user]
        return {*self._about, *(user for user, _ in self._waiting.values())}

    def _run(self, batch: Sequence[Turn]) -> list[Logits | DecodingError]:
        """Logits for each turn, or its error. After a fault the slots are cleared and
        each turn is read alone, so that one fault has one victim."""
        with_base = [turn for turn in batch if turn.round.uses_base]
        started = self._stopwatch()
        try:
            generalist, base = self._evaluate(batch, with_base)
        except CloudBusyError as error:
            # A server of the engine's is away. It is no round's fault, and whatever
            # was read is not lost.
            return [error for _ in batch]
        except Exception as error:  # noqa: BLE001 - the thread must go on
            for turn in batch:
                turn.slot.clear()
            if len(batch) == 1:
                return [_known(error)]
            return [outcome for turn in batch for outcome in self._run([turn])]
        by_turn = dict(zip(with_base, base, strict=True))
        # As it travels in a frame, so that both twins say the same.
        seconds = float(np.float32(self._stopwatch() - started))
        for turn in batch:
            turn.seconds = seconds
        return [
            (logits, by_turn.get(turn))
            for turn, logits in zip(batch, generalist, strict=True)
        ]

    def _evaluate(
        self, batch: Sequence[Turn], with_base: Sequence[Turn]
    ) -> tuple[Sequence[Rows], Sequence[Rows]]:
        """Rows of the generalist for each turn of the batch, and of the base for those
        that use it; both models read at once where they have cores enough."""
        opened, counts = self._opened, self._models.counts
        both = [(turn, turn.slot.generalist) for turn in batch]
        generalist = partial(read_turns, opened.generalist, counts.generalist, both)
        if not with_base:
            return generalist(), []
        assert opened.base is not None
        theirs = [(turn, turn.slot.base) for turn in with_base]
        base = partial(read_turns, opened.base, counts.base, theirs)
        if self._second is None:
            return generalist(), base()
        aside = self._second.submit(base)
        try:
            return generalist(), aside.result()
        finally:
            wait([aside])  # a cache that is being read cannot be cleared

    def _postprocess(
        self, batch: Sequence[Turn], outcomes: Sequence[Logits | DecodingError]
    ) -> None:
        """Answer what was read to its end, and put what was not behind the others."""
        now = self._clock()
        self._note_time(batch)
        for turn, outcome in zip(batch, outcomes, strict=True):
            turn.slot.used = now
            round_, text = turn.round, self._texts[turn.round.session_id]
            failed = isinstance(outcome, DecodingError)
            if round_.verify is None:
                if failed or not turn.rest:
                    self._ahead.pop(round_.session_id, None)
                continue
            # Others have their turn first.
            self._waiting[round_.session_id] = self._waiting.pop(round_.session_id)
            if turn.chunk is not None and not failed:
                continue
            result: Result
            try:
                if isinstance(outcome, DecodingError):
                    raise outcome
                verdict = round_.verify(*outcome)
                result = replace(verdict, seconds=turn.seconds)
                check_verdict(result)
            except Exception as error:  # noqa: BLE001 - the thread must go on
                result = _known(error)
                text.failed = round_
            else:
                if result.accepted < round_.whole:
                    text.epoch = round_.key[0], round_.key[1] + 1
            self._finish(text, round_, result)
            self._drop_stale(text)
            text.answered = now
            patience = max(PATIENCE_SECONDS, 2 * text.pause)
            turn.slot.kept_until = text.answered + min(
                patience, LONGEST_PATIENCE_SECONDS
            )

    def _note_time(self, batch: Sequence[Turn]) -> None:
        """Charge the users for the step, each for their part of its tokens, and learn
        from it how fast the models are."""
        seconds = batch[0].seconds
        tokens = sum(turn.size for turn in batch) or 1
        for turn in batch:
            self._time.charge(turn.round.user, seconds * turn.size / tokens)
        if len(batch) == 1 and seconds:
            if batch[0].chunk is not None:
                self._pace.note_prompt(batch[0].size, seconds)
            elif batch[0].size <= QUIET:
                self._pace.note_quiet(seconds)

    def _drop_stale(self, text: TextState) -> None:
        for round_ in list(text.rounds):
            if text.is_stale(round_):
                error = StaleBlockError("the block follows a refusal")
                self._finish(text, round_, error)

    def _finish(self, text: TextState, round_: Round, result: Result) -> None:
        text.rounds.remove(round_)
        if not text.rounds:
            self._waiting.pop(round_.session_id)
        round_.done(result)


class EngineThread:
    """Loads the models, then verifies rounds until it is closed."""

    def __init__(self, load: Callable[[], Models]) -> None:
        self._load = load
        self._commands: queue.SimpleQueue[Round | str | None] = queue.SimpleQueue()
        """Rounds, ids of sessions that ended, and None to wake it at the end."""
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._closing = False
        self.models: Models | None = None
        """None while they are being loaded."""
        self.failure: str | None = None
        """Why the models could not be loaded; the server then ends."""
        self._tell_failure: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to load the models."""
        self._thread.start()

    def when_it_fails(self, tell: Callable[[], None]) -> None:
        """Have `tell` called on the event loop, from which this is called, when there
        is a `failure`."""
        loop = asyncio.get_running_loop()
        self._tell_failure = partial(_call_in, loop, tell)
        if self.failure is not None:
            tell()

    def submit(self, round_: Round) -> asyncio.Future[Verdict]:
        """Hand over a round at once; the verdict on its block, or what the engine
        raised. To be called on the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()

        def settle(result: Result) -> None:
            if future.cancelled():
                return
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

        def done(result: Result) -> None:
            """Called in the engine thread."""
            _call_in(loop, partial(settle, result))

        round_.done = done
        self._commands.put(round_)
        return future

    def warm(self, round_: Round) -> None:
        """Read a text before its first block comes; nobody waits for it."""
        self._commands.put(round_)

    def release(self, session_id: str) -> None:
        """Free what a session that ended holds."""
        self._commands.put(session_id)

    def close(self, seconds: float) -> bool:
        """End the thread; False when it is still in a call after `seconds`."""
        self._closing = True
        self._commands.put(None)
        if self.models is not None:
            for model in self.models.each():
                model.interrupt()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """The thread, from loading the models to closing them."""
        try:
            models = self._load()
        except DecodingError as error:
            self._fail(str(error))
            return
        except Exception as error:  # noqa: BLE001 - logged by type; the server ends
            log_fault("loading the models")
            self._fail(f"the models could not be loaded ({type(error).__name__})")
            return
        self.models = models
        scheduler = Scheduler(models)
        try:
            while self._take_commands(scheduler, models.unload_seconds):
                scheduler.step()
        except Exception:  # noqa: BLE001 - logged by type; the server ends
            # Not even clearing the caches worked: the server must start anew.
            log_fault("the engine thread")
            self._fail("the engine failed and cannot go on")
        while not self._commands.empty():
            # Nobody will verify these rounds any more, but each is to be answered.
            command = self._commands.get()
            if isinstance(command, Round):
                scheduler.add(command)
        scheduler.close(StoppingError("the server is stopping"))
        for model in models.each():
            model.close()

    def _fail(self, why: str) -> None:
        self.failure = why
        self._tell_failure()

    def _take_commands(
        self, scheduler: Scheduler, unload_seconds: float | None
    ) -> bool:
        """Take every command that waits; while a step would do nothing, wait for one,
        or until a step would do something; False at the end. The models rest when no
        command has come for `unload_seconds`."""
        while not self._closing:
            pause = scheduler.pause()
            rests = pause is None
            if pause is None and unload_seconds is not None:
                pause = max(unload_seconds, _REST_SECONDS)
            try:
                command = self._commands.get(block=pause != 0.0, timeout=pause)
            except queue.Empty:
                if rests and scheduler.may_rest:
                    scheduler.rest()
                return True
            if isinstance(command, Round):
                scheduler.add(command)
            elif command is not None:
                scheduler.release(command)
        return False


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call something on an event loop from another thread, while the loop is there."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _known(error: Exception) -> DecodingError:
    """An error fit to be told; what was not expected is logged by type and place."""
    if isinstance(error, DecodingError) and not isinstance(error, MessageError):
        return error
    log_fault("a round")
    return EngineError("a model failed to compute")
