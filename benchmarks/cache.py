"""Results that are kept, and the code and files that each depends on.

A result is one JSON line, appended whole: a process that is killed loses the result it
was at, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from base.locks import lock
from base.owner_only import make_folder, open_private
from decoding_core.errors import InvalidSettingsError

Body = dict[str, Any]

_ROOT = Path(__file__).parents[1]
_DECIDES = (
    *("base/*.py", "decoding_core/**/*.py", "models/**/*.py"),
    *("benchmarks/*.py", "benchmarks/[pq]*/*.py"),
    *("edge_app/decoding/*.py", "edge_app/evaluation/*.py", "edge_app/retrieval/*.py"),
    *("edge_app/privacy/**/*.py", "edge_app/service/*.py"),
    *("personal_store/search/*.py", "personal_store/text/*.py"),
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


class Cache:
    """Results by what they depend on, in one file."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        """Read the file, if there is one; of several results for one key the last
        counts, and none when `fresh`. Raises InvalidSettingsError if it cannot be used,
        or another run is using it."""
        self.path = path
        try:
            make_folder(path.parent)
            self._file = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise InvalidSettingsError(
                f"results cannot be kept in {path.parent}; --cache names another folder"
            ) from error
        try:
            lock(self._file)
        except OSError as error:
            os.close(self._file)
            raise InvalidSettingsError(
                f"another run is using {path}; wait for it, or choose another --cache"
            ) from error
        self._mend()
        self._found: dict[str, Body] = {}
        for line in [] if fresh else path.read_bytes().splitlines():
            try:
                row = json.loads(line)
                self._found[str(row["key"])] = dict(row["result"])
            except (ValueError, KeyError, TypeError):
                continue  # damaged: computed again

    def get(self, depends: Mapping[str, Any]) -> Body | None:
        """The result that depends on these; None if it is not there yet."""
        return self._found.get(key_of(depends))

    def put(self, depends: Mapping[str, Any], result: Body) -> None:
        """Keep a result; raises InvalidSettingsError when there is no room for it."""
        key = key_of(depends)
        line = json.dumps({"key": key, "of": depends, "result": result}) + "\n"
        data = line.encode()
        try:
            written = os.write(self._file, data)
        except OSError as error:
            written, reason = 0, error.strerror
        else:
            reason = "no space left on device"
        if written < len(data):
            self._mend()
            raise InvalidSettingsError(
                f"the result cannot be kept in {self.path}: {reason}"
            )
        self._found[key] = result

    def result(self, depends: Mapping[str, Any], compute: Callable[[], Body]) -> Body:
        """The result that is kept, or else the one computed now, which is kept."""
        found = self.get(depends)
        if found is None:
            found = compute()
            self.put(depends, found)
        return found

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)

    def _mend(self) -> None:
        """Drop a last line that was not written whole."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)


def key_of(depends: Mapping[str, Any]) -> str:
    """A name for what a result depends on."""
    words = json.dumps(depends, sort_keys=True, allow_nan=False)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


@cache
def code_id(*more: str) -> str:
    """Hash of the code that decides what is written, and of what more files decide."""
    sha, globs = hashlib.sha256(), (*_DECIDES, *more)
    for path in sorted({file for glob in globs for file in _ROOT.glob(glob)}):
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
