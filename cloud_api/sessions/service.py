"""What the routes do, without HTTP: open, verify, close. Lives on the event loop."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from cloud_api.engine.batch_engine import Models
from cloud_api.engine.scheduler import Round
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.sessions.limits import check_base, check_frames, check_ids, check_request
from cloud_api.sessions.registry import Sessions
from cloud_api.sessions.state import Answer, Join, Judge, Session
from cloud_api.settings import ServerSettings
from decoding_core.errors import (
    ContextFullError,
    DecodingError,
    MessageError,
    SessionLostError,
    StoppedError,
)
from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict
from decoding_core.verifier import role_of, verify
from decoding_core.wire import FrameFormat, Kind, Problem, Signal

_LAST_SECONDS = 0.3
RoundKey = tuple[str, int, int]


class Service:
    """Sessions and the rounds that are being judged for them."""

    def __init__(
        self,
        settings: ServerSettings,
        scheduler: EngineThread,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.stopping = asyncio.Event()
        """Set when no more blocks are taken."""
        self._scheduler = scheduler
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
        if self._scheduler.models is None:
            raise LoadingError("the models are being loaded")
        return self._scheduler.models

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what `check_request`, `check_base` and `role_of` do."""
        models = self.models
        role = role_of(request.terms)
        check_request(request, models, self.settings)
        check_base(role.uses_base, models)
        session = Session(request, role, models.context_length, self._clock())
        check_frames(session.frames, self.settings)
        session_id = secrets.token_urlsafe(16)
        self._forget(self._sessions.add(session_id, session))
        self._warm(session_id, session)
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
        if not isinstance(decision, Judge | Join):
            return decision
        if isinstance(decision, Judge):
            self._start(session_id, session, block, decision)
        key = session_id, block.epoch, block.round
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
        """Take no more blocks; wait for those that are being judged, and until every
        stream has told its device. What takes longer is broken off."""
        self.stopping.set()
        busy = {*self._running.values(), *self._streams}
        if not busy:
            return
        _, late = await asyncio.wait(busy, timeout=seconds)
        if late:
            self._scheduler.close(0.0)
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

    def _start(
        self, session_id: str, session: Session, block: DraftBlock, decision: Judge
    ) -> None:
        """Judge in a task of its own: it goes on when the device hangs up."""
        key = session_id, block.epoch, block.round
        work = self._judge(session_id, session, block, decision)
        self._running[key] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._running.pop(key, None))

    async def _judge(
        self, session_id: str, session: Session, block: DraftBlock, decision: Judge
    ) -> Answer:
        async with self._turns.setdefault(session, asyncio.Lock()):
            key = block.epoch, block.round
            if session_id in self._sessions and session.still_wanted(key):
                answer = await self._ask(session_id, session, block, decision)
            else:
                answer = session.resync(key)
            session.finish(block, answer)
            session.used = self._clock()
            return answer

    async def _ask(
        self, session_id: str, session: Session, block: DraftBlock, decision: Judge
    ) -> Answer:
        verdict_of = partial(verify, block, role=session.role)
        rows = len(block.drafted) + 1
        round_ = Round(
            session_id, decision.token_ids, rows, session.role.uses_base, verdict_of
        )
        try:
            verdict = await self._scheduler.run(round_)
        except ContextFullError:
            return _error(block, Problem.CONTEXT_FULL)
        except SessionLostError:
            return Signal(Kind.RESYNC, block.epoch, block.round, 0)
        except (StoppedError, StoppingError):
            return _error(block, Problem.STOPPING)
        except DecodingError:
            return _error(block, Problem.ENGINE)
        assert isinstance(verdict, Verdict)
        return verdict

    def _warm(self, session_id: str, session: Session) -> None:
        """Read prompt and text while the device drafts its first block. The last token
        is left: the block's first row of logits stands after it."""
        known = session.token_ids[:-1]
        if known:
            uses_base = session.role.uses_base
            self._scheduler.warm(Round(session_id, known, 0, uses_base))

    def _forget(self, session_ids: list[str]) -> None:
        for session_id in session_ids:
            self._scheduler.release(session_id)
        for session_id, ended in self._streams.values():
            if session_id in session_ids:
                ended.set()


def _error(block: DraftBlock, problem: Problem) -> Signal:
    return Signal(Kind.ERROR, block.epoch, block.round, problem)
