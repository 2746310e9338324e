"""How texts begin and end on the server, and what a text may ask for.

The checks say what a session may ask of these models; `Service` begins and ends the
texts, on the event loop. What becomes of their blocks: `cloud_api.session`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Literal

from cloud_api.auth import Caller
from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import Round
from cloud_api.engine.thread import EngineThread
from cloud_api.session import Openings, Rounds, Session, Sessions, check_ids
from cloud_api.settings import ServerSettings
from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    VocabularyMismatchError,
)
from decoding_core.messages import (
    SETTLED_LIMIT,
    FrameFormat,
    OpenSession,
    SessionOpened,
)
from decoding_core.verifier import VerifierRole, role_of

_LAST_SECONDS = 0.3
"""How long a stop waits for what was broken off."""
StreamEnd = Literal["session lost", "text replaced", "too much"]
"""Why the server ends a stream before the device does."""


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


class Service:
    """The texts of all devices, from their beginnings to their ends."""

    def __init__(
        self,
        settings: ServerSettings,
        engine: EngineThread,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        limits = settings.user
        self._sessions = Sessions(
            settings.known_sessions, settings.idle_seconds, limits
        )
        self.rounds = Rounds(engine, self._sessions, settings, clock)
        """The blocks of these texts."""
        self.stopping = self.rounds.stopping
        """Set when no more blocks are taken."""
        self._engine = engine
        self._clock = clock
        self._openings = Openings(limits.openings, limits.openings_per_second)
        self._told_of_devices: list[Callable[[str], None]] = []
        self._told_of_streams: list[Callable[[str, StreamEnd], None]] = []

    @property
    def models(self) -> Models:
        """The models; raises as `Rounds.models` does."""
        return self.rounds.models

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
        for tell in self._told_of_devices:
            tell(device)

    def when_device_ends(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with the id of each device that may ask nothing more."""
        self._told_of_devices.append(tell)

    def when_streams_end(self, tell: Callable[[str, StreamEnd], None]) -> None:
        """Have `tell` called with the id of each session whose streams have to end, and
        why."""
        self._told_of_streams.append(tell)

    def sessions_of_users(self) -> Counter[str]:
        """How many texts of each user are remembered."""
        return self._sessions.of_users()

    def frames(self, session_id: str, caller: Caller) -> FrameFormat:
        """The frames of a session; raises SessionLostError if there is none."""
        return self._sessions.get(session_id, self._clock(), caller).frames

    def expire(self) -> None:
        """Forget the sessions that were idle for too long."""
        self._forget(self._sessions.expire(self._clock()))

    async def drain(
        self, seconds: float, streams: Collection[asyncio.Task[Any]]
    ) -> None:
        """Take no more blocks; wait for those that are being verified, and until every
        one of `streams` has told its device. What takes longer is broken off."""
        self.stopping.set()
        busy = {*self.rounds.running.values(), *streams}
        if not busy:
            return
        _, late = await asyncio.wait(busy, timeout=seconds)
        if late:
            self._engine.close(0.0)
            await asyncio.wait(late, timeout=_LAST_SECONDS)

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
                party=(session.owner.user, session.owner.device),
            )
            self._engine.warm(warm)
        generalist, base = self.models.generalist, self.models.base
        base_name = "" if base is None else base.name
        return SessionOpened(session_id, generalist.name, base_name)

    def _forget(self, session_ids: list[str]) -> None:
        for session_id in session_ids:
            self._engine.release(session_id)
            self._end_streams(session_id, "session lost")

    def _end_streams(self, session_id: str, why: StreamEnd) -> None:
        for tell in self._told_of_streams:
            tell(session_id, why)
