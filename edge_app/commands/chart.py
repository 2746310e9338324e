"""Bars made of plain characters, as wide as the terminal allows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from decoding_core.foreign_text import one_line

_MOST = 12
_LABEL = 34
_NARROWEST = 10


def bars(counts: Mapping[str, int], width: int | None = None) -> list[str]:
    """A line for each name: name, bar, number. All but the largest share one line.

    Names in the order of the counts given; `width` in characters, else the terminal's.
    """
    width = width or shutil.get_terminal_size().columns
    if len(counts) > _MOST:
        kept = sorted(counts, key=lambda name: -counts[name])[: _MOST - 1]
        largest = {name: n for name, n in counts.items() if name in kept}
        rest = sum(counts.values()) - sum(largest.values())
        counts = largest | {"others": rest}
    shown = {one_line(name): number for name, number in counts.items()}
    label = min(_LABEL, max((len(name) for name in shown), default=0))
    digits = max((len(f"{n:,}") for n in shown.values()), default=0)
    room = max(_NARROWEST, width - label - digits - 6)
    top = max(shown.values(), default=0) or 1
    lines = []
    for name, number in shown.items():
        bar = "#" * max(1 if number else 0, round(room * number / top))
        lines.append(f"  {name[:label]:<{label}}  {number:>{digits},}  {bar}")
    return lines
