"""Builds llama-cpp-python as a wheel for other machines than this one, and checks it.

    python -m tools.wheel [FOLDER of another build, to compare with]

`tools/wheel.patch` changes the source package that `pyproject.toml` pins. On Linux
Zig's compiler links against an old glibc and its own libc++; there is a library for
each kind of processor, and llama.cpp loads the best. Elsewhere the system's compiler
builds one library. What passes lies in `wheels/`, with its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from subprocess import DEVNULL, check_output

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "wheel"
SOURCE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
BUILD_TOOLS = ("cmake==4.4.5", "ninja==1.13.2", "ziglang==0.17.1")
GLIBC = (2, 28)  # of Debian 10 and RHEL 8
OF_GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"}
LABEL = "+portable"  # it is changed, and `==` of the version still takes it
LINUX = sys.platform == "linux"
LEFT_OUT = ("mtmd_cpp.py", "llava_cpp.py")  # they read images by other libraries
LETTER = ("write", "--sample", "--seed=5", "--to=Ana", "Thank her for the photos")


def run(*words: str | Path, **more: str) -> str:
    """What a program prints, run with more variables."""
    return check_output(words, text=True, stdin=DEVNULL, env=os.environ | more)


def pinned() -> str:
    """What `pyproject.toml` asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return next(a for a in project["dependencies"] if a.startswith("llama-cpp-python="))


def fetch(version: str) -> Path:
    """The folder of the changed source."""
    pip = (
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary=llama-cpp-python",
    )
    archive = WORK / f"llama_cpp_python-{version}.tar.gz"
    if not archive.exists():
        run(*pip, "--dest", WORK, f"llama-cpp-python=={version}")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SOURCE_SHA256:
        sys.exit(f"{archive} is not the package that SOURCE_SHA256 names")
    source = WORK / archive.name.removesuffix(".tar.gz")
    shutil.rmtree(source, ignore_errors=True)
    shutil.unpack_archive(archive, WORK, filter="data")
    patch = ROOT / "tools" / "wheel.patch"
    run("patch", "--strip=1", f"--directory={source / 'vendor/llama.cpp'}", "-i", patch)
    return source


def programs() -> tuple[Path, dict[str, str]]:
    """Where the build's programs lie, and its variables."""
    folder = WORK / "tools"
    venv.create(folder, with_pip=True)
    bin_folder = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(bin_folder / "python", "-m", "pip", "--quiet", "install", *BUILD_TOOLS)
    path = {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    if not LINUX:
        return bin_folder, path
    target = f" -target {platform.machine()}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    for name, more in {"cc": target, "c++": target, "ar": "", "ranlib": ""}.items():
        call = f'exec "{bin_folder}/python" -m ziglang {name}{more} "$@"'
        (bin_folder / name).write_text(f"#!/bin/sh\n{call}\n")
        (bin_folder / name).chmod(0o755)
    return bin_folder, path | {"CC": f"{bin_folder}/cc", "CXX": f"{bin_folder}/c++"}


def compile_libraries(source: Path, tools: Path, variables: dict[str, str]) -> Path:
    """The folder of the libraries that llama.cpp needs at run time."""
    build = WORK / "libraries"
    shutil.rmtree(build, ignore_errors=True)
    given = (f"-DSOURCE={source}", "-C", ROOT / "tools" / "wheel.cmake")
    tree = ("-S", source / "vendor/llama.cpp", "-B", build, "-G", "Ninja")
    run(tools / "cmake", *given, *tree, **variables)
    run(tools / "cmake", "--build", build, "--target", "llama", **variables)
    return build / "bin"


def assemble(source: Path, version: str, libraries: Path) -> Path:
    """Pack Python part, libraries and licences; the same input gives the same bytes."""
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if LINUX:
        system = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{platform.machine()}"
    parts = (*(source / "llama_cpp").glob("*.py"), source / "llama_cpp" / "py.typed")
    files = {
        f"llama_cpp/{path.name}": path.read_bytes()
        for path in sorted(parts)
        if path.name not in LEFT_OUT
    }
    for library in sorted(libraries.iterdir()):
        if library.suffix in (".so", ".dylib", ".dll"):
            files[f"llama_cpp/lib/{library.name}"] = library.read_bytes()
    name = f"llama_cpp_python-{version}{LABEL}"
    info, vendor = f"{name}.dist-info", source / "vendor/llama.cpp"
    about = (source / "PKG-INFO").read_text("utf-8")
    about = about.replace(f"\nVersion: {version}\n", f"\nVersion: {version}{LABEL}\n")
    tag = f"py3-none-{system}"
    head = "Wheel-Version: 1.0\nGenerator: tools/wheel.py\nRoot-Is-Purelib: false\n"
    matrix = (vendor / "ggml/src/ggml-cpu/llamafile/sgemm.cpp").read_bytes()
    files |= {
        f"{info}/METADATA": about.encode(),
        f"{info}/WHEEL": f"{head}Tag: {tag}\n".encode(),
        f"{info}/licenses/LICENSE.md": (source / "LICENSE.md").read_bytes(),
        f"{info}/licenses/llama.cpp.txt": (vendor / "LICENSE").read_bytes(),
        f"{info}/licenses/llamafile.txt": matrix.partition(b"\n\n")[0] + b"\n",
    }
    record = ""
    for held, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        record += f"{held},sha256={digest.decode()},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = WORK / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for held, data in files.items():
            entry = zipfile.ZipInfo(held)
            entry.external_attr = 0o100644 << 16
            packed.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return wheel


def asks_of_the_system(library: bytes) -> tuple[tuple[int, int], set[str]]:
    """The newest glibc and the libraries that a library of Linux names."""
    versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)", library)
    newest = max([(int(major), int(minor)) for major, minor in versions] or [(0, 0)])
    named = re.findall(rb"\0(lib[a-z+-]+\d*\.so[.\d]*)(?=\0)", library)
    return newest, {name.decode() for name in named}


def check_portable(wheel: Path) -> None:
    """End unless the libraries of a wheel ask for no more than glibc."""
    with zipfile.ZipFile(wheel) as packed:
        held = [name for name in packed.namelist() if name.endswith(".so")]
        there = {Path(name).name for name in held} | OF_GLIBC
        for name in held:
            newest, named = asks_of_the_system(packed.read(name))
            if newest > GLIBC or named - there:
                sys.exit(f"{name} asks for glibc {newest}, {named - there}")
    print(f"{len(held)} libraries, none asks for more than glibc {GLIBC}")


def measure() -> None:
    """Print the least CPU seconds of the embedded pair for 1, 40 and 200 tokens."""
    from models.engines.llama_cpp import LlamaContext, LlamaModel
    from models.files import locate
    from models.running.settings import EngineSettings

    least: list[float] = []
    for role in ("specialist", "generalist"):
        model = LlamaModel(locate(role), EngineSettings(extra_buffers=False, threads=1))
        sequence = LlamaContext(model, 1, 256).sequence()
        ids = model.vocabulary.tokenize("Thank her for the photos of the pier. ") * 40
        for count, times in ((1, 40), (40, 10), (200, 3)):
            took = []
            for _ in range(times):
                sequence.rollback(0)
                began = time.thread_time()
                sequence.evaluate(ids[:count])
                took.append(time.thread_time() - began)
            least.append(min(took))
    print(json.dumps(least))


def compare(wheel: Path, reference: Path) -> None:
    """End unless the wheel's pair writes as the reference's, and about as fast."""
    texts: dict[Path, str] = {}
    with tempfile.TemporaryDirectory() as home, zipfile.ZipFile(wheel) as packed:
        packed.extractall(mine := Path(home) / "packages")
        rounds: dict[Path, list[list[float]]] = {reference: [], mine: []}
        (Path(home) / "settings.toml").write_text("threads = 1\n")
        python = (sys.executable, "-c")
        letter = (*python, "from edge_app.cli import main; main()", *LETTER)
        steps = (*python, "from tools import wheel; wheel.measure()")
        for folder in (reference, mine) * 5:
            paths = os.pathsep.join((str(folder.absolute()), str(ROOT)))
            more = {"PYTHONPATH": paths, "SPECSTEER_HOME": home}
            texts[folder] = run(*letter, **more)
            rounds[folder].append(json.loads(run(*steps, **more)))
    if not texts[mine].strip() or texts[mine] != texts[reference]:
        sys.exit(f"{texts[mine]}\nthe reference writes\n{texts[reference]}")
    theirs, ours = (map(min, zip(*r, strict=True)) for r in rounds.values())
    shares = [took / other for took, other in zip(ours, theirs, strict=True)]
    print(texts[mine], "of the reference's time:", *(f"{one:.3f}" for one in shares))
    if sum(shares) / len(shares) > 1.05:
        sys.exit("on the mean more than 1.05 of it")


def main() -> None:
    """Build, check and keep the wheel."""
    WORK.mkdir(parents=True, exist_ok=True)
    version = pinned().partition("==")[2]
    source = fetch(version)
    tools, variables = programs()
    libraries = compile_libraries(source, tools, variables)
    wheel = assemble(source, version, libraries)
    if LINUX:
        check_portable(wheel)
    for reference in sys.argv[1:]:
        compare(wheel, Path(reference))
    kept = ROOT / "wheels"
    shutil.copy(wheel, kept)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (kept / "SHA256SUMS").write_text(f"{digest}  {wheel.name}\n")
    print(f"wheels/{wheel.name}, {wheel.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
