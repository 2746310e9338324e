"""Counts the lines of the project and compares them with `tools/budget.toml`.

    make lines

Exits with 1 if a package, the tests or the pages have more lines, or the source more
files, than the budget gives them. Raising it needs a decision in docs/adr.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = tomllib.loads((Path(__file__).parent / "budget.toml").read_text("utf-8"))
PACKAGES: list[str] = list(BUDGET["source"])


def counted(*patterns: str) -> tuple[int, int]:
    """Lines and files that git tracks or would track, matching pathspecs."""
    names = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(
        ["git", *names, "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    files = [
        path for name in listed if name and (path := ROOT / name.decode()).exists()
    ]
    return sum(path.read_bytes().count(b"\n") for path in files), len(files)


def main() -> None:
    """Print each count beside its budget."""
    over = False
    source_lines = source_files = 0
    rows = []
    for package in PACKAGES:
        lines, files = counted(f"{package}/*.py")
        rows.append((package, lines, files, BUDGET["source"][package], None))
        source_lines, source_files = source_lines + lines, source_files + files
    limits = BUDGET["all"]
    rows.append(
        ("source", source_lines, source_files, limits["source"], limits["files"])
    )
    rows.append(("tests", *counted("tests/*.py"), limits["tests"], None))
    pages = counted("*.md", ":!tests", ":!edge_app/sample")
    rows.append(("pages", *pages, limits["pages"], None))
    for name, lines, files, most, most_files in rows:
        full = lines > most or bool(most_files and files > most_files)
        over = over or full
        limit = f"of {most:,}" + (f" in {most_files}" if most_files else "")
        mark = "  OVER" if full else ""
        print(f"{name:15} {lines:7,} lines in {files:3} files  {limit}{mark}")
    sys.exit(over)


if __name__ == "__main__":
    main()
