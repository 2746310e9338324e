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
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial

import numpy as np

from cloud_api import logs
from cloud_api.engine.models import Models
from cloud_api.engine.slots import (
    FairTime,
    Party,
    PromptPace,
    Result,
    Round,
    Slot,
    SlotPool,
    TextState,
    Turn,
    needs_of,
    read_turns,
)
from cloud_api.errors import StaleBlockError, StoppingError
from decoding_core.errors import (
    CloudBusyError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import DRAFT_LIMIT, SETTLED_LIMIT, Verdict, check_verdict
from decoding_core.protocols import Rows

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
            logs.fault("loading the models")
            self._fail(f"the models could not be loaded ({type(error).__name__})")
            return
        self.models = models
        scheduler = Scheduler(models)
        try:
            while self._take_commands(scheduler, models.unload_seconds):
                scheduler.step()
        except Exception:  # noqa: BLE001 - logged by type; the server ends
            # Not even clearing the caches worked: the server must start anew.
            logs.fault("the engine thread")
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
    logs.fault("a round")
    return EngineError("a model failed to compute")
