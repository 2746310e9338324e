"""Operations against the length of the history, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.cost.report import Line
from decoding_core.errors import InvalidSettingsError
from personal_store.extras import how_to_add


def plot(found: Sequence[Line], title: str, path: Path) -> None:
    """Draw it; the kind of the file is that of its name.

    Raises:
        InvalidSettingsError: matplotlib is missing, or draws no such file.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidSettingsError(
            f"--plot needs more libraries: {how_to_add('bench')}"
        ) from error
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    histories = [line.history for line in found]
    largest = [line.generalist for line in found]
    axes.plot(histories, largest, "o-", label="generalist with history")
    for limit in found[0].steered:
        steered = [line.steered[limit] for line in found]
        axes.plot(histories, steered, "o-", label=f"steering, threshold {limit:g}")
    axes.set(
        xlabel="tokens of history", ylabel="operations", title=title, ylim=(0, None)
    )
    axes.legend()
    try:
        figure.savefig(path)
    except ValueError as error:
        raise InvalidSettingsError(
            f"{path.name} is no kind of picture; choose .svg or .png"
        ) from error
