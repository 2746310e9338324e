"""Writes the classes in docs/glossary.md, with the first sentence that each says.

These are the public ones of the method, of the device's service and loop, and of the
server.

python -m tests.glossary
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs_blocks import ROOT
from tests.sources import parsed

PAGE = ROOT / "docs" / "glossary.md"
PLACES = (
    "decoding_core",
    "edge_app/service",
    "edge_app/decoding",
    "edge_app/verifiers",
    "edge_app/retrieval",
    "cloud_api",
)
BEGIN, END = "<!-- classes -->", "<!-- end of the classes -->"
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


def classes() -> Iterator[tuple[str, str, str]]:
    """Name, file and first sentence of each public class.

    Left out are errors, which tell themselves, and the classes of files that are found
    by their names, which have pages of their own.
    """
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if path.parent.name in ("methods", "personalisation"):
                continue
            for node in parsed(path).body:
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if node.name.endswith("Error"):
                    continue
                words = " ".join((ast.get_docstring(node) or "").split())
                found = _SENTENCE.match(words)
                yield node.name, file, (found[1] if found else words).rstrip(".")


def table() -> str:
    """What stands between the markers."""
    rows = [
        f"| `{name}` | {about.replace('|', chr(92) + '|')} | `{file}` |"
        for name, file, about in sorted(classes(), key=lambda one: one[0].lower())
    ]
    return "\n".join(["", "| class | meaning | file |", "|---|---|---|", *rows, ""])


def written() -> str:
    """The table that stands in the page."""
    return PAGE.read_text("utf-8").partition(BEGIN + "\n")[2].partition("\n" + END)[0]


if __name__ == "__main__":
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", "utf-8")
