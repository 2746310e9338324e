"""What waits for the engine, and how the engine is shared: what the models hold of each
text, who holds a slot, which user is next, and how much of a prompt is read in one
step.

A `Slot` is a cache in each model and holds one text. There may be more texts than
slots, and to read a text anew costs as much as many blocks of it. So a slot is *lent*:
whoever holds one keeps it, while others wait, until it has read several times what its
text would cost to be read anew, or until its device has been silent for a while.

Between users slots are shared: who has fewer than an equal share of them gets one at
once from who has more, and who has no more than that is left alone by who has. The same
holds between the devices of one user, for what that user has. Time is passed in.

Where the tokens that all slots hold together are bounded, a holder has *room* for the
tokens of its text and some more, and the shares are of that room.

`FairTime` is start-time fair queueing (Goyal, Vin and Cheng 1996): whoever has had the
least computing is next, and nobody saves up time while there is nothing to compute.
`PromptPace` finds by measurement how many tokens of a prompt take no longer than a part
of the round that one text has when nobody else writes.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cloud_api.engine.models import Models, Opened, ReadingCounts
from decoding_core.messages import Verdict
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
