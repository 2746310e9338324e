import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from base import python_child
from tests.waiting import PATIENCE


def told_by(code, folder, monkeypatch, **more):
    """What a child prints that runs this function body."""
    monkeypatch.syspath_prepend(folder)
    (folder / "told.py").write_text(f"import os, sys\ndef main():\n    {code}\n")
    child = python_child.start(
        "told:main", "a", "b c", stdout=subprocess.PIPE, text=True, **more
    )
    out, _ = child.communicate(timeout=PATIENCE)
    return out.strip(), child.returncode


def test_a_child_imports_what_we_import(tmp_path, monkeypatch):
    """But for the current folder, by whatever name it stands on the path."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("", ".", str(here)):
        monkeypatch.syspath_prepend(name)
    out, code = told_by("print(ascii(sys.path))", tmp_path, monkeypatch)
    path = ast.literal_eval(out)
    assert code == 0
    assert path[0] == str(tmp_path)
    assert str(here) not in path
    assert "" not in path
    assert {p for p in sys.path if p and Path(p) not in (Path(), here)} <= set(path)


def test_a_folder_that_was_removed(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.syspath_prepend("")
    assert told_by("print(sys.argv[1:])", tmp_path, monkeypatch)[0] == "['a', 'b c']"


@pytest.mark.parametrize(("code", "status"), [("return 3", 3), ("pass", 0), ("1/0", 1)])
def test_the_exit_status_is_what_the_function_returns(
    tmp_path, monkeypatch, code, status
):
    quiet = {"stderr": subprocess.DEVNULL}
    assert told_by(code, tmp_path, monkeypatch, **quiet)[1] == status


def test_few_variables_are_handed_on(tmp_path, monkeypatch):
    """Secrets of ours and of others stay here; a relative home keeps its meaning."""
    monkeypatch.chdir(tmp_path)
    kept = {"LC_ALL": "C", "OMP_NUM_THREADS": "2", "SPECSTEER_EXTRA_BUFFERS": "off"}
    ours = ("SPECSTEER_STORE_KEY", "SPECSTEER_TOKEN", "PYTHONPATH", "PYTHONSTARTUP")
    secret = dict.fromkeys((*ours, "GITHUB_TOKEN", "LD_PRELOAD", "AWS_KEY"), "x")
    for name, value in {**kept, **secret, "SPECSTEER_HOME": "state"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.pathsep.join(["bin", "", "/usr/bin", "."]))
    given = python_child.environment()
    assert not secret.keys() & given.keys()
    assert kept.items() <= given.items()
    assert given["SPECSTEER_HOME"] == str(tmp_path / "state")
    assert given["PATH"] == "/usr/bin"
