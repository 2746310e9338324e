"""All that was measured, as one JSON object without a word of the texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from base.owner_only import write_whole
from edge_app.evaluation.bootstrap import LEVEL, RESAMPLES
from edge_app.evaluation.pair import Measured, Measuring
from edge_app.evaluation.report import NATS_PER_BIT, Group

Object = dict[str, Any]


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
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": sha256}


def _group(one: Group) -> Object:
    figures = {"B": one.base, "S": one.specialist, "L": one.generalist}
    figures |= {f"T {beta:g}": estimate for beta, estimate in one.steered.items()}
    changes = {"S - B": one.history, "L - B": one.scale}
    changes |= {f"T {beta:g} - L": change for beta, change in one.steering.items()}
    return {
        "set": one.group,
        "genre": one.genre,
        "texts": one.texts,
        "users": one.users,
        "tokens": one.tokens,
        "bytes": one.size,
        "best strength": one.best,
        "figures": {
            name: {
                "nats per byte": asdict(figure),
                "bits per byte": {
                    name: None if value is None else value * (1 / NATS_PER_BIT)
                    for name, value in asdict(figure).items()
                },
            }
            for name, figure in figures.items()
        },
        "changes": {
            name: {
                "relative": asdict(change.relative),
                "nats per byte": asdict(change.absolute),
                "better": change.verdict,
            }
            for name, change in changes.items()
        },
        "kept": {f"{limit:g}": asdict(share) for limit, share in one.kept.items()},
    }


def _text(one: Measured, how: Measuring) -> Object:
    case = one.case
    nats = {"B": one.base, "S": one.specialist, "L": one.generalist}
    steered = zip(how.strengths, one.steered, strict=True)
    nats |= {f"T {beta:g}": value for beta, value in steered}
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
        "nats": nats,
        "kept": {f"{limit:g}": count / one.tokens for limit, count in kept},
    }
