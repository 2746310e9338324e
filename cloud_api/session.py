"""The texts that the server holds, and what becomes of their blocks.

A `Session` is one text, as a pure state machine: no await, no clock, no engine.
`Sessions` remembers all texts. `Rounds` hands their blocks to the engine thread, and
counts the answers; it lives on the event loop.

The device holds the truth of a text. A block names itself by (epoch, round), in an
order that only grows; the epoch grows at each refusal. For every block there is one
answer:

- the same key again: the stored answer, or the one that is still being made;
- a key older than the newest, of an older epoch, or of the epoch of a refusal that
  came before it: `resync`, and nothing changes. The device no longer waits for it;
- a block that stands behind one that failed: `resync`, until that has come again,
  under its name or a later one. What stands behind it then has later names;
- a block that does not follow the text held here: `resync` with the tokens held. The
  device opens a new session with the text;
- more blocks at once than the window allows: `busy`. Blocks that became void while they
  waited do not count: the engine drops them uncomputed;
- anything else: the text becomes what the block says, and the block is verified.

The text held here may end in drafted tokens that were refused; the next block says
where it goes on, and what stands after that is forgotten. Another text in the place of
this one is a new `Session`, with the next number.
"""

from __future__ import annotations

import asyncio
import math
import time
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cloud_api.auth import OWNER, Caller
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import Round
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import LoadingError, QuotaError, StaleBlockError, StoppingError
from cloud_api.settings import ServerSettings, UserLimits
from decoding_core.errors import (
    CloudBusyError,
    ContextFullError,
    DecodingError,
    MessageError,
    SessionLostError,
    StoppedError,
)
from decoding_core.messages import (
    WINDOW,
    DraftBlock,
    Kind,
    OpenSession,
    Problem,
    Signal,
    Verdict,
    digest,
)
from decoding_core.verifier import VerifierRole, verify

GRACE_SECONDS = 10.0
"""How long after its moment a booking holds."""
_HORIZON_SECONDS = 60.0
"""No moment is booked later than that; who would have to wait for longer is told this,
and nothing is booked."""


class Bookings:
    """The moments at which devices were told to come back, the earliest first."""

    def __init__(self) -> None:
        self._moments: dict[str, list[float]] = {}

    def book(self, device: str, wait: float, now: float) -> int:
        """Book a moment for a device; how many seconds it has to wait."""
        seconds = max(1, math.ceil(wait))
        if seconds > _HORIZON_SECONDS:
            return math.ceil(_HORIZON_SECONDS)
        insort(self._moments.setdefault(device, []), now + seconds)
        return seconds

    def redeem(self, device: str, now: float) -> bool:
        """Whether a booked moment of a device has come, which is then used up."""
        moments = self._moments.get(device)
        while moments and moments[0] < now - GRACE_SECONDS:
            del moments[0]
        if moments and moments[0] <= now:
            del moments[0]
            return True
        if not moments:
            self._moments.pop(device, None)
        return False


class Openings:
    """How often each user begins a text: so many at once, and so many per second in the
    long run. A refusal books the next moment there is and counts as an opening."""

    def __init__(self, burst: int, per_second: float) -> None:
        self._burst = float(burst)
        self._rate = per_second
        self._left: dict[str, tuple[float, float]] = {}
        """By user: openings left, and when that was so; below 0 where moments are
        booked."""
        self._bookings = Bookings()

    def admit(self, caller: Caller, now: float) -> None:
        """Count one opening; raises QuotaError, with the time after which the caller is
        let in, where there were too many."""
        if self._bookings.redeem(caller.device, now):
            return
        left, since = self._left.get(caller.user, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        wait = (1.0 - left) / self._rate
        if wait <= _HORIZON_SECONDS:
            left -= 1.0
        self._left[caller.user] = left, now
        if wait > 0.0:
            raise QuotaError(
                "this user begins texts faster than the server reads them; come back "
                "later",
                self._bookings.book(caller.device, wait, now),
            )


UNANSWERED = 2 * WINDOW
"""Blocks that may wait at once with those that are void: a device that waits for its
verdicts has no more, for each epoch begins with one."""
BUSY_MILLISECONDS = 50
SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of what a histogram of times tells apart."""
_RESULTS = {Kind.RESYNC: "resync", Kind.BUSY: "busy"}

_COME_BACK_SECONDS = 2.0
"""After which a user whose texts are all being verified may begin another."""

Key = tuple[int, int]
Answer = Verdict | Signal
RoundKey = tuple[str, int, int, int]
"""Session, number of the text, epoch and round."""


@dataclass(frozen=True, slots=True)
class Verify:
    """The block is new: verify it with the models at the end of these tokens."""

    token_ids: tuple[int, ...]
    """Prompt, text, settled and drafted."""


@dataclass(frozen=True, slots=True)
class Join:
    """The block is being verified already: wait for that answer."""


Decision = Verify | Join | Verdict | Signal


class Session:
    """One text."""

    def __init__(
        self,
        request: OpenSession,
        role: VerifierRole,
        context_length: int,
        now: float,
        number: int = 0,
        owner: Caller = OWNER,
    ) -> None:
        """Begin the text of `request`, after so many others under the same id."""
        self.owner = owner
        self.role = role
        self.frames = role.frames
        self.number = number
        self.used = now
        """When a device last used the session."""
        self._context_length = context_length
        self._prompt = request.prompt_ids
        self._text = list(request.text_ids)
        self._newest: Key = (0, -1)
        self._refused: Key | None = None
        self._failed: DraftBlock | None = None
        self._waiting: dict[Key, DraftBlock] = {}
        self._answers: OrderedDict[Key, Verdict] = OrderedDict()
        self.answered = False
        """Whether a block of the text was verified."""
        self.kept_bytes = 0
        """Memory of the answers kept for retries."""

    def forget_oldest_answer(self) -> None:
        """Keep one answer less, where any is kept: a retry of that block is answered
        `resync`."""
        if self._answers:
            _, verdict = self._answers.popitem(last=False)
            self.kept_bytes -= memory_of(verdict)

    @property
    def idle(self) -> bool:
        """Whether no block of the session waits for its verdict."""
        return not self._waiting

    @property
    def newest(self) -> Key:
        """The key of the newest block taken."""
        return self._newest

    @property
    def size(self) -> int:
        """Tokens of prompt and text."""
        return len(self._prompt) + len(self._text)

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Prompt and text."""
        return (*self._prompt, *self._text)

    def receive(self, block: DraftBlock) -> Decision:
        """What to do with a block."""
        key = block.epoch, block.round
        if key in self._answers:
            return self._answers[key]
        if key in self._waiting:
            return Join()
        held = self._text[: block.position]
        follows = len(held) == block.position and digest(held) == block.digest
        failed = self._failed
        again = failed is not None and key == (failed.epoch, failed.round)
        old = key < self._newest and not again
        if old or self._is_void(block) or not follows:
            return self.resync(key)
        wanted = [
            one
            for one in self._waiting.values()
            if one.epoch == block.epoch and not self._is_void(one, waits=True)
        ]
        if len(wanted) >= WINDOW or len(self._waiting) >= UNANSWERED:
            # What stands behind it may follow the text held here by chance, where the
            # device drafted again what was refused before; it would overtake it.
            self._failed = block
            return Signal(Kind.BUSY, *key, BUSY_MILLISECONDS)
        added = [*block.settled, *block.drafted]
        size = len(self._prompt) + block.position + len(added)
        if size > self._context_length:
            return Signal(Kind.ERROR, *key, Problem.CONTEXT_FULL)
        self._text[block.position :] = added
        self._newest, self._failed = max(self._newest, key), None
        self._waiting[key] = block
        return Verify(self.token_ids)

    def finish(self, block: DraftBlock, answer: Answer) -> None:
        """The answer to a block that was to be verified. Verdicts are kept for retries;
        after a signal the same block may be sent again."""
        key = block.epoch, block.round
        self._waiting.pop(key, None)
        if isinstance(answer, Signal):
            again = answer.kind in (Kind.ERROR, Kind.BUSY)
            if again and key[0] == self._newest[0]:
                self._failed = block
            return
        self._failed = None
        self.answered = True
        self._answers[key] = answer
        self.kept_bytes += memory_of(answer)
        while len(self._answers) > WINDOW:
            self.forget_oldest_answer()
        if self.role.decides and answer.accepted < len(block.drafted):
            self._refused = key

    def resync(self, key: Key) -> Signal:
        """The answer to a block that cannot be verified: how many tokens are held."""
        return Signal(Kind.RESYNC, *key, len(self._text))

    def _is_void(self, block: DraftBlock, *, waits: bool = False) -> bool:
        """Whether a block follows one of its epoch that was refused, or stands behind
        one that failed and has not come again, under its name or a later one. A block
        that waits stands behind one that the engine failed on, not behind one for which
        there was no room: the engine never heard of that."""
        key, refused, failed = (block.epoch, block.round), self._refused, self._failed
        if refused is not None and key > refused and key[0] == refused[0]:
            return True
        if failed is None or (waits and (failed.epoch, failed.round) > self._newest):
            return False
        return block.epoch == failed.epoch and block.position > failed.position


class Sessions:
    """All sessions by their ids: at most `limit`, each until it was idle for too long,
    and of each user at most what `UserLimits` says. Time is passed in."""

    def __init__(
        self, limit: int, idle_seconds: float, of_user: UserLimits | None = None
    ) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._of_user = of_user or UserLimits()
        self._sessions: dict[str, Session] = {}
        self._bookings = Bookings()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: str, now: float, caller: Caller) -> Session:
        """The caller's session, marked as used now.

        Raises:
            SessionLostError: it never was, has ended, was forgotten, or is another
                device's.
        """
        session = self._sessions.get(session_id)
        is_theirs = session is not None and session.owner.device == caller.device
        if session is None or not is_theirs or self._is_over(session, now):
            raise SessionLostError("there is no such session; open a new one")
        session.used = now
        return session

    def add(self, session_id: str, session: Session) -> list[str]:
        """Remember a session; the ids of those forgotten to make room: of the same
        user's where that has too many, or too long ones of which no block was answered
        yet, and else of whoever has the most.

        Raises:
            QuotaError: all of the user's have a block waiting; the device may come back
                at the time that the error names, and the longest unused of them then
                makes room.
            CloudBusyError: every session remembered has a block waiting.
        """
        user, device, now = session.owner.user, session.owner.device, session.used
        own = {i: one for i, one in self._sessions.items() if one.owner.user == user}
        forgotten: list[str] = []
        unread = {i: one for i, one in own.items() if not one.answered}
        tokens = sum(one.size for one in (*unread.values(), session))
        may_break_off = False
        while len(own) >= self._of_user.sessions or (
            tokens > self._of_user.prompt_tokens and unread
        ):
            among = own if len(own) >= self._of_user.sessions else unread
            able = {i: one for i, one in among.items() if one.idle or may_break_off}
            if not able and self._bookings.redeem(device, now):
                able, may_break_off = among, True
            if not able:
                wait = self._bookings.book(device, _COME_BACK_SECONDS, now)
                raise QuotaError(
                    "this user has as many texts at once as one may have", wait
                )
            longest = min(able, key=lambda i: able[i].used)
            tokens -= own.pop(longest).size * (longest in unread)
            unread.pop(longest, None)
            forgotten.append(longest)
        if len(self._sessions) - len(forgotten) >= self._limit:
            counts = Counter(one.owner.user for one in self._sessions.values())
            idle = [i for i, one in self._sessions.items() if one.idle]
            if not idle:
                raise CloudBusyError("all sessions of this server are in use")
            most = max(idle, key=lambda i: counts[self._sessions[i].owner.user])
            greedy = self._sessions[most].owner.user
            theirs = [i for i in idle if self._sessions[i].owner.user == greedy]
            forgotten.append(min(theirs, key=lambda i: self._sessions[i].used))
        for one in forgotten:
            del self._sessions[one]
        self._sessions[session_id] = session
        return forgotten

    def of_users(self) -> Counter[str]:
        """How many sessions each user has."""
        return Counter(one.owner.user for one in self._sessions.values())

    def bound_answers(self, limit: int) -> None:
        """Drop answers kept for retries until all together take no more than `limit`
        bytes: of the user who has the most, those of the longest unused session."""
        if sum(one.kept_bytes for one in self._sessions.values()) <= limit:
            return
        sizes = {i: one.kept_bytes for i, one in self._sessions.items()}
        while sum(sizes.values()) > limit:
            of_user = Counter[str]()
            for i, size in sizes.items():
                of_user[self._sessions[i].owner.user] += size
            ((greedy, _),) = of_user.most_common(1)
            theirs = [
                i for i, one in self._sessions.items() if one.owner.user == greedy
            ]
            longest = min(
                (i for i in theirs if sizes[i]), key=lambda i: self._sessions[i].used
            )
            self._sessions[longest].forget_oldest_answer()
            sizes[longest] = self._sessions[longest].kept_bytes

    def replace(self, session_id: str, session: Session) -> None:
        """Put another text in the place of one that is remembered."""
        self._sessions[session_id] = session

    def has_replaced(self, session_id: str, session: Session) -> bool:
        """Whether another text has taken the place of this one."""
        return self._sessions.get(session_id, session) is not session

    def of_device(self, device: str) -> list[str]:
        """The ids of a device's sessions."""
        return [i for i, one in self._sessions.items() if one.owner.device == device]

    def remove(self, session_id: str) -> None:
        """Forget a session, if it is there."""
        self._sessions.pop(session_id, None)

    def expire(self, now: float) -> list[str]:
        """Forget what was idle for too long; its ids."""
        over = [i for i, one in self._sessions.items() if self._is_over(one, now)]
        for session_id in over:
            del self._sessions[session_id]
        return over

    def _is_over(self, session: Session, now: float) -> bool:
        return session.idle and now - session.used > self._idle_seconds


class Histogram:
    """How many values lay at or below each bound, and their sum."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self._counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def cumulative(self) -> list[tuple[str, int]]:
        """Each bound as Prometheus writes it, with how many values it holds below."""
        total, found = 0, []
        names = [*map(str, self.bounds), "+Inf"]
        for name, count in zip(names, self._counts, strict=True):
            total += count
            found.append((name, total))
        return found


@dataclass(slots=True)
class RoundCounts:
    """The blocks that were answered."""

    results: Counter[str] = field(default_factory=Counter)
    """By what came of them: `kept` whole, `refused` in part, `told` where the device
    decides, `resync`, `busy`, `error`."""
    drafted: int = 0
    """Tokens of the blocks that this server decided on."""
    accepted: int = 0
    """Those of them that stay."""
    verify_seconds: Histogram = field(default_factory=Histogram)
    """What the models took for the step of a block."""
    queue_seconds: Histogram = field(default_factory=Histogram)
    """How long a block waited besides."""

    def add(
        self, drafted: int, answer: Verdict | Signal, seconds: float, *, decides: bool
    ) -> None:
        """Count the answer to a block that came after so many seconds."""
        if isinstance(answer, Signal):
            self.results[_RESULTS.get(answer.kind, "error")] += 1
            return
        self.verify_seconds.add(answer.seconds)
        self.queue_seconds.add(max(0.0, seconds - answer.seconds))
        if not decides:
            self.results["told"] += 1
            return
        self.drafted += drafted
        self.accepted += answer.accepted
        self.results["kept" if answer.accepted == drafted else "refused"] += 1

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted; None before anything was decided."""
        return self.accepted / self.drafted if self.drafted else None


class Rounds:
    """The blocks of all texts, while they are verified."""

    def __init__(
        self,
        engine: EngineThread,
        sessions: Sessions,
        settings: ServerSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = RoundCounts()
        """The blocks that were answered."""
        self.running: dict[RoundKey, asyncio.Task[Answer]] = {}
        """The answers that are being made."""
        self.stopping = asyncio.Event()
        """Set when no more blocks are taken."""
        self._engine = engine
        self._sessions = sessions
        self._kept_bytes = settings.kept_answer_bytes
        self._clock = clock

    @property
    def models(self) -> Models:
        """The models.

        Raises:
            LoadingError: they are not loaded yet.
            StoppingError: the server is about to end.
        """
        if self.stopping.is_set():
            raise StoppingError("the server is stopping")
        if self._engine.models is None:
            raise LoadingError("the models are being loaded")
        return self._engine.models

    async def verify(
        self, session_id: str, block: DraftBlock, caller: Caller
    ) -> Answer:
        """The answer to a block.

        Raises:
            SessionLostError: there is no such session.
            MessageError: the block cannot belong to this session.
        """
        began = self._clock()
        session = self._sessions.get(session_id, began, caller)
        answer = await self._verified(session_id, session, block)
        self.counts.add(
            len(block.drafted),
            answer,
            self._clock() - began,
            decides=session.role.decides,
        )
        return answer

    async def _verified(
        self, session_id: str, session: Session, block: DraftBlock
    ) -> Answer:
        """The answer to a block of a session: one that is kept, or the engine's."""
        if self.stopping.is_set():
            return _error(block, Problem.STOPPING)
        check_ids((*block.settled, *block.drafted), self.models)
        if len(block.drafted) > session.role.draft_limit:
            raise MessageError("the draft is longer than the session allows")
        decision = session.receive(block)
        if not isinstance(decision, Verify | Join):
            return decision
        key = session_id, session.number, block.epoch, block.round
        if isinstance(decision, Verify):
            # The engine has it at once, and drops it if the one before is refused. The
            # answer is waited for in a task, which goes on when the device hangs up.
            round_ = round_of(session_id, session, block, decision.token_ids)
            verdict = self._engine.submit(round_)
            work = self._answer(session_id, session, block, verdict)
            self.running[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda _: self.running.pop(key, None))
        return await asyncio.shield(self.running[key])

    async def _answer(
        self,
        session_id: str,
        session: Session,
        block: DraftBlock,
        verdict: asyncio.Future[Verdict],
    ) -> Answer:
        """The answer to a new block, once the engine has verified or dropped it."""
        key = block.epoch, block.round
        answer: Answer
        try:
            answer = await verdict
        except ContextFullError:
            answer = _error(block, Problem.CONTEXT_FULL)
        except SessionLostError:
            answer = Signal(Kind.RESYNC, *key, 0)
        except CloudBusyError as error:
            answer = Signal(Kind.BUSY, *key, round(1000 * error.retry_after))
        except StaleBlockError:
            answer = session.resync(key)
        except (StoppedError, StoppingError):
            answer = _error(block, Problem.STOPPING)
        except DecodingError:
            answer = _error(block, Problem.ENGINE)
        session.finish(block, answer)
        session.used = self._clock()
        self._sessions.bound_answers(self._kept_bytes)
        if self._sessions.has_replaced(session_id, session):
            return session.resync(key)
        return answer


def check_ids(token_ids: Sequence[int], models: Models) -> None:
    """Raise MessageError when an id is not in the vocabulary."""
    size = models.generalist.vocabulary_size  # the base's too
    if token_ids and not 0 <= min(token_ids) <= max(token_ids) < size:
        raise MessageError(f"a token id outside the vocabulary of {size}")


def round_of(
    session_id: str, session: Session, block: DraftBlock, token_ids: tuple[int, ...]
) -> Round:
    """What the engine does for a block at the end of `token_ids`. Its last drafted
    token is not read where nothing is asked of what follows it."""
    role, count = session.role, len(block.drafted)
    rows = role.rows(count)
    return Round(
        session_id,
        token_ids[: len(token_ids) - (count + 1 - rows)],
        rows,
        role.uses_base,
        partial(verify, block, role=role),
        (session.number, block.epoch, block.round),
        position=len(token_ids) - len(block.settled) - count,
        whole=count if role.decides else 0,
        candidates=role.terms.candidates,
        asked=block.drafted,
        alone=not role.draft_limit,
        party=(session.owner.user, session.owner.device),
    )


def memory_of(verdict: Verdict) -> int:
    """About how many bytes a verdict takes."""
    size = _VERDICT_BYTES
    for row in verdict.rows:
        size += _ROW_BYTES + row.token_ids.nbytes + row.generalist_logprobs.nbytes
        size += 0 if row.base_logprobs is None else row.base_logprobs.nbytes
    return size


_VERDICT_BYTES, _ROW_BYTES = 256, 512
"""What Python's objects take besides the numbers."""


def _error(block: DraftBlock, problem: Problem) -> Signal:
    return Signal(Kind.ERROR, block.epoch, block.round, problem)
