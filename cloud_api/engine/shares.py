"""How the engine's time is shared: which user is next, and how much of a prompt is read
in one step. Pure: times are passed in.

`FairTime` is start-time fair queueing (Goyal, Vin and Cheng 1996): whoever has had the
least computing is next, and nobody saves up time while there is nothing to compute.
`PromptPace` finds by measurement how many tokens of a prompt take no longer than a part
of the round that one text has when nobody else writes.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterable

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
