"""Writes docs/files.md: every module, with the first sentence of its docstring.

python -m tests.file_list
"""

import ast
import re
from pathlib import Path

from tests.sources import parsed

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "files.md"
PACKAGES = (
    "edge_app",
    "cloud_api",
    "personal_store",
    "models",
    "decoding_core",
    "benchmarks",
)
BEGINNING = """# Files

Every module with the first sentence of its docstring. `python -m tests.file_list`
writes this page; a test says when that is due. [Architecture](architecture.md) tells
how the modules work together.
"""
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


def first_sentence(path: Path) -> str:
    """Of a module's docstring, on one line."""
    text = ast.get_docstring(parsed(path)) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    found = _SENTENCE.match(paragraph)
    return (found[1] if found else paragraph).rstrip(".")


def listed(root: Path = ROOT) -> str:
    """The whole page."""
    parts = [BEGINNING]
    for package in PACKAGES:
        folders = {path.parent for path in (root / package).rglob("*.py")}
        for folder in sorted(folders):
            name = folder.relative_to(root).as_posix()
            about = first_sentence(folder / "__init__.py")
            rows = [
                f"| `{path.name}` | {first_sentence(path)} |"
                for path in sorted(folder.glob("*.py"))
                if path.name != "__init__.py"
            ]
            parts.append(f"## {name}\n\n{about}.\n")
            parts.append("\n".join(["| file | what |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(listed(), "utf-8")
