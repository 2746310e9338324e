"""The public face of each package: what code outside of it may use, and from where.

    python -m tests.faces

Writes the table of each package's `__init__.py` from what other packages import; a test
says when an import passes by it. A name that nobody outside uses drops out, unless it
was written there by hand below `_MORE`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.sources import parsed

ROOT = Path(__file__).parents[1]
PACKAGES = ("decoding_core", "edge_app", "models", "personal_store")
USERS = (*PACKAGES, "benchmarks", "cloud_api")
_TABLE = re.compile(r"(?<=\n_HOME = \{\n).*?(?=^\}$)", re.DOTALL | re.MULTILINE)


def imports_from_outside(root: Path = ROOT) -> Iterator[tuple[Path, str, str]]:
    """Each (file, module, name) where one package imports a name of another's."""
    for user in USERS:
        for path in sorted((root / user).rglob("*.py")):
            for node in ast.walk(parsed(path)):
                if not isinstance(node, ast.ImportFrom) or node.module is None:
                    continue
                package = node.module.partition(".")[0]
                if package in PACKAGES and package != user:
                    for alias in node.names:
                        yield path, node.module, alias.name


def passing_by(root: Path = ROOT) -> list[str]:
    """The imports that name what the face of a package does not offer, or take it from
    another module than the face does."""
    found = []
    for path, module, name in imports_from_outside(root):
        package = module.partition(".")[0]
        home: dict[str, str] = import_module(package)._HOME
        where = module.removeprefix(package).removeprefix(".")
        if (root / module.replace(".", "/") / f"{name}.py").exists():
            continue  # a module of its own, not a name
        if (root / module.replace(".", "/") / name).is_dir():
            continue
        if name not in home or (where and home[name] != where):
            found.append(f"{path.relative_to(root)}: {module}.{name}")
    return found


def tables(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """By package: each name that is used from outside, and the module it comes from."""
    faces: dict[str, dict[str, str]] = {package: {} for package in PACKAGES}
    for _, module, name in imports_from_outside(root):
        package, _, where = module.partition(".")
        path = root / module.replace(".", "/")
        if where and not (path / f"{name}.py").exists() and not (path / name).is_dir():
            known = faces[package].setdefault(name, where)
            if known != where:
                raise SystemExit(f"{package}: {name} is in {known} and in {where}")
    return faces


def main() -> None:
    """Write the tables; names that were there stay while their modules have them."""
    for package, face in tables().items():
        page = ROOT / package / "__init__.py"
        text = page.read_text("utf-8")
        kept = import_module(package)._HOME
        rows = {**kept, **face}
        lines = "".join(f'    "{name}": "{rows[name]}",\n' for name in sorted(rows))
        page.write_text(_TABLE.sub(lambda _, new=lines: new, text), "utf-8")


if __name__ == "__main__":
    main()
