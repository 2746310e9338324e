"""What `make run` and `make test` print while they set everything up."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP_HERE = f"""#!/bin/sh
[ "$1" = "-c" ] && exec {sys.executable} "$@"
[ "$1 $2" = "-m pip" ] || exit 99
exec {sys.executable} "$@" --no-index
"""
PROJECT = f"""
# "llama-cpp-python=={version("llama-cpp-python").partition("+")[0]}" is there already
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import zipfile

def wheel(name, folder, needs=""):
    file = f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{file}", "w") as made:
        about = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1\\n{needs}"
        made.writestr(f"{name}-1.dist-info/METADATA", about)
        tags = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        made.writestr(f"{name}-1.dist-info/WHEEL", tags)
        made.writestr(f"{name}-1.dist-info/RECORD", "")
    return file

def build_editable(folder, *_):
    return wheel("ours", folder, needs="Requires-Dist: NEEDED\\n")
"""


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
@pytest.mark.parametrize(
    "needed", [pytest.param("there", marks=pytest.mark.slow), "missing"]
)
def test_set_up_shows_errors_and_no_warnings(tmp_path, needed):
    """A place for packages that is not there is nobody's concern; a package that is
    found nowhere is."""
    wheels, python = tmp_path / "wheels", tmp_path / ".venv" / "bin" / "python"
    for folder in (wheels, python.parent):
        folder.mkdir(parents=True)
    python.write_text(PIP_HERE)
    python.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "backend.py").write_text(BACKEND.replace("NEEDED", needed))
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    names: dict = {}
    exec(BACKEND, names)
    names["wheel"]("there", wheels)
    env = {
        **os.environ,
        "PATH": os.defpath,  # no uv
        "PIP_FIND_LINKS": f"{wheels} {(tmp_path / 'no-wheels').as_uri()}",
        "PIP_TARGET": str(tmp_path / "to"),
        "PIP_CONFIG_FILE": os.devnull,
    }
    make = ["make", "--file", ROOT / "Makefile", "setup"]
    done = subprocess.run(make, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout == ""
    assert done.stderr.startswith("setting up: packages by pip")
    assert "WARNING" not in done.stderr
    assert (tmp_path / ".venv" / ".runtime").exists() == (needed == "there")
    if needed == "there":
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    else:
        assert done.returncode != 0
        assert "No matching distribution found for missing" in done.stderr
