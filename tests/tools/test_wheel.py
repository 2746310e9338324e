"""The wheel of llama.cpp in wheels/, and the script that installs it."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from tools import wheel as script

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / "wheels"
PINNED = Requirement(script.pinned())
RUN = """
import sys
sys.executable = sys.argv.pop(1)
from edge_app.cli import main
main()
"""


def test_the_wheels_are_those_of_the_sums_and_satisfy_the_pinned_version():
    sums = [line.split() for line in (WHEELS / "SHA256SUMS").read_text().splitlines()]
    assert [name for _, name in sums] == sorted(p.name for p in WHEELS.glob("*.whl"))
    for digest, name in sums:
        assert hashlib.sha256((WHEELS / name).read_bytes()).hexdigest() == digest
        project, version, _, _ = parse_wheel_filename(name)
        assert project == PINNED.name
        assert version in PINNED.specifier
        script.check_portable(WHEELS / name)


def test_a_wheel_holds_the_licences_and_nothing_that_nobody_runs():
    (path,) = WHEELS.glob("*manylinux*x86_64.whl")
    with zipfile.ZipFile(path) as packed:
        held = set(packed.namelist())
        record = next(name for name in held if name.endswith("/RECORD"))
        listed = packed.read(record).decode()
        info = record.removesuffix("RECORD")
        for name in ("LICENSE.md", "llama.cpp.txt", "llamafile.txt"):
            text = packed.read(f"{info}licenses/{name}")
            assert b"Permission is hereby granted" in text
            assert b"Copyright" in text
        for name in held:
            assert name in listed
            assert str(script.ROOT).encode() not in packed.read(name)
    endings = {Path(name).suffix for name in held - {record}}
    assert endings == {"", ".md", ".py", ".so", ".txt", ".typed"}
    assert not [name for name in held if "server" in name or "mtmd" in name]


@pytest.mark.parametrize(
    ("library", "newest", "named"),
    [
        (b"\0GLIBC_2.9\0GLIBC_2.34\0libm.so.6\0", (2, 34), {"libm.so.6"}),
        (b"\0GLIBC_2.2.5\0libgomp.so.1\0x", (2, 2), {"libgomp.so.1"}),
        (b"\0libstdc++.so.6\0GLIBCXX_3.4\0", (0, 0), {"libstdc++.so.6"}),
    ],
)
def test_what_a_library_asks_of_the_system(library, newest, named):
    assert script.asks_of_the_system(library) == (newest, named)


def test_without_a_wheel_and_a_compiler_it_is_said_what_to_install(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "sed", "date"):
        (programs / name).symlink_to(shutil.which(name))
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(sys.executable)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "pyproject.toml").write_text('    "llama-cpp-python==0.0.1",\n')
    done = subprocess.run(
        [ROOT / "tools" / "setup.sh", sys.executable, tmp_path / "venv"],
        cwd=tmp_path,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    first, second = done.stderr.splitlines()
    assert done.returncode == 1
    assert "as no wheel in wheels/ fits" in first
    assert second.startswith("A C++ compiler is needed")


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None
    or "avx2" not in Path("/proc/cpuinfo").read_text().split(),
    reason="there is no qemu-x86_64, or this is no x86-64 processor with AVX2",
)
@pytest.mark.parametrize(
    ("processor", "kernels"), [("Nehalem", "sse42"), ("Haswell", "haswell")]
)
def test_an_older_processor_writes_a_letter(tmp_path, home, processor, kernels):
    """Without AVX2 and with it, its child, the server, too. With `exact` and AVX2 the
    letter is that of this processor; without AVX2 it is the same again there."""
    (path,) = WHEELS.glob("*manylinux*x86_64.whl")
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path / "packages")
    emulated = tmp_path / "python"
    emulated.write_text(
        f'#!/bin/sh\nexec qemu-x86_64 -cpu {processor} "{sys.executable}" "$@"\n'
    )
    emulated.chmod(0o755)
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text("exact = true\nthreads = 1\n")
    paths = os.pathsep.join((str(tmp_path / "packages"), str(ROOT)))

    def run(python, *words):
        done = subprocess.run(
            [python, "-W", "ignore", "-c", *words],
            env=os.environ | {"PYTHONPATH": paths, "SPECSTEER_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    loaded = run(
        emulated,
        "from models.running.llama_library import load_library; load_library();"
        "print(open('/proc/self/maps').read())",
    )
    assert f"libggml-cpu-{kernels}.so" in loaded
    words = (
        "write",
        "--sample",
        "--seed=5",
        "--max-tokens=24",
        "--to=Ana",
        "Thank her",
    )
    other = emulated if kernels == "sse42" else sys.executable
    letters = {run(python, RUN, str(python), *words) for python in (emulated, other)}
    (letter,) = letters
    assert len(letter.split()) > 10
