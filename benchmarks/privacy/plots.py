"""Pictures of the figures: who is found against tokens sent, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.privacy.figures import Row
from benchmarks.quality.plots import matplotlib, save

_MARKS = "osD^vP*X<>"


def draw(rows: Sequence[Row], among: Sequence[int], folder: Path) -> list[Path]:
    """Write each picture as PNG and SVG; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    pyplot = matplotlib()
    for count in among:
        figure, axis = pyplot.subplots(figsize=(7, 5))
        for number, row in enumerate(rows):
            found = [one for one in row.found if one.among == count]
            shares = [100 * one.share.value for one in found]
            mark = _MARKS[number % len(_MARKS)]
            tokens = [one.tokens for one in found]
            axis.plot(tokens, shares, marker=mark, label=row.condition)
        axis.axhline(100 / count, linestyle=":", color="grey", label="chance")
        axis.set_xscale("log")
        axis.set_xlabel("tokens sent")
        axis.set_ylabel(f"writers found among {count}, %")
        axis.legend(fontsize="x-small")
        files += save(figure, folder / f"found-among-{count}")
    figure, axis = pyplot.subplots(figsize=(7, 5))
    _against_cost(axis, rows, max(among))
    files += save(figure, folder / "found-against-gain")
    return files


def _against_cost(axis: Any, rows: Sequence[Row], among: int) -> None:
    for number, row in enumerate(rows):
        if row.gain is None:
            continue
        last = [one for one in row.found if one.among == among][-1]
        mark = _MARKS[number % len(_MARKS)]
        at = [100 * row.gain], [100 * last.share.value]
        axis.scatter(*at, marker=mark, label=row.condition)
    axis.set_xlabel("gain of T over L that is left, %")
    axis.set_ylabel(f"writers found among {among}, %")
    axis.legend(fontsize="x-small")
