"""Counts what makes the house hard to follow, over the source without its tests.

    python -m tests.house

Prints the folders with the most modules, the share of private functions that a single
place of their own file calls, the places that read a flag of a method, and the places
that build a decoding loop. `tests/test_house.py` holds the limits.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.sources import parsed

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("benchmarks", "cloud_api", "decoding_core", "edge_app", "models"),
    "personal_store",
)
BY_NAME = ("importers", "commands", "methods")
"""Folders whose modules are found by their names, so they hold as many as there are."""


def sources(root: Path = ROOT) -> Iterator[Path]:
    """Every module of the packages."""
    for package in PACKAGES:
        yield from sorted((root / package).rglob("*.py"))


def folder_sizes(root: Path = ROOT) -> Counter[str]:
    """How many modules lie flat in each folder, but for those found by their names."""
    return Counter(
        path.parent.relative_to(root).as_posix()
        for path in sources(root)
        if path.name != "__init__.py" and path.parent.name not in BY_NAME
    )


def private_functions(root: Path = ROOT) -> tuple[int, int]:
    """How many private functions and methods there are, and how many of them are named
    at exactly one place of their file besides their definition."""
    every = single = 0
    for path in sources(root):
        tree = parsed(path)
        named: Counter[str] = Counter()
        defined: Counter[str] = Counter()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name.startswith("_") and not node.name.startswith("__"):
                    defined[node.name] += 1
            elif isinstance(node, ast.Name):
                named[node.id] += 1
            elif isinstance(node, ast.Attribute):
                named[node.attr] += 1
        every += sum(defined.values())
        single += sum(count for name, count in defined.items() if named[name] == 1)
    return every, single


def method_flags(root: Path = ROOT) -> list[str]:
    """The flags of a method: what the interface `Method` says of it without being
    asked about numbers."""
    tree = parsed(root / "decoding_core" / "protocols.py")
    (method,) = (
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Method"
    )
    return [
        node.name
        for node in method.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]


def flag_reads(root: Path = ROOT) -> list[str]:
    """Places, as `file:line flag`, that read a flag of a method."""
    flags = {flag for flag in method_flags(root) if flag not in ("name", "summary")}
    return [
        f"{path.relative_to(root)}:{node.lineno} {node.attr}"
        for path in sources(root)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and node.attr in flags
        and isinstance(node.ctx, ast.Load)
    ]


def loops_built(root: Path = ROOT) -> list[str]:
    """Places that put a decoding loop together."""
    return [
        f"{path.relative_to(root)}:{number}"
        for path in sources(root)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"(?<!class )\bDecodeLoop\(", line)
    ]


def report() -> str:
    """All figures, as text."""
    every, single = private_functions()
    reads, loops = flag_reads(), loops_built()
    folders = folder_sizes().most_common(8)
    return "\n".join(
        [
            "modules in a folder: "
            + ", ".join(f"{name} {count}" for name, count in folders),
            f"private functions with a single caller: {single} of {every} "
            f"({single / every:.0%})",
            f"flags of a method are read at {len(reads)} places",
            *(f"  {place}" for place in reads),
            f"decoding loops are built at {len(loops)}: {', '.join(loops)}",
        ]
    )


if __name__ == "__main__":
    print(report())
