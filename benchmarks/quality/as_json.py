"""All that was measured as one JSON object, without a word of any text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.quality.code import code_id, versions
from benchmarks.quality.lab import Lab
from benchmarks.quality.runner import Result
from benchmarks.quality.summary import Row
from edge_app.evaluation.bootstrap import LEVEL, RESAMPLES

Object = dict[str, Any]

_NAMES = {
    "meteor": "meteor (no synonyms)",
    "kept": "accepted / drafted",
    "speed": "tokens per second",
    "bytes": "bytes per token",
    "nats": "nats per byte",
}


def document(
    rows: Sequence[Row], results: Sequence[Result], lab: Lab, run: Mapping[str, Any]
) -> Object:
    """Settings, models, versions, rows and every text; `run` says what was asked."""
    how = asdict(lab.how)
    intervals = {"resamples": RESAMPLES, "level": LEVEL, "drawn": "users"}
    return {
        "settings": {**run, **how, "intervals": intervals},
        "models": {
            role: {
                "path": str(path),
                "bytes": path.stat().st_size,
                "sha256": lab.hashes[role],
            }
            for role, path in lab.models.items()
        },
        "versions": {**versions(), "code": code_id()},
        "rows": [_row(row) for row in rows],
        "texts": [_text(result) for result in results],
    }


def _row(row: Row) -> Object:
    return {
        "set": row.dataset,
        "method": row.arm.method,
        "settings": asdict(row.arm.settings),
        "cannot write": row.arm.refusal or None,
        "texts": row.texts,
        "users": row.users,
        "figures": {
            _NAMES.get(name, name): asdict(figure)
            for name, figure in row.figures.items()
        },
    }


def _text(one: Result) -> Object:
    outcome = {} if one.outcome is None else asdict(one.outcome)
    outcome.pop("text", None)
    return {
        "set": one.query.dataset,
        "user": one.query.user,
        "query": one.query.name,
        "source": one.query.source,
        "method": one.arm.method,
        "threshold": one.arm.threshold,
        "strength": one.arm.strength,
        **outcome,
        "score": one.score,
        "nats": one.nats,
        "bytes": one.size,
    }
