"""The session of one text with a verifier: opened, opened again after a loss, left when
nobody answers, and found again.

The device holds the truth: the settled text is handed in with every call and kept
nowhere here, so what the server is opened with after a loss is the text that the person
reads. What happens to the server decides how fast a text is written, and who verified
which of its tokens; as long as the server comes back in time, it decides nothing else.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from decoding_core.errors import (
    CloudBusyError,
    CloudRefusedError,
    CloudSlowError,
    CloudUnreachableError,
    DecodingError,
    EngineError,
    SessionLostError,
    StoppedError,
)
from decoding_core.messages import (
    SETTLED_LIMIT,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.protocols import Verifier

_MOST_LOSSES = 2  # of the session, over one block: whoever forgets faster is left
_MOST_FAULTS = 1  # of a model, over one block: it may be a passing one
_LEAST_BUSY_SECONDS = 0.05
_T = TypeVar("_T")
_PASSING = SessionLostError, EngineError, CloudBusyError, CloudUnreachableError


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server that was lost in mid-text is waited for; all in seconds."""

    pauses: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8, 1.5)
    """Before each further try; then the device writes on alone. A server that is
    started again by its supervisor is back within these."""
    busy: float = 30.0
    """In all, over one block, while the server says itself that it is there and will
    answer later: it loads its models, or others have their turn."""
    first_return: float = 2.0
    """So long after it was left, the server is asked again for the first time."""
    longest_return: float = 30.0
    """Between two such questions; the pause doubles up to this, and begins with it
    after a server that was too slow."""
    block: float = 60.0
    """In all, over one block, with a server that fails again and again."""


def go_alone(error: Exception, what: str, *, allowed: bool) -> str:
    """Go on without a server, the one place where that is decided: the sentence that
    tells the person of it. Raises `error` where it is not allowed."""
    if not allowed:
        raise error
    return f"{error}; {what} written on this device alone"


class _Retries:
    """How often and how long one block may still be tried again."""

    def __init__(self, patience: Patience, clock: Callable[[], float]) -> None:
        self._pauses = iter(patience.pauses)
        self._busy = patience.busy
        self._clock, self._until = clock, clock() + patience.block
        self._losses, self._faults = _MOST_LOSSES, _MOST_FAULTS

    def pause_before_trying_again(self, error: DecodingError) -> float | None:
        """Seconds to wait after an error; None: patience is at its end."""
        busy = isinstance(error, CloudBusyError)
        late = self._clock() > self._until + (self._busy if busy else 0.0)
        if late or isinstance(error, CloudSlowError):
            return None
        if isinstance(error, CloudBusyError):
            pause = max(error.retry_after, _LEAST_BUSY_SECONDS)
            self._busy -= pause
            return pause if self._busy >= 0.0 else None
        if isinstance(error, SessionLostError):
            self._losses -= 1
            return 0.0 if self._losses >= 0 else None
        if isinstance(error, EngineError):
            self._faults -= 1
            return 0.0 if self._faults >= 0 else None
        return next(self._pauses, None)


@dataclass(slots=True)
class _PendingBlock:
    """A block that waits for its verdict."""

    drafted: tuple[int, ...]
    threshold: float
    round: int  # stays when it is sent again
    before: tuple[int, ...] = ()
    """Stands between what is drafted in the block before and in this one, and is not
    to be verified."""
    sent: bool = False


class VerifierSession:
    """One text's session with one verifier, however often it must be opened."""

    def __init__(
        self,
        verifier: Verifier,
        request: OpenSession,
        notice: Callable[[str], None],
        *,
        may_go_offline: bool = True,
        patience: Patience | None = None,
        stop: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a session; `request` holds the prompt, and no text yet. `notice`
        hears a sentence whenever the server is left and when it is back."""
        self._verifier = verifier
        self._request = request
        self._notice = notice
        self._may_go_offline = may_go_offline
        self._patience = patience or Patience()
        self._stop = stop or threading.Event()
        self._clock = clock
        self._known: int | None = None  # tokens of the text that the server holds
        self._round = -1
        self._out: deque[_PendingBlock] = deque()
        self._left = _Retries(self._patience, clock)
        self._has_verified = self._returning = False
        self._pause = self._patience.first_return
        self._return_at: float | None = None
        self.epoch = 0  # grows at each refusal
        self.alone = verifier.local  # whether the device writes without a verifier

    def open(self) -> SessionOpened | None:
        """Begin the text; None: nobody answers, and the device begins it alone.

        Raises:
            CloudUnreachableError: nobody answers, and that must not be.
            CloudRefusedError: the server said no.
            ContextFullError: the prompt leaves no room for a text.
            StoppedError: the person stopped.
        """
        left = _Retries(replace(self._patience, pauses=()), self._clock)
        while True:
            try:
                opened = self._verifier.open(self._request)
            except (CloudBusyError, CloudUnreachableError) as error:
                pause = left.pause_before_trying_again(error)
                if pause is None:
                    self._leave(error, "the text is")
                    return None
                self._wait(pause)
            else:
                self._known = 0
                return opened

    def return_if_due(self, text_ids: Sequence[int]) -> None:
        """Before a round: where the server was left some time ago, ask it once more,
        with the text as it is now. It is back when it has verified a block."""
        due = self._return_at is not None and self._clock() >= self._return_at
        if not (self.alone and due):
            return
        self.alone, self._returning = False, True
        try:
            self._open_again(text_ids)
        except StoppedError:
            raise
        except DecodingError as error:
            self._leave(error)

    def submit(
        self,
        text_ids: Sequence[int],
        drafted: Sequence[int],
        threshold: float,
        before: Sequence[int] = (),
    ) -> None:
        """Send what was drafted after the text, after the blocks that are out and after
        the tokens `before` it, which are not to be verified; `collect` gives the
        verdict. What goes wrong with a block behind others is mended when the verdict
        on the first is collected.

        Raises:
            ContextFullError: the draft no longer fits into a model of the verifier.
            CloudError: the server is gone, and the text must not go on alone; or it
                refused before it had verified anything.
            StoppedError: the person stopped.
        """
        self._round += 1
        asked = _PendingBlock(tuple(drafted), threshold, self._round, tuple(before))
        self._out.append(asked)
        if len(self._out) == 1:
            self._left = self._new_patience()
            self._patiently(lambda: self._send(text_ids))
        elif all(block.sent for block in list(self._out)[:-1]):
            try:
                self._send(text_ids)
            except (*_PASSING, CloudRefusedError) as error:
                if isinstance(error, SessionLostError):
                    self._known = None
                self._unsend()

    def collect(self, text_ids: Sequence[int]) -> Verdict | None:
        """The verdict on the oldest block that is out; all that are out are sent again
        after a loss. None: the device is alone now, and all is kept. Raises as `submit`
        does."""

        def collect() -> Verdict:
            self._send(text_ids)
            return self._verifier.collect()

        verdict = self._patiently(collect)
        self._out.popleft()
        if verdict is not None:
            if self._returning:
                self._notice("the server is back and verifies again from here on")
            self._has_verified, self._returning = True, False
            self._pause = self._patience.first_return
            self._left = self._new_patience()
        return verdict

    def ready(self) -> bool:
        """Whether `collect` need not wait for the server."""
        if self.alone or not self._out[0].sent:
            return True
        return self._verifier.ready()

    def settle(self, text_ids: Sequence[int], kept: int, *, refused: bool) -> None:
        """After a verdict: the first `kept` tokens after the text stay. A refusal voids
        all that is out."""
        if self._known is not None:
            self._known = len(text_ids) + kept
        if refused:
            self.epoch += 1
            self._out.clear()

    def stands_in(self, length: int) -> None:
        """The first tokens before the oldest block that is out are text now."""
        if self._out:
            self._out[0].before = self._out[0].before[length:]

    def void(self) -> None:
        """Give up all blocks that are out; they will be submitted anew."""
        self._out.clear()

    def close(self) -> None:
        """End the text on the verifier too."""
        self._verifier.close()

    def _patiently(self, ask: Callable[[], _T]) -> _T | None:
        """What `ask` returns, asked again while patience lasts; None: alone."""
        while not self.alone:
            try:
                return ask()
            except _PASSING as error:
                if isinstance(error, SessionLostError):
                    self._known = None
                self._unsend()
                pause = self._left.pause_before_trying_again(error)
                if pause is None:
                    self._leave(error)
                else:
                    self._wait(pause)
            except CloudRefusedError as error:
                if not (self._has_verified or self._returning):
                    raise
                self._leave(error)
        return None

    def _send(self, text_ids: Sequence[int]) -> None:
        """Submit each block that is out and was not sent, behind those that were."""
        if self._known is None:
            self._open_again(text_ids)
        assert self._known is not None
        text, known = list(text_ids), self._known
        for block in self._out:
            text += block.before
            if not block.sent and len(text) - known > SETTLED_LIMIT:
                if block is not self._out[0]:
                    return  # more than a block carries: it waits until it is the first
                self._open_again(text)
                known = len(text)
            if not block.sent:
                self._verifier.submit(
                    DraftBlock(
                        self.epoch,
                        block.round,
                        known,
                        digest(text[:known]),
                        tuple(text[known:]),
                        block.drafted,
                        block.threshold,
                    )
                )
                block.sent = True
            text += block.drafted
            known = len(text)

    def _unsend(self) -> None:
        """All blocks that are out must be sent anew."""
        for block in self._out:
            block.sent = False

    def _new_patience(self) -> _Retries:
        """For the next block; with a server that was left it is short."""
        pauses = () if self._returning else self._patience.pauses
        return _Retries(replace(self._patience, pauses=pauses), self._clock)

    def _open_again(self, text_ids: Sequence[int]) -> None:
        self._verifier.open(replace(self._request, text_ids=tuple(text_ids)))
        self._known = len(text_ids)

    def _leave(self, error: Exception, what: str = "the rest is") -> None:
        """Go on alone; raises where it must not be. The server is asked again later,
        unless it said no."""
        sentence = go_alone(error, what, allowed=self._may_go_offline)
        if self._returning:
            self._pause = min(2 * self._pause, self._patience.longest_return)
        else:
            self._notice(sentence)
        if isinstance(error, CloudSlowError):
            self._pause = self._patience.longest_return
        self.alone, self._returning, self._known = True, False, None
        refused = isinstance(error, CloudRefusedError)
        self._return_at = None if refused else self._clock() + self._pause

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise StoppedError("stopped while waiting for the server")
