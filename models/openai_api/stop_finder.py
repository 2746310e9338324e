"""Stop strings in a text that comes in pieces."""

from __future__ import annotations

from collections.abc import Sequence


class StopFinder:
    """Passes a text on up to the first stop string, which is no part of it. What may be
    the beginning of one is held back until that is known."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(filter(None, stops))
        self._held = ""
        self.found = False
        """Whether the text has come to a stop string."""

    def push(self, text: str) -> str:
        """What of the text so far can be passed on now."""
        if self.found:
            return ""
        whole = self._held + text
        ends = [at for stop in self._stops if (at := whole.find(stop)) >= 0]
        if ends:
            self.found, self._held = True, ""
            return whole[: min(ends)]
        keep = max(
            (
                size
                for stop in self._stops
                for size in range(1, min(len(stop), len(whole) + 1))
                if whole.endswith(stop[:size])
            ),
            default=0,
        )
        self._held = whole[len(whole) - keep :]
        return whole[: len(whole) - keep]

    def rest(self) -> str:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return held
