"""The script that runs the suite again and again."""

import sys

from tools.soak import busy, soak

FAILS_AT_TWO = """
import sys
from pathlib import Path
count = Path(sys.argv[1])
count.write_text(count.read_text() + "x")
if count.read_text() == "xx":
    sys.exit("FAILED tests/test_a.py::test_b - assert 1 == 2")
"""


def test_failed_runs_are_counted_named_and_kept(tmp_path, monkeypatch, capsys):
    """Nothing stays of those that passed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with busy(1):
        assert soak(1, [sys.executable, "-c", ""]) == 0
    assert list(tmp_path.iterdir()) == []
    count = tmp_path / "count"
    count.touch()
    assert soak(3, [sys.executable, "-c", FAILS_AT_TWO, str(count)]) == 1
    said = capsys.readouterr().out
    (kept,) = tmp_path.glob("soak-*/*")
    assert f"FAILED, see {kept}" in said
    assert "FAILED tests/test_a.py::test_b - assert 1 == 2" in said
    assert "2 of 3 passed" in said
    assert "assert 1 == 2" in kept.read_text()


def test_a_build_comes_before_other_packages_of_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "before"))
    for name in ("before", "build"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "json.py").write_text(f"here = {name!r}")
    command = [sys.executable, "-c", "import json; assert json.here == 'build'"]
    assert soak(1, command) == 1
    assert soak(1, command, tmp_path / "build") == 0
