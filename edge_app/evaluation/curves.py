"""Curves of settings as tables with bars, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edge_app.evaluation.bootstrap import Estimate
from edge_app.evaluation.report import FEWEST_UNITS
from edge_app.evaluation.table import aligned
from edge_app.evaluation.tuning import WORTH, Curve, Point, Tuned

LEGEND = (
    "Less is easier to predict: nats per byte of the true texts; by strength under "
    "the steered target, by threshold under what steering emits at a drafted place. "
    "'kept' is the share of drafts that the server would keep. Changes are against "
    "what is set now, in brackets 95 % intervals; 'yes': clearly better. The best of "
    "several values is flattered a little."
)
_WIDEST, _NARROWEST = 24, 6

Style = Callable[[str], str]


def strength_table(curve: Curve, width: int, full: str, style: Style) -> str:
    """A row per strength; the bar is how far above the best it lies."""
    rows = [["strength", "nats per byte", "change in %", "better"]]
    rows += [
        [_name(point, curve), f"{point.nats.value:.4f}", _change(point), _word(point)]
        for point in curve.points
    ]
    lowest = curve.at(curve.best).nats.value
    above = [point.nats.value - lowest for point in curve.points]
    most = max(above)
    shares = [value / most if most else 0.0 for value in above]
    return _with_bars(aligned(rows), shares, "above the best", width, full, style)


def threshold_table(curve: Curve, width: int, full: str, style: Style) -> str:
    """A row per threshold; the bar is the share of drafts kept."""
    rows = [["threshold", "nats per byte", "change in %", "better", "kept"]]
    shares = []
    for point in curve.points:
        share = point.kept.value if point.kept is not None else 0.0
        shares.append(share)
        cells = [f"{point.nats.value:.4f}", _change(point), _word(point)]
        rows.append([_name(point, curve), *cells, f"{share:.0%}"])
    return _with_bars(aligned(rows), shares, "of 100 %", width, full, style)


def in_words(found: Tuned, *, automatic: bool) -> list[str]:
    """A sentence for each setting."""
    if not found.enough:
        return [
            f"{found.texts} texts are too few to choose by, so both settings are kept; "
            f"from {FEWEST_UNITS} on a choice can be told from chance"
        ]
    curve = found.strength
    if curve.chosen != curve.now:
        gain = _percent(curve.at(curve.chosen).change.relative)
        strength = (
            f"Strength {curve.chosen:g} instead of {curve.now:g}: true texts cost "
            f"{gain}."
        )
    elif curve.best == curve.now:
        strength = f"Strength {curve.now:g} is kept: no other did better."
    else:
        strength = (
            f"Strength {curve.now:g} is kept: whether {curve.best:g} is better is "
            "unclear."
        )
    if automatic:
        return [strength, "The threshold is automatic, and that is kept."]
    curve = found.threshold
    if curve.chosen == curve.now:
        return [
            strength,
            f"Threshold {curve.now:g} is kept: no other clearly saves {WORTH:.0%} of "
            f"the nats, nor keeps more drafts for clearly less than {WORTH:.0%}.",
        ]
    chosen, now = curve.at(curve.chosen), curve.at(curve.now)
    assert chosen.kept is not None
    assert now.kept is not None
    return [
        strength,
        f"Threshold {curve.chosen:g} instead of {curve.now:g}: {chosen.kept.value:.0%} "
        f"of the drafts are kept, not {now.kept.value:.0%}, and true texts cost "
        f"{_percent(chosen.change.relative)}.",
    ]


def _with_bars(
    lines: Sequence[str],
    shares: Sequence[float],
    title: str,
    width: int,
    full: str,
    style: Style,
) -> str:
    """Bars to the right of a table, where there is room for them."""
    taken = max(map(len, lines)) + 2
    room = min(_WIDEST, width - taken)
    if room < max(_NARROWEST, len(title)):
        return "\n".join(lines)
    drawn = [title, *(style(full * round(share * room)) for share in shares)]
    pairs = zip(lines, drawn, strict=True)
    return "\n".join(f"{line.ljust(taken)}{bar}".rstrip() for line, bar in pairs)


def _name(point: Point, curve: Curve) -> str:
    mark = " now" if point.value == curve.now else ""
    return f"{point.value:g}{mark}"


def _word(point: Point) -> str:
    return "" if point.change.absolute.value == 0.0 else point.change.verdict


def _change(point: Point) -> str:
    change = point.change.relative
    if point.change.absolute.value == 0.0:
        return ""
    words = f"{100 * change.value:+.1f}"
    if change.low is None or change.high is None:
        return words
    return f"{words} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


def _percent(change: Estimate) -> str:
    """Such as: -2.1 % (-3.2 to -1.0)."""
    assert change.low is not None
    assert change.high is not None
    low, high = 100 * change.low, 100 * change.high
    return f"{100 * change.value:+.1f} % ({low:+.1f} to {high:+.1f})"
