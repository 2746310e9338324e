"""Pictures of the rows: sweeps of a setting, acceptance against quality."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.summary import Row
from decoding_core.errors import InvalidSettingsError
from edge_app.retrieval.personalisation import USUAL
from personal_store.extras import how_to_add

_QUALITY = ("rougeL", "accuracy", "mae", "score", "nats")
_WORDS = {
    "rougeL": "ROUGE-L",
    "accuracy": "accuracy",
    "mae": "MAE",
    "score": "score",
    "nats": "nats per byte",
    "kept": "accepted / drafted",
    "steps": "T of CoSteer",
}
_SETTINGS = ("threshold", "strength", "steps")
_MARKS = "osD^vP*X<>"
_STILL = {"svg": {"Date": None}, "png": {"Software": None}}
"""So that the same figures give the same bytes."""

Line = tuple[str, list[float], list[float]]


def check_extra() -> None:
    """Raise InvalidSettingsError when matplotlib is missing."""
    try:
        matplotlib()
    except ImportError as error:
        raise InvalidSettingsError(
            f"plots need more libraries: {how_to_add('bench')}"
        ) from error


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write each picture as PNG and SVG; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for setting in _SETTINGS:
        shown = ["kept", *_there(rows)] if setting == "threshold" else _there(rows)
        lines = {name: sweep(rows, setting, name) for name in shown}
        lines = {name: found for name, found in lines.items() if found}
        if not lines:
            continue
        figure, axes = matplotlib().subplots(
            1, len(lines), figsize=(5 * len(lines), 4.5), squeeze=False
        )
        for axis, (name, found) in zip(axes[0], lines.items(), strict=True):
            for mark, (label, values, heights) in zip(
                _marks(found), found, strict=True
            ):
                axis.plot(values, heights, marker=mark, label=label)
            if setting != "strength" and all(min(one[1]) > 0 for one in found):
                axis.set_xscale("log")
            axis.set_xlabel(_WORDS.get(setting, setting))
            axis.set_ylabel(_WORDS[name])
        axes[0][0].legend(fontsize="x-small")
        files += save(figure, folder / setting)
    for name in _there(rows):
        points = against_acceptance(rows, name)
        if not points:
            continue
        figure, axis = matplotlib().subplots(figsize=(6, 4.5))
        for mark, (label, shares, values) in zip(_marks(points), points, strict=True):
            axis.scatter(shares, values, marker=mark, label=label)
        axis.set_xlabel(_WORDS["kept"])
        axis.set_ylabel(_WORDS[name])
        axis.legend(fontsize="x-small")
        files += save(figure, folder / f"acceptance-{name}")
    return files


def sweep(rows: Sequence[Row], setting: str, figure: str) -> list[Line]:
    """A line for each set and method that was run with several values of a setting,
    all else being equal: its name, the values, the figures."""
    groups: dict[str, dict[float, float]] = {}
    for row in rows:
        value = getattr(row.arm, setting)
        if isinstance(value, float | int) and figure in row.figures:
            others = {one: getattr(row.arm, one) for one in _SETTINGS if one != setting}
            if row.arm.history != USUAL:
                others["history"] = row.arm.history
            fixed = (f"{one} {now}" for one, now in others.items() if now is not None)
            name = ", ".join([row.dataset, row.arm.method, *fixed])
            groups.setdefault(name, {})[value] = row.figures[figure].value
    return [
        (name, sorted(found), [found[value] for value in sorted(found)])
        for name, found in groups.items()
        if len(found) > 1
    ]


def against_acceptance(rows: Sequence[Row], figure: str) -> list[Line]:
    """For each method, the acceptance of its rows and their figures."""
    groups: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        if {"kept", figure} <= row.figures.keys():
            shares, values = groups.setdefault(row.arm.method, ([], []))
            shares.append(row.figures["kept"].value)
            values.append(row.figures[figure].value)
    return [(name, *found) for name, found in groups.items()]


def _there(rows: Sequence[Row]) -> list[str]:
    return [name for name in _QUALITY if any(name in row.figures for row in rows)]


def _marks(lines: Sequence[Line]) -> str:
    return "".join(_MARKS[i % len(_MARKS)] for i in range(len(lines)))


def save(figure: Any, path: Path) -> list[Path]:
    """Write a picture as PNG and SVG; the same figures give the same bytes."""
    plt = matplotlib()
    figure.tight_layout()
    files = []
    for kind, metadata in _STILL.items():
        file = path.with_name(f"{path.name}.{kind}")
        figure.savefig(file, metadata=metadata)
        files.append(file)
    plt.close(figure)
    return files


def matplotlib() -> Any:
    """The pyplot of matplotlib, set to draw without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "specsteer"
    from matplotlib import pyplot

    return pyplot
