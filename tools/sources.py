"""Source files as trees, each parsed once in a process: several tests look at all."""

import ast
from functools import cache
from pathlib import Path


def parsed(path: Path) -> ast.Module:
    """The tree of a file as it is now; nobody may change it."""
    status = path.stat()
    return _parsed(path, status.st_mtime_ns, status.st_size)


@cache
def _parsed(path: Path, _written: int, _size: int) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
