"""Figures as tables to read, and what they say in words."""

from __future__ import annotations

from collections.abc import Sequence

from edge_app.evaluation.bootstrap import Estimate
from edge_app.evaluation.report import FEWEST_UNITS, NATS_PER_BIT, Change, Group

LEGEND = (
    "B small model without the history, S with it; L large model without it; T both "
    "joined, at the strength that did best on these texts. Less is easier to predict. "
    "In brackets 95 % intervals over users, or over the texts of an only user; 'yes': "
    f"better, with no zero in the interval, and {FEWEST_UNITS} or more to draw from."
)
_FIGURES = ("B", "S", "L", "T")
_CHANGES = ("S - B", "L - B", "T - L")

Rows = list[list[str]]


def plain(groups: Sequence[Group]) -> str:
    """Three short blocks: nats, bits, changes."""
    nats = [["nats per byte", "texts", "users", *_FIGURES, "at"]]
    bits = [["bits per byte", "", "", *_FIGURES, ""]]
    changes = [["change in %", "", "", "(95 % interval)", "better"]]
    for one in groups:
        counts = [str(one.texts), str(one.users)]
        nats.append([one.name, *counts, *_values(one, 1.0), f"{one.best:g}"])
        bits.append([one.name, "", "", *_values(one, NATS_PER_BIT), ""])
        names = [one.name, "", ""]
        for name, label, change in zip(names, _CHANGES, _changes(one), strict=True):
            value, _, interval = _interval(change.relative, 100, 1, "+").partition(" ")
            changes.append([name, label, value, interval, change.verdict])
    figures = aligned(nats + bits)
    blocks = figures[: len(nats)], figures[len(nats) :], aligned(changes)
    return "\n\n".join("\n".join(block) for block in blocks)


def wide(groups: Sequence[Group]) -> str:
    """Every figure with its interval, each strength and each threshold."""
    rows = [["", "", "nats per byte", "bits per byte", "against L"]]
    for one in groups:
        estimates = {"B": one.base, "S": one.specialist, "L": one.generalist}
        for name, estimate in estimates.items():
            rows.append([one.name, name, *_both(estimate), ""])
        for strength, estimate in one.steered.items():
            change = _change(one.steering[strength])
            rows.append([one.name, f"T {strength:g}", *_both(estimate), change])
    kept = [["share kept, %", *(f"threshold {limit:g}" for limit in groups[0].kept)]]
    kept += [[g.name, *(_interval(e, 100, 1) for e in g.kept.values())] for g in groups]
    return "\n".join([*aligned(rows), "", *aligned(kept)])


def markdown(groups: Sequence[Group]) -> str:
    """One table of GitHub's Markdown, in nats per byte; bits of the figures last."""
    bits = [f"{name} bits" for name in _FIGURES]
    heading = ["set", "texts", "users", *_FIGURES, "T at", *_CHANGES, *bits]
    rows = [heading, ["---", *["---:"] * (len(heading) - 1)]]
    for one in groups:
        row = [one.name.replace("|", "\\|"), str(one.texts), str(one.users)]
        row += [*_values(one, 1.0), f"{one.best:g}", *map(_change, _changes(one))]
        rows.append([*row, *_values(one, NATS_PER_BIT)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def in_words(own: Group) -> str:
    """What the figures of one's own texts say."""
    history = _effect(own.history, "your history makes your own texts", "predict")
    steering = _effect(
        own.steering[own.best],
        f"steering with it (strength {own.best:g}) makes them",
        "predict for the large model",
    )
    return f"{history} {steering}"


def _effect(change: Change, subject: str, verb: str) -> str:
    """Such as: Your history makes your own texts 12 % easier to predict (8 to 15)."""
    share = change.relative
    if share.low is None or share.high is None or change.units < FEWEST_UNITS:
        return f"Whether {subject} easier to {verb} cannot be told from so few texts."
    if change.verdict == "unclear":
        low, high = 100 * share.low, 100 * share.high
        return (
            f"Whether {subject} easier to {verb} is unclear: "
            f"{low:+.1f} to {high:+.1f} %, and less is easier."
        )
    word = "easier" if change.verdict == "yes" else "harder"
    low, high = sorted((abs(100 * share.low), abs(100 * share.high)))
    digits = 0 if low >= 1 else 1
    return (
        f"{subject[0].upper()}{subject[1:]} {abs(100 * share.value):.{digits}f} % "
        f"{word} to {verb} ({low:.{digits}f} to {high:.{digits}f})."
    )


def _values(one: Group, unit: float) -> list[str]:
    return [
        f"{estimate.value / unit:.3f}"
        for estimate in (
            one.base,
            one.specialist,
            one.generalist,
            one.steered[one.best],
        )
    ]


def _changes(one: Group) -> tuple[Change, Change, Change]:
    return one.history, one.scale, one.steering[one.best]


def _change(change: Change) -> str:
    return f"{_interval(change.relative, 100, 1, '+')} {change.verdict}"


def _both(estimate: Estimate) -> list[str]:
    return [_interval(estimate, unit, 3) for unit in (1.0, 1 / NATS_PER_BIT)]


def _interval(estimate: Estimate, unit: float, digits: int, sign: str = "") -> str:
    shape = f"{sign}.{digits}f"
    words = format(estimate.value * unit, shape)
    if estimate.low is None or estimate.high is None:
        return words
    low, high = estimate.low * unit, estimate.high * unit
    return f"{words} ({format(low, shape)} to {format(high, shape)})"


def aligned(rows: Rows, left: int = 1) -> list[str]:
    """Columns side by side, the first `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        sized = list(zip(row, widths, strict=True))
        cells = [cell.ljust(width) for cell, width in sized[:left]]
        cells += [cell.rjust(width) for cell, width in sized[left:]]
        lines.append("  ".join(cells).rstrip())
    return lines
