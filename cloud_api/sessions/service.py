"""The sessions: what the server holds of each text, and what the routes do.

A `Session` is one text. `Sessions` remembers the texts; the checks say what a session
may ask of these models; `Service` brings both together with the engine thread. All of
it lives on the event loop.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from cloud_api.callers import Caller
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import EngineThread, Round
from cloud_api.errors import LoadingError, QuotaError, StaleBlockError, StoppingError
from cloud_api.sessions.counts import RoundCounts
from cloud_api.sessions.quotas import Bookings, Openings
from cloud_api.sessions.session import Answer, Join, Session, Verify
from cloud_api.settings import ServerSettings, UserLimits
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
    SETTLED_LIMIT,
    DraftBlock,
    FrameFormat,
    Kind,
    OpenSession,
    Problem,
    SessionOpened,
    Signal,
    Verdict,
)
from decoding_core.verifier import VerifierRole, role_of, verify

_LAST_SECONDS = 0.3
"""How long a stop waits for what was broken off."""
RoundKey = tuple[str, int, int, int]
"""Session, number of the text, epoch and round."""
StreamEnd = Literal["session lost", "text replaced", "too much"]
"""Why the server ends a stream before the device does."""
_COME_BACK_SECONDS = 2.0
"""After which a user whose texts are all being verified may begin another."""


@dataclass(slots=True, eq=False)
class OpenStream:
    """A stream that a device holds open."""

    session_id: str
    user: str
    end: asyncio.Future[StreamEnd]
    """Says why the stream has to end, once it has to."""
    unread: int = 0
    """Bytes of answers that were not handed to the device yet."""


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


def candidate_limit(models: Models, settings: ServerSettings) -> int:
    """The most candidates that a row may hold."""
    size = models.candidates
    return min(size, settings.candidates or size)


def check_request(
    request: OpenSession, role: VerifierRole, models: Models, settings: ServerSettings
) -> None:
    """Raise what speaks against a session.

    Raises:
        VocabularyMismatchError: the device's tokens are not the server's.
        InvalidSettingsError: too many candidates, a base that is not here, or answers
            that would be too large.
        MessageError: an id outside the vocabulary.
        ContextFullError: prompt and text leave no room; a text that is begun must leave
            some for a block, one that goes on may be at its end.
    """
    check_vocabulary(request, models)
    most = candidate_limit(models, settings)
    if request.terms.candidates > most:
        raise InvalidSettingsError(
            f"this server gives at most {most} candidates per token"
        )
    check_ids(request.prompt_ids, models)
    check_ids(request.text_ids, models)
    room = models.context_length
    if not request.text_ids:
        room -= SETTLED_LIMIT + request.terms.draft_limit
    if len(request.prompt_ids) + len(request.text_ids) > room:
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


def check_vocabulary(request: OpenSession, models: Models) -> None:
    """Raise VocabularyMismatchError where the device's tokens are not the server's."""
    if request.vocabulary_id != models.generalist.vocabulary_id:
        names = f"generalist '{models.generalist.name}'"
        if models.base is not None:
            names += f" and base '{models.base.name}'"
        raise VocabularyMismatchError(
            f"the device's model has another vocabulary than this server's {names}; "
            "use a specialist that shares theirs"
        )


def check_ids(token_ids: Sequence[int], models: Models) -> None:
    """Raise MessageError when an id is not in the vocabulary."""
    size = models.generalist.vocabulary_size  # the base's too
    if token_ids and not 0 <= min(token_ids) <= max(token_ids) < size:
        raise MessageError(f"a token id outside the vocabulary of {size}")


class Service:
    """The sessions, and the blocks that are being verified for them."""

    def __init__(
        self,
        settings: ServerSettings,
        engine: EngineThread,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.stopping = asyncio.Event()
        """Set when no more blocks are taken."""
        self.counts = RoundCounts()
        """The blocks that were answered."""
        self._engine = engine
        self._clock = clock
        limits = settings.user
        self._openings = Openings(limits.openings, limits.openings_per_second)
        self._sessions = Sessions(
            settings.known_sessions, settings.idle_seconds, limits
        )
        self._told_of_ends: list[Callable[[str], None]] = []
        self._running: dict[RoundKey, asyncio.Task[Answer]] = {}
        self._streams: dict[asyncio.Task[Any], OpenStream] = {}
        """The oldest first."""

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

    def admit(self, caller: Caller) -> None:
        """Count a text that a caller is about to begin, before its body is read; raises
        QuotaError where there were too many."""
        self._openings.admit(caller, self._clock())

    def open(self, request: OpenSession, caller: Caller) -> SessionOpened:
        """Begin a text; raises as `role_of`, `check_request` and `Sessions.add` do."""
        session = self._begin(request, 0, caller)
        session_id = secrets.token_urlsafe(16)
        self._forget(self._sessions.add(session_id, session))
        return self._opened(session_id, session)

    def replace(
        self, session_id: str, request: OpenSession, caller: Caller
    ) -> SessionOpened:
        """Begin another text in a session, which keeps its slot, so that what both
        texts begin with is not read again. Blocks of the old text are void. Streams are
        ended where their frames have another size now, or where answers to the old text
        are on their way, which could be taken for answers to the new one.

        Raises:
            SessionLostError: there is no such session.
            DecodingError: as `open` does; the old text then stays.
        """
        old = self._sessions.get(session_id, self._clock(), caller)
        session = self._begin(request, old.number + 1, caller)
        self._sessions.replace(session_id, session)
        if session.frames != old.frames or not old.idle:
            self._end_streams(session_id, "text replaced")
        return self._opened(session_id, session)

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
            self._running[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(self._running[key])

    def close(self, session_id: str, caller: Caller) -> None:
        """End a text and forget it; raises SessionLostError if there is none."""
        self._sessions.get(session_id, self._clock(), caller)
        self._sessions.remove(session_id)
        self._forget([session_id])

    def end_device(self, device: str) -> None:
        """Forget all texts of a device that may ask nothing more, and end its streams:
        at once, as their sessions are lost."""
        ended = self._sessions.of_device(device)
        for session_id in ended:
            self._sessions.remove(session_id)
        self._forget(ended)
        for tell in self._told_of_ends:
            tell(device)

    def when_device_ends(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with the id of each device that may ask nothing more."""
        self._told_of_ends.append(tell)

    def sessions_of_users(self) -> Counter[str]:
        """How many texts of each user are remembered."""
        return self._sessions.of_users()

    @property
    def waiting(self) -> int:
        """Blocks whose answers are being made."""
        return len(self._running)

    @property
    def streams(self) -> int:
        """Streams that are open."""
        return len(self._streams)

    def frames(self, session_id: str, caller: Caller) -> FrameFormat:
        """The frames of a session; raises SessionLostError if there is none."""
        return self._sessions.get(session_id, self._clock(), caller).frames

    def expire(self) -> None:
        """Forget the sessions that were idle for too long."""
        self._forget(self._sessions.expire(self._clock()))

    async def drain(self, seconds: float) -> None:
        """Take no more blocks; wait for those that are being verified, and until every
        stream has told its device. What takes longer is broken off."""
        self.stopping.set()
        busy = {*self._running.values(), *self._streams}
        if not busy:
            return
        _, late = await asyncio.wait(busy, timeout=seconds)
        if late:
            self._engine.close(0.0)
            await asyncio.wait(late, timeout=_LAST_SECONDS)

    @contextmanager
    def streaming(self, session_id: str, caller: Caller) -> Iterator[OpenStream]:
        """While a device holds a stream of a session open, in the task that serves it.
        The user's own oldest stream is ended where that has too many."""
        task = asyncio.current_task()
        assert task is not None
        end: asyncio.Future[StreamEnd] = asyncio.get_running_loop().create_future()
        self._streams[task] = stream = OpenStream(session_id, caller.user, end)
        theirs = self._streams_of(caller.user)
        if len(theirs) > self.settings.user.streams:
            _end(theirs[0], "too much")
        try:
            yield stream
        finally:
            del self._streams[task]

    def count_unread(self, stream: OpenStream, size: int) -> None:
        """Note that so many bytes of answers wait for the device of a stream, or with
        fewer than none that it has them. The stream that holds the most is ended where
        the user's devices leave too much unread."""
        stream.unread += size
        theirs = self._streams_of(stream.user)
        if sum(one.unread for one in theirs) > self.settings.user.unread_bytes:
            _end(max(theirs, key=lambda one: one.unread), "too much")

    def _streams_of(self, user: str) -> list[OpenStream]:
        """The user's streams that need not end, the oldest first."""
        return [
            one
            for one in self._streams.values()
            if one.user == user and not one.end.done()
        ]

    def _begin(self, request: OpenSession, number: int, caller: Caller) -> Session:
        """The caller's session of a request that nothing speaks against."""
        models = self.models
        # What else speaks against it says little to a device of another family.
        check_vocabulary(request, models)
        role = role_of(request.terms)
        check_request(request, role, models, self.settings)
        length = models.context_length
        return Session(request, role, length, self._clock(), number, caller)

    def _opened(self, session_id: str, session: Session) -> SessionOpened:
        """Have the text of a new session read while the device drafts its first block;
        the answer to the device."""
        # The last token is left: the block's first row of logits stands after it.
        known = session.token_ids[:-1]
        if known:
            key = session.number, 0, 0
            warm = Round(
                session_id,
                known,
                0,
                session.role.uses_base,
                key=key,
                user=session.owner.user,
                device=session.owner.device,
            )
            self._engine.warm(warm)
        generalist, base = self.models.generalist, self.models.base
        base_name = "" if base is None else base.name
        return SessionOpened(session_id, generalist.name, base_name)

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
        self._sessions.bound_answers(self.settings.kept_answer_bytes)
        if self._sessions.has_replaced(session_id, session):
            return session.resync(key)
        return answer

    def _forget(self, session_ids: list[str]) -> None:
        for session_id in session_ids:
            self._engine.release(session_id)
            self._end_streams(session_id, "session lost")

    def _end_streams(self, session_id: str, why: StreamEnd) -> None:
        for stream in self._streams.values():
            if stream.session_id == session_id:
                _end(stream, why)


def _end(stream: OpenStream, why: StreamEnd) -> None:
    if not stream.end.done():
        stream.end.set_result(why)


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
        user=session.owner.user,
        device=session.owner.device,
    )


def _error(block: DraftBlock, problem: Problem) -> Signal:
    return Signal(Kind.ERROR, block.epoch, block.round, problem)
