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
    found = [file for path in paths for file in _listed(path)]
    names = [_name(path) for path in found]
    return [
        _read(path, name if names.count(name) == 1 else str(path))
        for path, name in zip(found, names, strict=True)
    ]


def word(row: Row, key: str, where: str) -> str:
    """A text or number of a row, as text; raises CasesError when it is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CasesError(f"{where}: '{key}' must be a text")
    return str(value)


def _listed(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CasesError(f"there is no file or folder {path}")
    found = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
    if not found:
        raise CasesError(f"there is no .json, .jsonl or .jsonl.xz file in {path}")
    return found


def _name(path: Path) -> str:
    for suffix in reversed(SUFFIXES):
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.name


def _read(path: Path, name: str) -> File:
    data = path.read_bytes()
    return File(path, name, hashlib.sha256(data).hexdigest(), _rows(path, data))


def _rows(path: Path, data: bytes) -> list[Row]:
    try:
        text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")
    except lzma.LZMAError as error:
        raise CasesError(f"{path} is no whole xz file") from error
    except UnicodeDecodeError as error:
        raise CasesError(f"{path} is not text in UTF-8") from error
    rows = _parsed(path, text.removeprefix("\ufeff").strip())
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise CasesError(f"{path} holds no JSON objects")
    return rows


def _parsed(path: Path, text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [_line(path, *one) for one in enumerate(text.splitlines(), 1) if one[1]]
    return whole if isinstance(whole, list) else [whole]


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CasesError(f"{path}, line {number}: this is not JSON") from error
