"""Run the suite again and again: does it always pass, and how long does it take?

    make soak                    twenty times, and nothing else runs
    make soak RUNS=5 BUSY=2      beside two processes that only compute
    make test-cpus               five times with llama.cpp built for each processor

Prints a line a run and a summary; the status is 1 if any run failed. The output of
failed runs stays in a folder that is named.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE = ("make", "--silent", "test")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the suite."""

    seconds: float
    status: int
    failed: tuple[str, ...]
    """Lines of the tests that failed, as pytest's summary has them."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes beside the block that take what computing time they can get."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(command: Sequence[str], output: Path, build: Path | None = None) -> Run:
    """Run the suite once, with the packages in `build` before others of their name;
    what it prints goes to a file."""
    began, variables = time.perf_counter(), dict(os.environ)
    if build is not None:
        path = [str(build.absolute()), *filter(None, [variables.get("PYTHONPATH")])]
        variables["PYTHONPATH"] = os.pathsep.join(path)
    with output.open("wb") as file:
        status = subprocess.run(
            command, cwd=ROOT, stdout=file, stderr=file, env=variables
        ).returncode
    seconds = time.perf_counter() - began
    lines = output.read_text("utf-8", errors="replace").splitlines()
    failed = tuple(x for x in lines if x.startswith(("FAILED ", "ERROR ")))
    return Run(seconds, status, failed)


def soak(runs: int, command: Sequence[str] = SUITE, build: Path | None = None) -> int:
    """Run the suite `runs` times and print each result; returns how many failed."""
    if build is not None:
        print(f"with {build}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    done = []
    for number in range(1, runs + 1):
        output = folder / f"{number}.log"
        done.append(run(command, output, build))
        last = done[-1]
        said = "passed" if last.status == 0 else f"FAILED, see {output}"
        print(f"{number:3} of {runs}  {last.seconds:6.1f} s  {said}", flush=True)
        for line in last.failed:
            print(f"      {line}")
        if last.status == 0:
            output.unlink()
    passed = sum(one.status == 0 for one in done)
    seconds = [one.seconds for one in done]
    print(
        f"{passed} of {runs} passed; {statistics.median(seconds):.0f} s in the median, "
        f"{max(seconds):.0f} s at most"
    )
    if passed == runs:
        folder.rmdir()
    return runs - passed


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0, help="processes beside it")
    parser.add_argument("builds", type=Path, nargs="*", help="packages to run it with")
    options = parser.parse_args()
    with busy(options.busy):
        builds = options.builds or [None]
        sys.exit(bool(sum(soak(options.runs, build=build) for build in builds)))


if __name__ == "__main__":
    main()
