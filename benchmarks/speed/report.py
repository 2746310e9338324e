"""The figures of a run as a table, as pictures, as JSON with what made them."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.speed.one_text import PARTS, Row, Unloaded, bar
from models.running.settings import usable_cores

Rows = list[list[str]]
GENERALIST = "generalist"
COSTEER = "costeer"
_PACKAGES = ("specsteer", "llama-cpp-python", "numpy", "uvicorn", "httpx", "websockets")

_COLUMNS: dict[str, Callable[[Row], str]] = {
    "engines": lambda row: row.cell.engines,
    "a": lambda row: "" if row.cell.acceptance is None else f"{row.cell.acceptance:g}",
    "method": lambda row: row.cell.method,
    "window": lambda row: row.cell.window,
    "draft": lambda row: row.cell.draft_length,
    "trip ms": lambda row: f"{1000 * row.cell.trip:.0f}",
    "tok/s": lambda row: f"{row.tokens_per_second:.1f}",
    "x gen.": lambda row: _number(row.over_generalist),
    "x CoSteer": lambda row: _number(row.over_costeer),
    "tok/round": lambda row: _number(row.tokens_a_round),
    "kept": lambda row: _share(row.kept),
    "in vain": lambda row: _share(row.in_vain),
    "B/tok": lambda row: (
        "" if row.bytes_a_token is None else f"{row.bytes_a_token:.0f}"
    ),
    "first ms": lambda row: "" if row.first is None else f"{1000 * row.first:.0f}",
    "/limit": lambda row: _number(row.over_limit),
    "busy": lambda row: _share(row.busy),
    "where the time goes": lambda row: bar(row.parts) if row.parts else "",
}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def compared(rows: Sequence[Row]) -> list[Row]:
    """The rows with their ratios to the generalist alone, and to CoSteer."""
    alone = {
        row.cell.engines: row.tokens_per_second
        for row in rows
        if row.cell.method == GENERALIST and not row.cell.trip
    }
    steered = {
        (row.cell.engines, row.cell.trip): row.tokens_per_second
        for row in rows
        if row.cell.method == COSTEER
    }
    found = []
    for row in rows:
        others = (
            alone.get(row.cell.engines),
            steered.get((row.cell.engines, row.cell.trip)),
        )
        over = [row.tokens_per_second / other if other else None for other in others]
        first = over[0] if row.over_generalist is None else row.over_generalist
        found.append(replace(row, over_generalist=first, over_costeer=over[1]))
    return found


def table(rows: Sequence[Row]) -> Rows:
    """One line for each row, under one line of names."""
    return [[*_COLUMNS], *([cell(row) for cell in _COLUMNS.values()] for row in rows)]


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


LEGEND = (
    "tok/s: after the first token. x gen.: against the large model alone that streams "
    "its text and pays the round trip once; the row 'generalist' pays it for each "
    "token, as our protocol does. in vain: drafted behind a "
    "block with a refusal, and never verified. /limit: time "
    "a token over t_draft + (1 - a)(t_verify + trip), the least of a single chain. "
    "busy: share of the time that blocks are out in which the specialist works. Where "
    "the time goes: "
    + ", ".join(f"{letter} {part}" for part, letter in PARTS.items())
    + "."
)


def manifest(settings: Mapping[str, Any], models: Sequence[Path]) -> dict[str, Any]:
    """What a table was made with."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "command": " ".join(["specsteer lab bench", *sys.argv[3:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "models": {path.name: _sha256(path) for path in models},
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": usable_cores(),
            "load at the end": os.getloadavg() if hasattr(os, "getloadavg") else None,
        },
        "settings": dict(settings),
    }


def manifest_lines(about: Mapping[str, Any]) -> str:
    """The manifest in a few lines, below the table; the JSON has all of it."""
    machine, versions = about["machine"], about["versions"]
    models = [f"{name} {sha256[:12]}" for name, sha256 in about["models"].items()]
    return "\n".join(
        [
            f"{about['date']}, {machine['processor']}, {machine['cores']} cores, "
            f"load at the end {machine['load at the end']}",
            ", ".join(f"{name} {number}" for name, number in versions.items()),
            *models,
            about["command"],
        ]
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def as_json(
    rows: Sequence[Row], alone: Mapping[str, Unloaded], about: Mapping[str, Any]
) -> dict[str, Any]:
    """All figures and what they were made with."""
    return {
        "manifest": dict(about),
        "alone, seconds": {name: asdict(times) for name, times in alone.items()},
        "rows": [{**asdict(row), "over_limit": row.over_limit} for row in rows],
    }
