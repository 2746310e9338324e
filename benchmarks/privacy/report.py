"""The figures as a table and as one JSON object without a word of any text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.privacy.runner import GRID, Row
from decoding_core.foreign_text import one_line
from edge_app.evaluation.figures import Estimate
from edge_app.evaluation.tables import Rows, aligned

Object = dict[str, Any]
_TOLD = (25, 50, 200)
"""Tokens sent that the table tells; all are in the JSON."""

LEGEND = (
    "of N at T: writers found among N histories by the first T tokens sent; chance "
    "is 1/N. nats: evidence for the writer's own history, for each token sent and for "
    "each text. letters: chance that a letter that was read has more evidence than "
    "another of the same writer (chance 50 %), and how many are found at one false in "
    "a hundred. secrets: of those planted, how many could be read in what left, in "
    "refused drafts alone, and in the text. kept: accepted of the drafted. sent: "
    "tokens sent for each of the text. habits: of those that the true text shows. In "
    "brackets 95 % "
    "intervals: Wilson's of the writers found, of all else from resamples of writers."
)


def identification(rows: Sequence[Row], among: Sequence[int]) -> Rows:
    """Who is found: a line for each condition."""
    heading = ["", "texts", *(f"of {n} at {t}" for n in among for t in _TOLD)]
    heading += ["nats a token", "nats a text"]
    lines = [heading]
    for row in rows:
        by = {(one.among, one.tokens): one.share for one in row.found}
        cells = [_share(by[n, t]) for n in among for t in _TOLD]
        lines.append(
            [
                row.condition,
                str(row.texts),
                *cells,
                f"{row.evidence.value:.2f}",
                f"{row.nats:.1f}",
            ]
        )
    return lines


def letters_and_secrets(rows: Sequence[Row]) -> Rows:
    """Which letters, which secrets, and what it costs."""
    lines = [
        [
            *("", "letters, AUC", "at 1 % false", "secrets left", "refused only"),
            *("in the text", "kept", "sent", "habits"),
        ]
    ]
    for row in rows:
        unread = next((m for m in row.memberships if m.against == "unread"), None)
        secrets = [row.secrets.get(name) for name in ("left", "refused", "text")]
        lines.append(
            [
                row.condition,
                "-" if unread is None else _share(unread.auc),
                "-" if unread is None else f"{100 * unread.tpr:.0f} %",
                *("-" if one is None else f"{100 * one:.0f} %" for one in secrets),
                _share(row.acceptance) if row.acceptance.value else "-",
                f"{row.sent:.2f}",
                "-" if row.habits is None else _share(row.habits),
            ]
        )
    return lines


def plain(rows: Sequence[Row], among: Sequence[int]) -> str:
    """For a terminal."""
    tables = [identification(rows, among), letters_and_secrets(rows)]
    blocks = ("\n".join(map(one_line, aligned(table))) for table in tables)
    return "\n\n".join(blocks)


def document(rows: Sequence[Row], run: Mapping[str, Any]) -> Object:
    """All figures, and what was asked."""
    return {
        **run,
        "tokens": list(GRID),
        "rows": [asdict(row) for row in rows],
    }


def _share(one: Estimate) -> str:
    words = f"{100 * one.value:.0f} %"
    if one.low is None or one.high is None:
        return words
    return f"{words} ({100 * one.low:.0f}-{100 * one.high:.0f})"


def markdown(rows: Sequence[Row], among: Sequence[int]) -> str:
    """For a page."""
    return "\n\n".join(
        _markdown(table)
        for table in (identification(rows, among), letters_and_secrets(rows))
    )


def _markdown(table: Rows) -> str:
    heading, *body = [[cell.replace("|", "\\|") for cell in line] for line in table]
    rule = ["---", *["---:"] * (len(heading) - 1)]
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, rule, *body)]
    return "\n".join(map(one_line, lines))
