"""The wheel holds all that the program needs."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = (
    *("base", "benchmarks", "cloud_api", "decoding_core", "edge_app", "models"),
    "personal_store",
)


@pytest.mark.slow
@pytest.mark.skipif(
    int(version("setuptools").partition(".")[0]) < 77,
    reason="setuptools is too old to build; the extra 'dev' has a newer one",
)
def test_a_wheel_that_is_installed_runs(tmp_path, home):
    """Built and installed without a network; its dependencies are those of this
    environment. It writes a letter, and has the measurements."""
    source = tmp_path / "source"
    quiet = shutil.ignore_patterns("__pycache__", "work", "*.egg-info")
    for name in COPIED:
        shutil.copytree(ROOT / name, source / name, ignore=quiet)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    wheels = ["--wheel-dir", str(tmp_path), str(source)]
    subprocess.run([*pip, "wheel", *offline, *wheels], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("specsteer-*.whl")
    with zipfile.ZipFile(wheel) as made:
        held = set(made.namelist())
    for name in (
        "models/embedded/specialist.gguf",
        "models/embedded/generalist.gguf",
        "models/catalogue.toml",
        "edge_app/sample/letters.mbox",
        "cloud_api/status.html",
        "cloud_api/status.css",
        "edge_app/tui/app.tcss",
        "personal_store/schema.sql",
        "personal_store/cleaning/phrases.toml",
        "benchmarks/store/hand-clients.toml",
        "benchmarks/speed/bench_latency.py",
    ):
        assert name in held
    assert not [
        name for name in held if name.startswith(("tests/", "docs/", "training/"))
    ]

    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python3*/site-packages")
    into = ["--target", str(packages), "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, "install", *into], check=True, cwd=tmp_path)
    # After its own folder, so that nothing of this clone stands in for the wheel.
    beside = [p for p in sys.path if Path(p).name == "site-packages"]
    (packages / "zz_beside.pth").write_text("\n".join(beside))
    program = [str(venv / "bin" / "python"), "-I", "-c"]
    start = "from edge_app.cli import main; main()"

    def run(*words):
        done = subprocess.run(
            [*program, start, *words],
            cwd=tmp_path,
            env=os.environ | {"SPECSTEER_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] in run("--version")
    assert "latency" in run("lab", "bench", "--help")
    assert run("demo").strip()
    where = "import edge_app; print(edge_app.__file__)"
    lies = subprocess.check_output([*program, where], text=True, cwd=tmp_path)
    assert lies.startswith(str(venv))
