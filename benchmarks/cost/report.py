"""The figures of a run, as tables to read and as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cost.operations import Text, steering, with_history
from benchmarks.cost.shapes import ShapedPair
from benchmarks.cost.traffic import Traffic

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Line:
    """The operations of one length of history."""

    history: int
    generalist: float
    """The generalist with the history."""
    steered: dict[float, float]
    """Steering, by threshold."""

    def saving(self, threshold: float) -> float:
        """How many times less steering takes."""
        return self.generalist / self.steered[threshold]


def lines(
    pair: ShapedPair,
    text: Text,
    histories: Sequence[int],
    accepted: Mapping[float, float],
) -> list[Line]:
    """One line for each length of history; `accepted` by threshold."""
    return [
        Line(
            history,
            with_history(pair, text, history),
            {t: steering(pair, text, history, a) for t, a in accepted.items()},
        )
        for history in histories
    ]


def operations_table(found: Sequence[Line], accepted: Mapping[float, float]) -> Rows:
    """Operations, and how many times less than the generalist with the history."""
    most = max(line.generalist for line in found)
    power = next((power for power in (12, 9, 6) if most >= 10**power), 0)
    unit, word = 10.0**power, f"10^{power} operations" if power else "operations"
    heads = [f"steering {limit:g}" for limit in accepted]
    rows = [[f"history ({word})", "generalist with history", *heads]]
    rows.append(["drafts kept", "", *(f"{share:.0%}" for share in accepted.values())])
    for line in found:
        cells = [
            f"{line.steered[t] / unit:.4g} ({line.saving(t):.2f}x)" for t in accepted
        ]
        rows.append([str(line.history), f"{line.generalist / unit:.4g}", *cells])
    return rows


def traffic_table(found: Sequence[Traffic], written: int) -> Rows:
    """Bytes, a row for each method."""
    rows = [["method", "tokens a round", "up", "down", "opening", "bytes a token"]]
    for one in found:
        if not one.tokens:
            rows.append([one.method, "", "0", "0", "0", "0"])
            continue
        sizes = [str(one.up), str(one.down), str(one.opening)]
        each = f"{one.per_token(written):.0f}"
        rows.append([one.method, f"{one.tokens:.2f}", *sizes, each])
    return rows


def plain(rows: Rows) -> str:
    """Columns side by side, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    found = []
    for first, *others in rows:
        cells = [cell.rjust(n) for cell, n in zip(others, widths[1:], strict=True)]
        found.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(found)


def markdown(rows: Rows) -> str:
    """The same for a page."""
    head, *others = rows
    body = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(row)} |" for row in body)


def as_json(
    pair: ShapedPair,
    text: Text,
    accepted: Mapping[float, float],
    found: Sequence[Line],
    sent: Sequence[Traffic],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """All settings and figures."""
    shapes = {"specialist": asdict(pair.specialist)}
    shapes["generalist"] = asdict(pair.generalist)
    return {
        "pair": {"name": pair.name, "source": pair.source, **shapes},
        "text": asdict(text),
        "settings": dict(settings),
        "accepted": {f"{t:g}": share for t, share in accepted.items()},
        "operations": [
            {
                "history": line.history,
                "generalist_with_history": line.generalist,
                "steering": {f"{t:g}": n for t, n in line.steered.items()},
                "times less": {f"{t:g}": line.saving(t) for t in line.steered},
            }
            for line in found
        ],
        "bytes": [
            {**asdict(one), "per token": one.per_token(text.tokens)} for one in sent
        ],
    }
