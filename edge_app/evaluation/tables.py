"""Figures as tables to read, in words, and as one JSON object without a word of the
texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from base.owner_only import write_whole
from edge_app.evaluation.figures import (
    FEWEST_UNITS,
    LEVEL,
    NATS_PER_BIT,
    RESAMPLES,
    WORTH,
    Change,
    Curve,
    Estimate,
    Group,
    Point,
    Tuned,
)
from edge_app.evaluation.pair import Measured, Measuring
from models.local.finding import sha256_of

Rows = list[list[str]]
Object = dict[str, Any]
Style = Callable[[str], str]

LEGEND = (
    "B small model without the history, S with it; L large model without it; T both "
    "joined, at the strength that did best on these texts. Less is easier to predict. "
    "In brackets 95 % intervals over users, or over the texts of an only user; 'yes': "
    f"better, with no zero in the interval, and {FEWEST_UNITS} or more to draw from."
)
TUNE_LEGEND = (
    "Less is easier to predict: nats per byte of the true texts; by strength under "
    "the steered target, by threshold under what steering emits at a drafted place. "
    "'kept' is the share of drafts that the server would keep. Changes are against "
    "what is set now, in brackets 95 % intervals; 'yes': clearly better. The best of "
    "several values is flattered a little."
)
_WIDEST, _NARROWEST = 24, 6


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


def markdown_table(rows: Rows, left: int = 1) -> str:
    """A table of GitHub's Markdown, the first `left` columns to the left."""
    heading, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    rule = [*["---"] * left, *["---:"] * (len(heading) - left)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, rule, *body))


def interval(estimate: Estimate, unit: float, digits: int, sign: str = "") -> str:
    """A figure in some unit and, if it has one, its interval in brackets."""
    shape = f"{sign}.{digits}f"
    words = format(estimate.value * unit, shape)
    if estimate.low is None or estimate.high is None:
        return words
    low, high = estimate.low * unit, estimate.high * unit
    return f"{words} ({format(low, shape)} to {format(high, shape)})"


def plain(groups: Sequence[Group]) -> str:
    """Three short blocks: nats, bits, changes."""
    nats = [["nats per byte", "texts", "users", "B", "S", "L", "T", "at"]]
    bits = [["bits per byte", "", "", "B", "S", "L", "T", ""]]
    changes = [["change in %", "", "", "(95 % interval)", "better"]]
    for one in groups:
        counts = [str(one.texts), str(one.users)]
        nats.append([one.name, *counts, *_values(one, 1.0), f"{one.best:g}"])
        bits.append([one.name, "", "", *_values(one, NATS_PER_BIT), ""])
        names = (one.name, "", "")
        for name, (label, change) in zip(names, _changes(one).items(), strict=True):
            value, _, rest = interval(change.relative, 100, 1, "+").partition(" ")
            changes.append([name, label, value, rest, change.verdict])
    figures = aligned(nats + bits)
    blocks = figures[: len(nats)], figures[len(nats) :], aligned(changes)
    return "\n\n".join("\n".join(block) for block in blocks)


def wide(groups: Sequence[Group]) -> str:
    """Every figure with its interval, each strength and each threshold."""
    rows = [["", "", "nats per byte", "bits per byte", "against L"]]
    for one in groups:
        for name, estimate in one.nats.items():
            both = [interval(estimate, unit, 3) for unit in (1.0, 1 / NATS_PER_BIT)]
            steering = one.changes.get(f"{name} - L")
            rows.append([one.name, name, *both, _change(steering) if steering else ""])
    kept = [["share kept, %", *(f"threshold {limit:g}" for limit in groups[0].kept)]]
    kept += [[g.name, *(interval(e, 100, 1) for e in g.kept.values())] for g in groups]
    return "\n".join([*aligned(rows), "", *aligned(kept)])


def markdown(groups: Sequence[Group]) -> str:
    """One table of Markdown, in nats per byte; bits of the figures last."""
    figures = ("B", "S", "L", "T")
    bits = [f"{name} bits" for name in figures]
    rows = [["set", "texts", "users", *figures, "T at", *_changes(groups[0]), *bits]]
    for one in groups:
        row = [one.name, str(one.texts), str(one.users), *_values(one, 1.0)]
        row += [f"{one.best:g}", *map(_change, _changes(one).values())]
        rows.append([*row, *_values(one, NATS_PER_BIT)])
    return markdown_table(rows)


def in_words(own: Group) -> str:
    """What the figures of one's own texts say."""
    history = _effect(
        own.changes["S - B"], "your history makes your own texts", "predict"
    )
    steering = _effect(
        own.changes[f"{own.target} - L"],
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
    names = ("B", "S", "L", one.target)
    return [f"{one.nats[name].value / unit:.3f}" for name in names]


def _changes(one: Group) -> dict[str, Change]:
    best = one.changes[f"{one.target} - L"]
    return {"S - B": one.changes["S - B"], "L - B": one.changes["L - B"], "T - L": best}


def _change(change: Change) -> str:
    return f"{interval(change.relative, 100, 1, '+')} {change.verdict}"


def curve_table(curve: Curve, width: int, full: str, style: Style) -> str:
    """A row per value, with a bar if there is room: nats above the best, or the share
    kept."""
    rows = [[curve.name, "nats per byte", "change in %", "better"]]
    title, shares = "above the best", []
    lowest = curve.at(curve.best).nats.value
    most = max(point.nats.value for point in curve.points) - lowest
    for point in curve.points:
        name = f"{point.value:g}{' now' if point.value == curve.now else ''}"
        rows.append([name, f"{point.nats.value:.4f}", *_moved(point)])
        shares.append((point.nats.value - lowest) / most if most else 0.0)
    if all(point.kept is not None for point in curve.points):
        title, shares = "of 100 %", [p.kept.value for p in curve.points if p.kept]
        rows[0].append("kept")
        for row, share in zip(rows[1:], shares, strict=True):
            row.append(f"{share:.0%}")
    lines = aligned(rows)
    taken = max(map(len, lines)) + 2
    room = min(_WIDEST, width - taken)
    if room < max(_NARROWEST, len(title)):
        return "\n".join(lines)
    drawn = [title, *(style(full * round(share * room)) for share in shares)]
    pairs = zip(lines, drawn, strict=True)
    return "\n".join(f"{line.ljust(taken)}{bar}".rstrip() for line, bar in pairs)


def _moved(point: Point) -> tuple[str, str]:
    """How much a value changes, and whether that is better; nothing for none."""
    change = point.change
    if change.absolute.value == 0.0:
        return "", ""
    return interval(change.relative, 100, 1, "+"), change.verdict


def choice_in_words(found: Tuned, *, automatic: bool) -> list[str]:
    """A sentence for each setting."""
    if not found.enough:
        return [
            f"{found.texts} texts are too few to choose by, so both settings are kept; "
            f"from {FEWEST_UNITS} on a choice can be told from chance"
        ]

    def costs(curve: Curve) -> str:
        change = curve.at(curve.chosen).change.relative
        value, _, rest = interval(change, 100, 1, "+").partition(" ")
        return f"true texts cost {value} % {rest}."

    curve = found.strength
    strength = f"Strength {curve.now:g} is kept: "
    if curve.chosen != curve.now:
        strength = f"Strength {curve.chosen:g} instead of {curve.now:g}: {costs(curve)}"
    elif curve.best == curve.now:
        strength += "no other did better."
    else:
        strength += f"whether {curve.best:g} is better is unclear."
    curve = found.threshold
    threshold = (
        f"Threshold {curve.now:g} is kept: no other clearly saves {WORTH:.0%} of "
        f"the nats, nor keeps more drafts for clearly less than {WORTH:.0%}."
    )
    chosen, now = (curve.at(value).kept for value in (curve.chosen, curve.now))
    if automatic:
        threshold = "The threshold is automatic, and that is kept."
    elif curve.chosen != curve.now and chosen and now:
        threshold = (
            f"Threshold {curve.chosen:g} instead of {curve.now:g}: {chosen.value:.0%} "
            f"of the drafts are kept, not {now.value:.0%}, and {costs(curve)}"
        )
    return [strength, threshold]


def document(
    texts: Sequence[Measured],
    groups: Sequence[Group],
    how: Measuring,
    models: Mapping[str, Path],
    run: Mapping[str, Any],
) -> Object:
    """Settings, models, groups and every text; `run` says what was asked for."""
    return {
        "settings": {**asdict(how), **run, "resamples": RESAMPLES, "level": LEVEL},
        "models": {role: file_of(path) for role, path in models.items()},
        "groups": [_group(group) for group in groups],
        "texts": [_text(text, how) for text in texts],
    }


def write(path: Path, body: Object) -> None:
    """Write it whole or not at all."""
    write_whole(path, f"{json.dumps(body, indent=1)}\n".encode())


def file_of(path: Path) -> Object:
    """Which file a model is."""
    size = path.stat().st_size
    return {"path": str(path), "bytes": size, "sha256": sha256_of(path)}


def _group(one: Group) -> Object:
    names = ("group", "genre", "texts", "users", "tokens", "size", "best")
    return {
        **{name: getattr(one, name) for name in names},
        "nats per byte": {name: asdict(nats) for name, nats in one.nats.items()},
        "changes": {
            name: {**asdict(change), "better": change.verdict}
            for name, change in one.changes.items()
        },
        "kept": {f"{limit:g}": asdict(share) for limit, share in one.kept.items()},
    }


def _text(one: Measured, how: Measuring) -> Object:
    case = one.case
    steered = zip(how.strengths, one.steered, strict=True)
    kept = zip(how.thresholds, one.kept, strict=True)
    return {
        "set": case.group,
        "genre": case.genre,
        "user": case.user,
        "text": case.name,
        "tokens": one.tokens,
        "bytes": one.size,
        "whole": one.whole,
        "past texts read": one.read,
        "nats": {
            "B": one.base,
            "S": one.specialist,
            "L": one.generalist,
            **{f"T {beta:g}": value for beta, value in steered},
        },
        "kept": {f"{limit:g}": count / one.tokens for limit, count in kept},
    }
