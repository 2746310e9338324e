import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from base import extras
from base.extras import how_to_add

ROOT = Path(extras.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_a_clone_is_installed_from_its_own_folder():
    """Into the Python that runs, from wherever one stands."""
    *words, what = shlex.split(how_to_add("encryption"))
    pip = [sys.executable, "-P", "-m", "pip", "install", "--editable"]
    assert (words, what) == (pip, f"{ROOT}[encryption]")


@pytest.mark.parametrize("extra", EXTRAS)
def test_elsewhere_the_libraries_are_named(extra, tmp_path, monkeypatch):
    """As the installed project says: nobody could claim their names."""
    monkeypatch.setattr(extras, "_ROOT", tmp_path)
    named = shlex.split(how_to_add(extra))[5:]
    bare = re.compile(r"[\w.-]+")
    assert sorted(bare.match(one)[0] for one in named) == sorted(
        bare.match(one)[0] for one in EXTRAS[extra]
    )


def test_no_page_and_no_error_names_the_project_to_an_index():
    """Whoever claimed the name there would run their code here. What is told must be an
    extra there is."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.toml", "Makefile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    claimed = re.compile(
        r"(pip|pipx|uv|uvx)\b(?![^\n]* --spec dist/)"
        r"[^\n]*\b(install|add|run)\b[^\n`]*[ '\"]specsteer\b"
    )
    told = re.compile(r"how_to_add\(['\"](\w+)|pip install -e '\.\[(\w+)\]'")
    wrong, extras_told = [], set()
    for name in listed:
        text = (ROOT / name).read_text("utf-8")
        if name not in ("base/extras.py", "tests/base/test_extras.py"):
            wrong += [(name, m[0]) for m in claimed.finditer(text)]
            extras_told |= {a or b for a, b in told.findall(text)}
    assert wrong == []
    assert extras_told <= set(EXTRAS)
    assert {"encryption", "pst", "bench", "languages", "train"} <= extras_told
