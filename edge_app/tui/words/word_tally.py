"""Who wrote the words of a version.

They are counted on from the last count, so that a long text costs no more than a short
one (docs/log.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_app.tui.runs import Run, State
from edge_app.tui.words.whole import count_words

if TYPE_CHECKING:
    from edge_app.tui.variant import Variant

Counts = dict[State, int]


class WordTally:
    """Counts the words of one version, which only grows while it is written."""

    def __init__(self) -> None:
        self._edited: list[Run] | None = None
        self._seen: tuple[int, int, bool] | None = None
        """What was there at the last count: settled tokens, spans that were held back,
        and whether it is being written."""
        self._counts: Counts = {}
        self._around: Counts | None = None
        """Words of the text that are none of its settled tokens."""
        self._before: Counts = {}
        """Words of the first `_counted` settled tokens, which no later one goes on."""
        self._counted = 0

    def count(self, variant: Variant) -> Counts:
        """Words by how they look, as `count_words` counts those of all its runs."""
        edited, held = variant.edited, len(variant.held)
        seen, before = (len(variant.settled), held, variant.writing), self._seen
        if seen == before and edited is self._edited:  # each edit makes another list
            return self._counts
        if edited is not None or not variant.writing:
            self._counts, self._around = count_words(variant.runs()), None
        else:
            if self._around is None or before is None or before[1] != held:
                self._before, self._counted = {}, 0
                settled = count_words(_settled(variant, 0))
                self._around = _sum(count_words(variant.runs()), settled, -1)
            runs = _settled(variant, self._counted)
            # Up to a space no word goes on.
            places = range(len(runs) - 1, 0, -1)
            end = next((at for at in places if runs[at][0][:1].isspace()), 0)
            self._before = _sum(self._before, count_words(runs[:end]))
            self._counted += end
            whole = _sum(self._around, self._before)
            self._counts = _sum(whole, count_words(runs[end:]))
        self._seen, self._edited = seen, edited
        return self._counts


def _settled(variant: Variant, first: int) -> list[Run]:
    """The settled tokens from `first` on, each with its state."""
    runs: list[Run] = []
    for at in range(first, len(variant.settled)):
        token = variant.settled[at]
        look: State = "replaced" if token.origin == "recovered" else "kept"
        runs.append((token.text, "held" if variant.held_at(at) else look))
    return runs


def _sum(counts: Counts, more: Counts, sign: int = 1) -> Counts:
    names = [*counts, *(name for name in more if name not in counts)]
    return {name: counts.get(name, 0) + sign * more.get(name, 0) for name in names}
