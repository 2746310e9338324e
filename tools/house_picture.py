"""The picture of the site: the rooms of each package and who imports whom.

An arrow is left out where others say the same: where A imports B and B imports C, none
goes from A to C. Training is no part of the program: what it alone imports is no arrow
between packages.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.sources import parsed

ROOT = Path(__file__).parent.parent
PACKAGES = (
    ("benchmarks", 0, 0),
    ("edge_app", 0, 1),
    ("cloud_api", 1, 1),
    ("personal_store", 0, 2),
    ("models", 1, 2),
    ("decoding_core", 1, 3),
)
"""Each with its column and its row."""
_WIDTH, _HEIGHT, _GAP, _RISE, _EDGE, _HEAD = 128, 26, 14, 26, 16, 34
_AWAY = 60
"""Between two packages."""
_LOOK = """<style>
text { font: 12px system-ui, sans-serif; fill: #1f2430; text-anchor: middle }
.name { font-weight: 600; font-size: 14px }
.package { fill: #f4f1ea; stroke: #b8ad98 }
.room { fill: #ffffff; stroke: #7d8597 }
path { fill: none; stroke: #7d8597; marker-end: url(#end) }
.between { stroke: #b4552d; stroke-width: 2 }
</style>
<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><polygon points="0,1 7,4 0,7" fill="#7d8597"/></marker>"""

Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class Box:
    """A rectangle with a name, by its upper left corner."""

    name: str
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Between left and right."""
        return self.x + self.width / 2


def rooms(root: Path = ROOT) -> dict[str, list[str]]:
    """The rooms of each package: its folders, and the modules beside them that have a
    place in a contract of layers."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layered = {
        name.strip()
        for contract in contracts
        if contract["type"] == "layers"
        for layer in contract["layers"]
        for name in layer.split("|")
    }
    found = {}
    for package, _, _ in PACKAGES:
        folders = {
            f"{package}.{path.parent.name}"
            for path in (root / package).glob("*/__init__.py")
            if list(path.parent.glob("[!_]*.py")) or package != "edge_app"
        }
        beside = {name for name in layered if name.startswith(f"{package}.")}
        found[package] = sorted(folders | beside)
    return found


@cache
def imports(root: Path = ROOT) -> list[tuple[str, str]]:
    """Pairs of modules of which the first, one of ours, imports the second."""
    found = []
    for package, _, _ in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.Import):
                    found += [(module, alias.name) for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names = (f"{node.module}.{alias.name}" for alias in node.names)
                    found += [(module, name) for name in names]
    return found


def between(names: list[str], root: Path = ROOT) -> dict[str, set[str]]:
    """Which of some rooms or packages import which others."""

    def of(module: str) -> str | None:
        fitting = [n for n in names if f"{module}.".startswith(f"{n}.")]
        return max(fitting, key=len, default=None)

    found: dict[str, set[str]] = {name: set() for name in names}
    packages = {name.partition(".")[0] for name in names}
    for importer, imported in imports(root):
        if not packages.issuperset((importer.split(".")[0], imported.split(".")[0])):
            continue
        one, other = of(importer), of(imported)
        if one and other and one != other:
            found[one].add(other)
    return found


def heights(graph: Graph) -> dict[str, int]:
    """How far above the ground each stands: one more than the highest it imports."""
    found: dict[str, int] = {}

    def height(name: str, above: tuple[str, ...]) -> int:
        if name not in found:
            below = [o for o in sorted(graph[name]) if o not in above]
            of_all = [height(other, (*above, name)) for other in below]
            found[name] = 1 + max(of_all, default=-1)
        return found[name]

    for name in sorted(graph):
        height(name, (name,))
    return found


def reduced(graph: Graph) -> list[tuple[str, str]]:
    """The arrows that no way over another says as well."""

    def reached(start: str, leaving_out: str) -> set[str]:
        seen: set[str] = set()
        waiting = [o for o in graph[start] if o != leaving_out]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += graph[name]
        return seen

    return [
        (one, other)
        for one in sorted(graph)
        for other in sorted(graph[one])
        if other not in reached(one, other)
    ]


def placed(of_packages: Mapping[str, list[str]], root: Path) -> dict[str, Box]:
    """Where each package and each room stands: what imports above what is imported."""
    lines: dict[str, list[list[str]]] = {}
    sizes = {}
    for package, names in of_packages.items():
        level = heights(between(names, root))
        lines[package] = [
            [name for name in names if level[name] == high]
            for high in range(max(level.values(), default=-1), -1, -1)
        ]
        most = max((len(line) for line in lines[package]), default=1)
        width = most * (_WIDTH + _GAP) - _GAP + 2 * _EDGE
        height = _HEAD + len(lines[package]) * (_HEIGHT + _RISE) - _RISE + _EDGE
        sizes[package] = max(width, 200), max(height, 48)
    second = 2 * _EDGE + _AWAY + max(sizes[p][0] for p, c, _ in PACKAGES if c == 0)
    found: dict[str, Box] = {}
    for package, column, row in PACKAGES:
        above = [max(sizes[p][1] for p, _, r in PACKAGES if r == n) for n in range(row)]
        y = _EDGE + sum(above) + len(above) * _AWAY
        box = Box(package, second if column else _EDGE, y, *sizes[package])
        found[package] = box
        for number, line in enumerate(lines[package]):
            x = box.middle - (len(line) * (_WIDTH + _GAP) - _GAP) / 2
            y = box.y + _HEAD + number * (_HEIGHT + _RISE)
            for at, name in enumerate(line):
                found[name] = Box(name, x + at * (_WIDTH + _GAP), y, _WIDTH, _HEIGHT)
    return found


def drawn(root: Path = ROOT) -> str:
    """The whole picture."""
    of_packages = rooms(root)
    boxes = placed(of_packages, root)
    houses = [boxes[package] for package in of_packages]
    parts = []
    for box in houses:
        parts.append(_rectangle(box, "package"))
        parts.append(_words(box.middle, box.y + 22, box.name, ' class="name"'))
    for names in of_packages.values():
        for one, other in reduced(between(names, root)):
            parts.append(_arrow(boxes[one], boxes[other], ""))
    for one, other in reduced(between(list(of_packages), root)):
        parts.append(_arrow(boxes[one], boxes[other], ' class="between"'))
    for name in (name for names in of_packages.values() for name in names):
        parts.append(_rectangle(boxes[name], "room"))
        words = name.partition(".")[2]
        parts.append(_words(boxes[name].middle, boxes[name].y + 17, words, ""))
    right = max(box.x + box.width for box in houses) + _EDGE
    low = max(box.y + box.height for box in houses) + _EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {low:.0f}" '
        f'width="{right:.0f}" height="{low:.0f}" role="img">\n'
        "<title>The packages, their rooms, and who imports whom</title>"
    )
    return "\n".join([head, _LOOK, *parts, "</svg>\n"])


def _rectangle(box: Box, kind: str) -> str:
    size = f'width="{box.width:.0f}" height="{box.height:.0f}"'
    return f'<rect x="{box.x:.0f}" y="{box.y:.0f}" {size} rx="5" class="{kind}"/>'


def _words(x: float, y: float, text: str, more: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{text}</text>'


def _arrow(one: Box, other: Box, more: str) -> str:
    """From the lower edge of one box to the upper edge of the other; beside each other
    where they stand in one row."""
    if one.y + one.height <= other.y:
        x, y, to_x, to_y = one.middle, one.y + one.height, other.middle, other.y
        bend = (to_y - y) / 2
        curve = f"{x:.0f},{y + bend:.0f} {to_x:.0f},{to_y - bend:.0f}"
    else:
        left = one.x < other.x
        x, y = one.x + (one.width if left else 0), one.y + one.height / 2
        to_x, to_y = other.x + (0 if left else other.width), other.y + other.height / 2
        curve = f"{(x + to_x) / 2:.0f},{y:.0f} {(x + to_x) / 2:.0f},{to_y:.0f}"
    return f'<path d="M{x:.0f},{y:.0f} C{curve} {to_x:.0f},{to_y:.0f}"{more}/>'
