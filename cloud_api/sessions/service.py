"""What the routes do, without HTTP: open a session, verify its blocks, close it.

`Sessions` remembers the texts, each a `Session` (state.py); the checks say what a
session may ask of these models; `Service` brings both together with the engine thread.
All of it lives on the event loop.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from cloud_api.engine.scheduler import EngineThread, Models, Round
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.sessions.state import Answer, Join, Session, Verify
from cloud_api.settings import ServerSettings
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
    OpenSession,
    SessionOpened,
)
from decoding_core.verifier import VerifierRole, role_of, verify
from decoding_core.wire import FrameFormat, Kind, Problem, Signal

_LAST_SECONDS = 0.3
"""How long a stop waits for what was broken off."""
RoundKey = tuple[str, int, int]
"""Session, epoch and round."""


class Sessions:
    """All sessions by their ids: at most `limit`, each until it was idle for too long.
    Time is passed in."""

    def __init__(self, limit: int, idle_seconds: float) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def get(self, session_id: str, now: float) -> Session:
        """The session, marked as used now.

        Raises:
            SessionLostError: it never was, has ended or was forgotten.
        """
        session = self._sessions.get(session_id)
        if session is None or self._is_over(session, now):
            raise SessionLostError("there is no such session; open a new one")
        session.used = now
        return session

    def add(self, session_id: str, session: Session) -> list[str]:
        """Remember a session; the ids of those forgotten to make room.

        Raises:
            CloudBusyError: every session remembered has a block waiting.
        """
        forgotten = []
        if len(self._sessions) >= self._limit:
            idle = [i for i, one in self._sessions.items() if one.idle]
            if not idle:
                raise CloudBusyError("all sessions of this server are in use")
            longest = min(idle, key=lambda i: self._sessions[i].used)
            del self._sessions[longest]
            forgotten.append(longest)
        self._sessions[session_id] = session
        return forgotten

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
    size = models.vocabulary_size
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
    if request.vocabulary_id != models.generalist.vocabulary_id:
        names = f"generalist '{models.generalist.name}'"
        if models.base is not None:
            names += f" and base '{models.base.name}'"
        raise VocabularyMismatchError(
            f"the device's model has another vocabulary than this server's {names}; "
            "use a specialist that shares theirs"
        )
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
    if role.frames.down_size > settings.answer_bytes:
        raise InvalidSettingsError(
            f"answers would be larger than {settings.answer_bytes} bytes; "
            "ask for fewer candidates or shorter drafts"
        )


def check_ids(token_ids: Sequence[int], models: Models) -> None:
    """Raise MessageError when an id is not in the vocabulary."""
    if token_ids and not 0 <= min(token_ids) <= max(token_ids) < models.vocabulary_size:
        raise MessageError(
            f"a token id outside the vocabulary of {models.vocabulary_size}"
        )


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
        self._engine = engine
        self._clock = clock
        self._sessions = Sessions(settings.known_sessions, settings.idle_seconds)
        self._running: dict[RoundKey, asyncio.Task[Answer]] = {}
        self._turns: WeakKeyDictionary[Session, asyncio.Lock] = WeakKeyDictionary()
        self._streams: dict[asyncio.Task[Any], tuple[str, asyncio.Event]] = {}

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

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises as `role_of`, `check_request` and `Sessions.add` do."""
        models = self.models
        role = role_of(request.terms)
        check_request(request, role, models, self.settings)
        session = Session(request, role, models.context_length, self._clock())
        session_id = secrets.token_urlsafe(16)
        self._forget(self._sessions.add(session_id, session))
        # Prompt and text are read while the device drafts its first block. The last
        # token is left: the block's first row of logits stands after it.
        known = session.token_ids[:-1]
        if known:
            self._engine.warm(Round(session_id, known, 0, role.uses_base))
        base = "" if models.base is None else models.base.name
        return SessionOpened(session_id, models.generalist.name, base)

    async def verify(self, session_id: str, block: DraftBlock) -> Answer:
        """The answer to a block.

        Raises:
            SessionLostError: there is no such session.
            MessageError: the block cannot belong to this session.
        """
        session = self._sessions.get(session_id, self._clock())
        if self.stopping.is_set():
            return _error(block, Problem.STOPPING)
        check_ids((*block.settled, *block.drafted), self.models)
        if len(block.drafted) > session.role.draft_limit:
            raise MessageError("the draft is longer than the session allows")
        decision = session.receive(block)
        if not isinstance(decision, Verify | Join):
            return decision
        key = session_id, block.epoch, block.round
        if isinstance(decision, Verify):
            # In a task of its own, which goes on when the device hangs up.
            work = self._answer(session_id, session, block, decision.token_ids)
            self._running[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(self._running[key])

    def close(self, session_id: str) -> None:
        """End a text and forget it; raises SessionLostError if there is none."""
        self._sessions.get(session_id, self._clock())
        self._sessions.remove(session_id)
        self._forget([session_id])

    def frames(self, session_id: str) -> FrameFormat:
        """The frames of a session; raises SessionLostError if there is none."""
        return self._sessions.get(session_id, self._clock()).frames

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
    def streaming(self, session_id: str) -> Iterator[asyncio.Event]:
        """While a device holds a stream of a session open, in the task that serves it;
        the event is set when the session ends."""
        task, ended = asyncio.current_task(), asyncio.Event()
        assert task is not None
        self._streams[task] = session_id, ended
        try:
            yield ended
        finally:
            del self._streams[task]

    async def _answer(
        self,
        session_id: str,
        session: Session,
        block: DraftBlock,
        token_ids: tuple[int, ...],
    ) -> Answer:
        """The answer to a new block at the end of `token_ids`, once it is its turn."""
        async with self._turns.setdefault(session, asyncio.Lock()):
            key = block.epoch, block.round
            if session_id in self._sessions and session.still_wanted(key):
                rows = session.role.rows(len(block.drafted))
                unread = len(block.drafted) + 1 - rows
                round_ = Round(
                    session_id,
                    token_ids[: len(token_ids) - unread],
                    rows,
                    session.role.uses_base,
                    partial(verify, block, role=session.role),
                )
                try:
                    answer: Answer = await self._engine.run(round_)
                except ContextFullError:
                    answer = _error(block, Problem.CONTEXT_FULL)
                except SessionLostError:
                    answer = Signal(Kind.RESYNC, *key, 0)
                except (StoppedError, StoppingError):
                    answer = _error(block, Problem.STOPPING)
                except DecodingError:
                    answer = _error(block, Problem.ENGINE)
            else:
                answer = session.resync(key)
            session.finish(block, answer)
            session.used = self._clock()
            return answer

    def _forget(self, session_ids: list[str]) -> None:
        for session_id in session_ids:
            self._engine.release(session_id)
        for session_id, ended in self._streams.values():
            if session_id in session_ids:
                ended.set()


def _error(block: DraftBlock, problem: Problem) -> Signal:
    return Signal(Kind.ERROR, block.epoch, block.round, problem)
