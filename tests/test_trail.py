"""docs/architecture.md names the modules that one block and one mail pass through."""

import re
import subprocess
import sys

import pytest

from tests import trail

NAMES = ("one block", "one mail")
GUARD = "edge_app/privacy/guard/"
"""A room of its own on the way of a block, which reads what is about to leave."""


@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_a_trail_are_there(name):
    """`python -m tests.trail --write` puts them in."""
    files = trail.written(name)
    guard = [file for file in files if file.startswith(GUARD)]
    assert 0 < len(files) - len(guard) <= 20
    assert len(guard) <= 5
    assert [file for file in files if not (trail.ROOT / file).is_file()] == []


def test_the_other_files_that_the_page_names_are_there_too():
    """Those with a folder before them, and those of no made-up NAME."""
    named = re.findall(r"`([a-z_]+/[\w/]+\.py)`", trail.PAGE.read_text("utf-8"))
    made_up = [file for file in named if re.search("[A-Z]", file)]
    real = set(named) - set(made_up)
    assert sorted(file for file in real if not (trail.ROOT / file).is_file()) == []


@pytest.mark.slow
def test_the_files_of_a_trail_are_those_that_are_executed():
    """All, and no other; device and server work side by side, so that the order of two
    neighbours may differ from one time to the next."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.trail"],
        cwd=trail.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in NAMES:
        modules = re.search(rf"^{name}: .*\n((?:  .*\n)+)", told, re.MULTILINE)[1]
        found = [trail.path_of(module) for module in modules.split()]
        assert sorted(trail.written(name)) == sorted(found)
