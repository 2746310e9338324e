"""Files as rows of JSON: an array, an object, or an object a line, plain or xz."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_app.evaluation.cases import CasesError

SUFFIXES = (".json", ".jsonl", ".jsonl.xz")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read."""

    path: Path
    name: str
    """What its set is called."""
    sha256: str
    rows: list[Row]
    """Of an object, it alone."""

    def where(self, number: int) -> str:
        """Row `number`, from 1, in words."""
        return f"{self.path}, row {number}"


def read_files(paths: Sequence[Path]) -> list[File]:
    """All files of these paths and folders, in order.

    Raises:
        CasesError: a path cannot be read, or holds no rows of JSON.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
            continue
        if not path.is_dir():
            raise CasesError(f"there is no file or folder {path}")
        inside = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not inside:
            raise CasesError(f"there is no .json, .jsonl or .jsonl.xz file in {path}")
        found += inside
    names = []
    for path in found:
        ends = (end for end in reversed(SUFFIXES) if path.name.endswith(end))
        names.append(path.name.removesuffix(next(ends, "")))
    files = []
    for path, name in zip(found, names, strict=True):
        data = path.read_bytes()
        called = name if names.count(name) == 1 else str(path)
        sha256 = hashlib.sha256(data).hexdigest()
        files.append(File(path, called, sha256, _rows(path, data)))
    return files


def word(row: Row, key: str, where: str) -> str:
    """A text or number of a row, as text; raises CasesError when it is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CasesError(f"{where}: '{key}' must be a text")
    return str(value)


def _rows(path: Path, data: bytes) -> list[Row]:
    """The objects in a file's bytes: an array, one object, or one a line."""
    try:
        text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")
    except lzma.LZMAError as error:
        raise CasesError(f"{path} is no whole xz file") from error
    except UnicodeDecodeError as error:
        raise CasesError(f"{path} is not text in UTF-8") from error
    text = text.removeprefix("\ufeff").strip()
    try:
        whole = json.loads(text)
        rows = whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        rows = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                rows += [json.loads(line)] if line else []
            except (ValueError, RecursionError) as error:
                raise CasesError(f"{path}, line {number}: this is not JSON") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise CasesError(f"{path} holds no JSON objects")
    return rows
