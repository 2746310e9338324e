"""The texts that the server holds: how they begin and end, and what becomes of their
blocks.

A `Session` is one text, as a pure state machine: no await, no clock, no engine.
`Sessions` remembers all texts. The checks say what a text may ask of these models. The
`Service` begins and ends texts, and has their blocks verified.

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
import secrets
import time
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, Literal

from cloud_api.auth import OWNER, Caller
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import Round
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import (
    LoadingError,
    QuotaError,
    StaleBlockError,
    StoppingError,
    log_fault,
)
from cloud_api.settings import ServerSettings, UserLimits
from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import (
    CloudBusyError,
    ContextFullError,
    DecodingError,
    InvalidSettingsError,
    MessageError,
    SessionLostError,
    StoppedError,
    VocabularyMismatchError,
)
from decoding_core.messages import (
    BYTES_VERSION,
    SETTLED_LIMIT,
    DraftBlock,
    FrameFormat,
    Kind,
    OpenSession,
    Problem,
    SessionOpened,
    Signal,
    Verdict,
    digest,
)
from decoding_core.settings import WINDOW
from decoding_core.verifier import (
    VerifierRole,
    bytes_role,
    read_in_bytes,
    role_of,
    verify,
    verify_in_bytes,
)

GRACE_SECONDS = 10.0  # how long after its moment a booking holds
_HORIZON_SECONDS = 60.0
"""No moment is booked later than that; longer waits are answered with this number."""


class Bookings:
    """The moments at which refused devices may come back, the earliest first."""

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
        booked = self._moments.pop(device, [])
        moments = [at for at in booked if at >= now - GRACE_SECONDS]
        is_due = bool(moments) and moments[0] <= now
        if moments[is_due:]:
            self._moments[device] = moments[is_due:]
        return is_due


class Openings:
    """How often each user begins a text: `burst` at once, `per_second` in the long run.
    A refusal books the next moment there is and counts as an opening."""

    def __init__(self, burst: int, per_second: float) -> None:
        self._burst = float(burst)
        self._rate = per_second
        self._left: dict[str, tuple[float, float]] = {}
        """By user: openings left, and at what time; below 0 if moments are booked."""
        self._bookings = Bookings()

    def admit(self, caller: Caller, now: float) -> None:
        """Count one opening; raises QuotaError if there were too many, with the time
        after which the caller is let in."""
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
"""Upper bounds of a histogram of times."""
_RESULTS = {Kind.RESYNC: "resync", Kind.BUSY: "busy"}

_COME_BACK_SECONDS = 2.0
"""After which a user whose texts are all being verified may begin another."""

Key = tuple[int, int]
Answer = Verdict | Signal
RoundKey = tuple[str, int, int, int]  # session, number of the text, epoch and round
StreamEnd = Literal["session lost", "text replaced", "too much"]
"""Why the server ends a stream before the device does."""
_LAST_SECONDS = 0.3  # how long a stop waits for what was broken off


Decision = tuple[int, ...] | Verdict | Signal | None
"""What to do with a block: verify it at the end of these tokens (prompt, then text,
settled and drafted, in bytes if the session speaks them), give this answer, or wait for
the answer that is being made (None)."""


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
        words: ByteVocabulary | None = None,
    ) -> None:
        """Begin the text of `request`, after `number` others under the same id. With
        `words`, the text is bytes, which these tokens write out."""
        self.owner = owner
        self.words = words
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

    @property
    def kept_bytes(self) -> int:
        """The answers kept for retries, as frames."""
        return len(self._answers) * self.frames.down_size

    def forget_oldest_answer(self) -> None:
        """Keep one answer less, if any: a retry of that block is answered `resync`."""
        if self._answers:
            self._answers.popitem(last=False)

    @property
    def idle(self) -> bool:
        """Whether no block of the session waits for its verdict."""
        return not self._waiting

    @property
    def size(self) -> int:
        """Tokens of prompt and text."""
        return len(self._prompt) + len(self._text)

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Prompt and text. Raises VocabularyMismatchError if the text is bytes for
        which the generalist has no tokens."""
        if self.words is not None:
            return (*self._prompt, *self.words.going_on(bytes(self._text)))
        return (*self._prompt, *self._text)

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt alone."""
        return self._prompt

    def receive(self, block: DraftBlock) -> Decision:
        """What to do with a block."""
        key = block.epoch, block.round
        if key in self._answers:
            return self._answers[key]
        if key in self._waiting:
            return None
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
            # If the device drafted again what was refused before, what stands behind
            # it may follow the text held here by chance; it would overtake it.
            self._failed = block
            return Signal(Kind.BUSY, *key, BUSY_MILLISECONDS)
        added = [*block.settled, *block.drafted]
        # How many tokens bytes are is seen when they are read.
        size = len(self._prompt) + block.position + len(added)
        if size > self._context_length and self.words is None:
            return Signal(Kind.ERROR, *key, Problem.CONTEXT_FULL)
        self._text[block.position :] = added
        self._newest, self._failed = max(self._newest, key), None
        self._waiting[key] = block
        return (*self._prompt, *self._text)

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


class Sessions(dict[str, Session]):
    """All sessions by their ids: at most `limit`, each until it was idle for too long,
    and of each user at most what `UserLimits` says. Time is passed in."""

    def __init__(
        self, limit: int, idle_seconds: float, of_user: UserLimits | None = None
    ) -> None:
        super().__init__()
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._of_user = of_user or UserLimits()
        self._bookings = Bookings()

    def find(self, session_id: str, now: float, caller: Caller) -> Session:
        """The caller's session, marked as used now; raises SessionLostError if it never
        was, has ended, was forgotten, or is another device's."""
        session = self.get(session_id)
        is_theirs = session is not None and session.owner.device == caller.device
        if session is None or not is_theirs or self._is_over(session, now):
            raise SessionLostError("there is no such session; open a new one")
        session.used = now
        return session

    def add(self, session_id: str, session: Session) -> list[str]:
        """Remember a session; returns the ids of those forgotten to make room: of the
        same user's if that has too many, or too long ones of which no block was
        answered yet, and else of whoever has the most.

        Raises:
            QuotaError: all of the user's have a block waiting; the device may come back
                at the time that the error names, and the longest unused of them then
                makes room.
            CloudBusyError: every session remembered has a block waiting.
        """
        device, now = session.owner.device, session.used
        left, may_break_off = dict(self), False
        while crowd := self._crowd(left, session):
            able = [i for i in crowd if left[i].idle or may_break_off]
            if not able and self._bookings.redeem(device, now):
                able, may_break_off = crowd, True
            if not able:
                wait = self._bookings.book(device, _COME_BACK_SECONDS, now)
                raise QuotaError(
                    "this user has as many texts at once as one may have", wait
                )
            del left[min(able, key=lambda i: left[i].used)]
        if len(left) >= self._limit:
            counts = Counter(one.owner.user for one in left.values())
            idle = [(-counts[one.owner.user], one.used, i) for i, one in left.items()]
            idle = [found for found in idle if left[found[2]].idle]
            if not idle:
                raise CloudBusyError("all sessions of this server are in use")
            del left[min(idle)[2]]
        forgotten = [i for i in self if i not in left]
        for one in forgotten:
            del self[one]
        self[session_id] = session
        return forgotten

    def _crowd(self, left: dict[str, Session], session: Session) -> list[str]:
        """Those of the user's sessions of which one has to make room, if any."""
        user = session.owner.user
        own = [i for i, one in left.items() if one.owner.user == user]
        if len(own) >= self._of_user.sessions:
            return own
        unread = [i for i in own if not left[i].answered]
        tokens = session.size + sum(left[i].size for i in unread)
        return unread if tokens > self._of_user.prompt_tokens else []

    def bound_answers(self, limit: int) -> None:
        """Drop answers kept for retries until all together take no more than `limit`
        bytes: of the user who has the most, those of the longest unused session."""
        kept = list(self.values())
        while sum(one.kept_bytes for one in kept) > limit:
            of_user = Counter[str]()
            for one in kept:
                of_user[one.owner.user] += one.kept_bytes
            ((greedy, _),) = of_user.most_common(1)
            theirs = (one for one in kept if one.owner.user == greedy)
            having = (one for one in theirs if one.kept_bytes)
            min(having, key=lambda one: one.used).forget_oldest_answer()

    def expire(self, now: float) -> list[str]:
        """Forget what was idle for too long; its ids."""
        over = [i for i, one in self.items() if self._is_over(one, now)]
        for session_id in over:
            del self[session_id]
        return over

    def _is_over(self, session: Session, now: float) -> bool:
        return session.idle and now - session.used > self._idle_seconds


class Histogram:
    """How many values lay at or below each bound, and their sum."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = (*bounds, math.inf)
        self.sum = 0.0
        self._counts = [0] * len(self.bounds)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self._counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def cumulative(self) -> list[tuple[str, int]]:
        """Each bound as Prometheus writes it, with how many values it holds below."""
        names = [*map(str, self.bounds[:-1]), "+Inf"]
        return list(zip(names, accumulate(self._counts), strict=True))


@dataclass(slots=True)
class RoundCounts:
    """The blocks that were answered."""

    results: Counter[str] = field(default_factory=Counter)
    """By what came of them: `kept` whole, `refused` in part, `told` if the device
    decides, `resync`, `busy`, `error`."""
    drafted: int = 0  # tokens of the blocks that this server decided on
    accepted: int = 0  # those of them that stay
    verify_seconds: Histogram = field(default_factory=Histogram)
    """What the models took for the step of a block."""
    queue_seconds: Histogram = field(default_factory=Histogram)
    """How long a block waited besides."""

    def add(
        self, drafted: int, answer: Verdict | Signal, seconds: float, *, decides: bool
    ) -> None:
        """Count the answer to a block after `seconds` in all."""
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


def check_ids(token_ids: Sequence[int], models: Models) -> None:
    """Raise MessageError when an id is not in the vocabulary."""
    size = models.generalist.vocabulary_size  # the base's too
    if token_ids and not 0 <= min(token_ids) <= max(token_ids) < size:
        raise MessageError(f"a token id outside the vocabulary of {size}")


def checked_role(
    request: OpenSession, models: Models, settings: ServerSettings
) -> VerifierRole:
    """The role of a session that nothing speaks against.

    Raises:
        VocabularyMismatchError: the device's tokens are not the server's.
        DecodingError: as `role_of` does.
        InvalidSettingsError: too many candidates, a base that is not here, or answers
            that would be too large.
        MessageError: an id outside the vocabulary.
        ContextFullError: prompt and text leave no room; a text that is begun must leave
            some for a block, one that goes on may be at its end.
    """
    # What else speaks against it says little to a device of another family.
    in_bytes = request.version == BYTES_VERSION
    if in_bytes and models.words is None:
        raise InvalidSettingsError(
            "the tokens of this server's generalist are not known to it: start it with "
            "--generalist-tokenizer and a GGUF file of the generalist's family"
        )
    if not in_bytes and request.vocabulary_id != models.generalist.vocabulary_id:
        names = " and ".join(
            f"{role} '{model.name}'"
            for role, model in zip(("generalist", "base"), models.each(), strict=False)
        )
        raise VocabularyMismatchError(
            f"the device's model has another vocabulary than this server's {names}; "
            "update SpecSteer on the device, or use a specialist that shares theirs"
        )
    role = role_of(request.terms)
    if in_bytes:
        role = bytes_role(role)
    if request.terms.candidates > models.candidates:
        raise InvalidSettingsError(
            f"this server gives at most {models.candidates} candidates per token"
        )
    check_ids(
        request.prompt_ids if in_bytes else (*request.prompt_ids, *request.text_ids),
        models,
    )
    room = models.context_length
    if not request.text_ids:
        room -= SETTLED_LIMIT + request.terms.draft_limit
    if len(request.prompt_ids) + (0 if in_bytes else len(request.text_ids)) > room:
        raise ContextFullError(
            f"prompt and text may hold {room} tokens together on this server"
        )
    if role.uses_base and models.base is None:
        raise InvalidSettingsError(
            "this server runs no base: run it on the device with --base edge, or start "
            "the server with --base and the device's specialist"
        )
    models.check(role)
    if role.frames.down_size > settings.answer_bytes:
        raise InvalidSettingsError(
            f"answers would be larger than {settings.answer_bytes} bytes; "
            "ask for fewer candidates or shorter drafts"
        )
    return role


def round_of(
    session_id: str, session: Session, block: DraftBlock, token_ids: tuple[int, ...]
) -> Round:
    """What the engine does for a block at the end of `token_ids`. Its last drafted
    token is not read if nothing is asked of what follows it."""
    role, key = session.role, (session.number, block.epoch, block.round)
    work: Callable[..., Verdict] = verify
    if session.words is not None:
        prompt = session.prompt_ids
        text = bytes(token_ids[len(prompt) :])
        reading, block = read_in_bytes(block, text, session.words, role)
        token_ids = (*prompt, *reading.token_ids)
        work = partial(verify_in_bytes, starts=reading.starts)
    count = len(block.drafted)
    rows = role.rows(count)
    return Round(
        session_id,
        token_ids[: len(token_ids) - (count + 1 - rows)],
        rows,
        role.uses_base,
        partial(work, block, role=role),
        key,
        position=len(token_ids) - len(block.settled) - count,
        whole=count if role.decides else 0,
        candidates=role.terms.candidates,
        asked=block.drafted,
        alone=not role.draft_limit,
        party=(session.owner.user, session.owner.device),
    )


class Service:
    """The texts of all devices, from their beginnings to their ends. It lives on the
    event loop, and hands their blocks to the engine thread."""

    def __init__(
        self,
        settings: ServerSettings,
        engine: EngineThread,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.counts = RoundCounts()
        self.running: dict[RoundKey, asyncio.Task[Answer]] = {}
        """The answers that are being made."""
        self.stopping = asyncio.Event()
        """Set when no more blocks are taken."""
        self.device_ends: list[Callable[[str], None]] = []
        """Called with the id of each device that may ask nothing more."""
        self.streams_end: list[Callable[[str, StreamEnd], None]] = []
        """Called with the id of each session whose streams have to end, and why."""
        limits = settings.user
        self.sessions = Sessions(settings.known_sessions, settings.idle_seconds, limits)
        self._openings = Openings(limits.openings, limits.openings_per_second)
        self._engine = engine
        self._clock = clock

    @property
    def models(self) -> Models:
        """The models. Raises LoadingError if they are not loaded yet, and StoppingError
        if the server is about to end."""
        if self.stopping.is_set():
            raise StoppingError("the server is stopping")
        if self._engine.models is None:
            raise LoadingError("the models are being loaded")
        return self._engine.models

    def admit(self, caller: Caller) -> None:
        """Count a text that a caller is about to begin, before its body is read; raises
        QuotaError if there were too many."""
        self._openings.admit(caller, self._clock())

    async def with_prompt(self, request: OpenSession) -> OpenSession:
        """A request in bytes with its prompt in the generalist's tokens; any other as
        it is. Raises ModelError if the chat template does not take the messages."""
        words = self.models.words
        if request.version != BYTES_VERSION or words is None:
            return request

        def prepared() -> OpenSession:
            _ = words.vocabulary  # which takes a moment the first time
            return replace(
                request, prompt_ids=tuple(words.prompt_ids(request.messages))
            )

        return await asyncio.to_thread(prepared)

    def open(self, request: OpenSession, caller: Caller) -> SessionOpened:
        """Begin a text; raises as `checked_role` and `Sessions.add` do."""
        session = self._begin(request, 0, caller)
        session_id = secrets.token_urlsafe(16)
        self._forget(self.sessions.add(session_id, session))
        return self._opened(session_id, session)

    def replace(
        self, session_id: str, request: OpenSession, caller: Caller
    ) -> SessionOpened:
        """Begin another text in a session, which keeps its slot, so that what both
        texts begin with is not read again. Blocks of the old text are void. Streams are
        ended if their frames have another size now, or if answers to the old text are
        on their way, which could be taken for answers to the new one. Raises
        SessionLostError if there is no such session, and DecodingError as `open` does;
        the old text then stays."""
        old = self.sessions.find(session_id, self._clock(), caller)
        session = self._begin(request, old.number + 1, caller)
        self.sessions[session_id] = session
        if session.frames != old.frames or not old.idle:
            self._end_streams(session_id, "text replaced")
        return self._opened(session_id, session)

    def close(self, session_id: str, caller: Caller) -> None:
        """End a text and forget it; raises SessionLostError if it is unknown."""
        self.sessions.find(session_id, self._clock(), caller)
        self._forget([session_id])

    def end_device(self, device: str) -> None:
        """Forget all texts of a device that may ask nothing more, and end its streams:
        at once, as their sessions are lost."""
        texts = self.sessions.items()
        self._forget([i for i, one in texts if one.owner.device == device])
        for call in self.device_ends:
            call(device)

    def frames(self, session_id: str, caller: Caller) -> FrameFormat:
        """The frames of a session; raises SessionLostError if it is unknown."""
        return self.sessions.find(session_id, self._clock(), caller).frames

    def expire(self) -> None:
        """Forget the sessions that were idle for too long."""
        self._forget(self.sessions.expire(self._clock()))

    async def drain(
        self, seconds: float, streams: Collection[asyncio.Task[Any]]
    ) -> None:
        """Take no more blocks; wait for those that are being verified, and until every
        one of `streams` has said so to its device. What takes longer is broken off."""
        self.stopping.set()
        busy = {*self.running.values(), *streams}
        if not busy:
            return
        _, unfinished = await asyncio.wait(busy, timeout=seconds)
        if unfinished:
            self._engine.close(0.0)
            await asyncio.wait(unfinished, timeout=_LAST_SECONDS)

    async def verify(
        self, session_id: str, block: DraftBlock, caller: Caller
    ) -> Answer:
        """The answer to a block. Raises SessionLostError if there is no such session,
        and MessageError if the block cannot belong to this session."""
        began = self._clock()
        session = self.sessions.find(session_id, began, caller)
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
            return Signal(Kind.ERROR, block.epoch, block.round, Problem.STOPPING)
        if session.words is None:
            check_ids((*block.settled, *block.drafted), self.models)
            if len(block.drafted) > session.role.draft_limit:
                raise MessageError("the draft is longer than the session allows")
        decision = session.receive(block)
        if isinstance(decision, Verdict | Signal):
            return decision
        key = session_id, session.number, block.epoch, block.round
        if decision is not None:
            # The engine has it at once, and drops it if the one before is refused. The
            # answer is waited for in a task, which goes on when the device hangs up.
            try:
                round_ = round_of(session_id, session, block, decision)
            except VocabularyMismatchError:  # it has no tokens for these bytes
                log_fault("cutting a text")
                failed = Signal(Kind.ERROR, block.epoch, block.round, Problem.ENGINE)
                session.finish(block, failed)
                return failed
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
        except SessionLostError:
            answer = Signal(Kind.RESYNC, *key, 0)
        except CloudBusyError as error:
            answer = Signal(Kind.BUSY, *key, round(1000 * error.retry_after))
        except StaleBlockError:
            answer = session.resync(key)
        except ContextFullError:
            answer = Signal(Kind.ERROR, *key, Problem.CONTEXT_FULL)
        except (StoppedError, StoppingError):
            answer = Signal(Kind.ERROR, *key, Problem.STOPPING)
        except DecodingError:
            answer = Signal(Kind.ERROR, *key, Problem.ENGINE)
        session.finish(block, answer)
        session.used = self._clock()
        self.sessions.bound_answers(self.settings.kept_answer_bytes)
        if self.sessions.get(session_id, session) is not session:
            return session.resync(key)
        return answer

    def _begin(self, request: OpenSession, number: int, caller: Caller) -> Session:
        """The caller's session of a request that nothing speaks against."""
        models = self.models
        role = checked_role(request, models, self.settings)
        words = models.words.vocabulary if role.in_bytes and models.words else None
        length = models.context_length
        return Session(request, role, length, self._clock(), number, caller, words)

    def _opened(self, session_id: str, session: Session) -> SessionOpened:
        """Have the text of a new session read while the device drafts its first block;
        the answer to the device."""
        # The last token is left: the block's first row of logits stands after it.
        known: tuple[int, ...] = ()
        with suppress(VocabularyMismatchError):  # which its first block is told
            known = session.token_ids[:-1]
        if known:
            warm = Round(session_id, known, 0, session.role.uses_base)
            warm.key = session.number, 0, 0
            warm.party = session.owner.user, session.owner.device
            self._engine.warm(warm)
        generalist, base = self.models.generalist, self.models.base
        base_name = "" if base is None else base.name
        return SessionOpened(session_id, generalist.name, base_name)

    def _forget(self, session_ids: list[str]) -> None:
        for session_id in session_ids:
            self.sessions.pop(session_id, None)
            self._engine.release(session_id)
            self._end_streams(session_id, "session lost")

    def _end_streams(self, session_id: str, why: StreamEnd) -> None:
        for call in self.streams_end:
            call(session_id, why)
