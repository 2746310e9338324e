"""Which code and which files a figure comes from."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_DECIDES = (
    "benchmarks/pair.py",
    "benchmarks/quality/likely.py",
    "benchmarks/quality/metrics.py",
    "benchmarks/quality/query.py",
    "benchmarks/quality/lab.py",
    "benchmarks/quality/sets/*.py",
    "benchmarks/quality/wire.py",
    "decoding_core/**/*.py",
    "edge_app/verifiers/on_device.py",
    "edge_app/retrieval/context.py",
    "edge_app/decoding/deciders.py",
    "edge_app/decoding/loop.py",
    "edge_app/evaluation/cases.py",
    "edge_app/evaluation/eval_files.py",
    "edge_app/evaluation/likelihood.py",
    "edge_app/decoding/events.py",
    "edge_app/retrieval/passages.py",
    "models/*.py",
    "models/engines/*.py",
    "personal_store/search/retrieval.py",
    "personal_store/text/tokens.py",
)
"""All that a text and its scores depend on, so that a change of it counts."""
_LIBRARIES = (
    "specsteer",
    "llama-cpp-python",
    "numpy",
    "rank-bm25",
    "rouge-score",
    "nltk",
)


@cache
def code_id() -> str:
    """Hash of the code that decides what is written."""
    sha = hashlib.sha256()
    for path in sorted({file for glob in _DECIDES for file in _ROOT.glob(glob)}):
        sha.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
    return sha.hexdigest()[:16]


@cache
def versions() -> dict[str, str]:
    """Of Python and of the libraries that figures depend on."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
