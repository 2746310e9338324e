"""What was computed once: one JSON line a result, appended whole.

A process that is killed loses the result it was at, and nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from decoding_core.errors import InvalidSettingsError
from models.owner_only import make_folder, open_private

Body = dict[str, Any]


class Cache:
    """Results by what they depend on, in one file."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        """Read the file, if there is one; when `fresh`, nothing found in it counts.

        Raises:
            InvalidSettingsError: it cannot be used, or another run is using it.
        """
        self.path = path
        try:
            make_folder(path.parent)
            self._file = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise InvalidSettingsError(
                f"results cannot be kept in {path.parent}; --cache names another folder"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise InvalidSettingsError(
                f"another run is using {path}; wait for it, or choose another --cache"
            ) from error
        self._mend()
        self._found = {} if fresh else self._read()

    def get(self, depends: Mapping[str, Any]) -> Body | None:
        """The result that depends on these; None where it is not there yet."""
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

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)

    def _mend(self) -> None:
        """Drop a last line that was not written whole."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)

    def _read(self) -> dict[str, Body]:
        """The results; of several for one key, the last."""
        found = {}
        for line in self.path.read_bytes().splitlines():
            try:
                row = json.loads(line)
                found[str(row["key"])] = dict(row["result"])
            except (ValueError, KeyError, TypeError):
                continue  # damaged: computed again
        return found


def key_of(depends: Mapping[str, Any]) -> str:
    """A name for what a result depends on."""
    words = json.dumps(depends, sort_keys=True, allow_nan=False)
    return hashlib.sha256(words.encode()).hexdigest()[:32]
