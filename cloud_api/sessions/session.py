"""One text as a pure state machine: no await, no clock, no engine.

The device holds the truth. A block names itself by (epoch, round), in an order that
only grows; the epoch grows at each refusal. For every block there is one answer:

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

from collections import OrderedDict
from dataclasses import dataclass, replace

from cloud_api.callers import OWNER, Caller
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
from decoding_core.verifier import VerifierRole

UNANSWERED = 2 * WINDOW
"""Blocks that may wait at once with those that are void: a device that waits for its
verdicts has no more, for each epoch begins with one."""
BUSY_MILLISECONDS = 50

Key = tuple[int, int]
Answer = Verdict | Signal


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
        self.frames = replace(role.frames, version=request.version)
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


def memory_of(verdict: Verdict) -> int:
    """About how many bytes a verdict takes."""
    size = _VERDICT_BYTES
    for row in verdict.rows:
        size += _ROW_BYTES + row.token_ids.nbytes + row.generalist_logprobs.nbytes
        size += 0 if row.base_logprobs is None else row.base_logprobs.nbytes
    return size


_VERDICT_BYTES, _ROW_BYTES = 256, 512
"""What Python's objects take besides the numbers."""
