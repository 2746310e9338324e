"""The figures as a table for a terminal, as a page for the documentation, as pictures,
and as one JSON object without a word of any text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.privacy.figures import GRID, Decision, Row
from benchmarks.privacy.watching import Told
from benchmarks.quality.plots import matplotlib, save
from decoding_core.foreign_text import one_line
from edge_app.evaluation.bootstrap import Estimate
from edge_app.evaluation.table import Rows, aligned

Object = dict[str, Any]
_MARKS = "osD^vP*X<>"
_TOLD = (25, 50, 200)
"""Tokens sent that the table tells; all are in the JSON and the plots."""

LEGEND = (
    "of N at T: writers found among N histories by the first T tokens sent; chance "
    "is 1/N. nats: evidence for the writer's own history, for each token sent and for "
    "each text. letters: chance that a letter that was read has more evidence than "
    "another of the same writer (chance 50 %), and how many are found at one false in "
    "a hundred. secrets: of those planted, how many could be read in what left, in "
    "refused drafts alone, and in the text. kept: accepted of the drafted. sent: "
    "tokens sent for each of the text. habits: of those that the true text shows. "
    "gain: of what T saves over L on true texts, how much is left, with "
    "what the guard holds back drawn from S alone, in the context that it would have "
    "had. In brackets 95 % "
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
            *("in the text", "kept", "sent", "habits", "gain"),
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
                "-" if row.gain is None else f"{100 * row.gain:.0f} %",
            ]
        )
    return lines


def line_told(found: Sequence[Told]) -> Rows:
    """What a watcher of an encrypted line knows."""
    heading = ["", "text, R²", "request, R²", "history, R²", "sizes of openings"]
    lines = [[*heading, "spread of times", "seconds a text"]]
    for one in found:
        shares = (f"{value:.2f}" for value in (one.text, one.request, one.history))
        spread = f"{one.spread:.2f}"
        sizes = str(one.openings)
        lines.append([one.line, *shares, sizes, spread, f"{one.seconds:.2f}"])
    return lines


def plain(rows: Sequence[Row], among: Sequence[int], line: Sequence[Told]) -> str:
    """For a terminal."""
    tables = [identification(rows, among), letters_and_secrets(rows)]
    tables += [line_told(line)] if line else []
    blocks = ("\n".join(map(one_line, aligned(table))) for table in tables)
    return "\n\n".join(blocks)


def page(
    rows: Sequence[Row],
    among: Sequence[int],
    line: Sequence[Told],
    about: Mapping[str, str],
    left_out: Sequence[str],
    decision: Decision | None = None,
) -> str:
    """A page of the documentation, written whole by the command that it names."""
    parts = [
        "# Privacy, measured\n\nThis page is written by `specsteer lab bench privacy "
        "--page FILE`; [privacy.md](privacy.md#measured) says what the figures mean. "
        "Written with:\n",
        _markdown([["what", "which"], *([k, v] for k, v in about.items())]),
        "\n## Who is found\n",
        _markdown(identification(rows, among)),
        "\n## Letters, secrets, and what it costs\n",
        _markdown(letters_and_secrets(rows)),
    ]
    if decision is not None:
        parts += ["\n## What follows for the default\n", decision.sentence]
    if line:
        parts += ["\n## What an encrypted line shows\n", _markdown(line_told(line))]
    parts.append(f"\n{LEGEND}")
    parts += [f"\n{sentence}." for sentence in left_out]
    return "\n".join(parts) + "\n"


def document(
    rows: Sequence[Row], line: Sequence[Told], run: Mapping[str, Any]
) -> Object:
    """All figures, and what was asked."""
    return {
        **run,
        "tokens": list(GRID),
        "rows": [asdict(row) for row in rows],
        "line": [asdict(one) for one in line],
    }


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


def _share(one: Estimate) -> str:
    words = f"{100 * one.value:.0f} %"
    if one.low is None or one.high is None:
        return words
    return f"{words} ({100 * one.low:.0f}-{100 * one.high:.0f})"


def _markdown(table: Rows) -> str:
    heading, *body = [[cell.replace("|", "\\|") for cell in line] for line in table]
    rule = ["---", *["---:"] * (len(heading) - 1)]
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, rule, *body)]
    return "\n".join(map(one_line, lines))
