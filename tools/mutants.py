"""Plants errors in the code, one at a time, and counts those that no test notices.

    make mutants                              a sample of 200, seed 1
    python -m tools.mutants --sample 0        every one (hours)
    python -m tools.mutants --only cloud_api  places whose path begins so

An error is one changed operator, number, condition, slice or statement within a
function. First the tests run once, each line noting which of them pass through it; then
each error is planted in a copy of the tree, and those tests alone are run, the fastest
first, until one fails. Lines that only other processes run are tried with `FALLBACK`.
An error that hangs the tests counts as caught. Not part of the tests: it takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = (
    "decoding_core/**/*.py",
    "cloud_api/**/*.py",
    "edge_app/decoding/loop.py",
    "edge_app/decoding/deciders.py",
    "edge_app/transport/client.py",
)
TESTS = (
    "tests/decoding_core",
    "tests/cloud_api",
    *sorted(
        str(p.relative_to(ROOT)) for p in ROOT.glob("tests/edge_app/decoding/test_*.py")
    ),
    "tests/integration/test_every_method.py",
    "tests/integration/test_privacy.py",
)
FALLBACK = ("tests/cloud_api/test_cloud_process.py",)
PATIENCE_SECONDS = 60.0  # how much longer than without an error its tests may take

_OPPOSITES = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
COMPARISONS = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
}
TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, order=True)
class Mutant:
    """An error: the bytes of a file that are replaced, and what replaces them."""

    path: str
    line: int
    begin: int
    end: int
    new: str
    old: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:60] for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old}  ->  {new}"


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Every error that can be planted in a file."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, new in _changes(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = data[begin:end].decode()
        found.append(Mutant(path, node.lineno, begin, end, new, old))
    return sorted(set(found))


def _changes(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes within functions, and the code that is to stand there."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                for node in _code(statement):
                    for new in _instead(node):
                        yield node, new


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it; no annotations, assertions or functions within, which
    are visited by themselves."""
    skipped = ast.Assert | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    if isinstance(node, skipped) or _is_docstring(node):
        return
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _instead(node: ast.AST) -> Iterator[str]:  # noqa: C901 - a table of cases
    """The code that may stand in place of a node."""
    match node:
        case ast.Compare(ops=[kind]) if type(kind) in COMPARISONS:
            yield _changed(node, ops=[COMPARISONS[type(kind)]()])
        case ast.BinOp(op=kind) if type(kind) in ARITHMETIC:
            yield _changed(node, op=ARITHMETIC[type(kind)]())
        case ast.AugAssign(op=kind) if type(kind) in ARITHMETIC:
            yield ast.unparse(_copied(node, op=ARITHMETIC[type(kind)]()))
        case ast.BoolOp(op=ast.And()):
            yield _changed(node, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _changed(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()):
            yield f"({node.value + 1!r})"
        case ast.Call(func=ast.Name(id=name)) if name in TWINS:
            yield _changed(node, func=ast.Name(TWINS[name]))
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            if lower is not None:
                yield _changed(node, slice=ast.Slice(None, upper, node.slice.step))
            if upper is not None:
                yield _changed(node, slice=ast.Slice(lower, None, node.slice.step))
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        test = ast.unparse(node.test)
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            denied = ast.parse(f"not ({test})", mode="eval").body
            if isinstance(node, ast.IfExp):
                yield _changed(node, test=denied)
            else:
                code = ast.unparse(_copied(node, test=denied))
                yield code.replace("\n", "\n" + " " * node.col_offset)


def _copied(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    vars(new).update(fields)
    return new


def _changed(node: ast.AST, **fields: object) -> str:
    return f"({ast.unparse(_copied(node, **fields))})"


class Tree:
    """A copy of the files that git knows, in which errors are planted."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="mutants-"))
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.check_output(listed, cwd=ROOT, text=True).splitlines()
        for name in names:
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self._changes = 0

    def run(
        self, arguments: list[str], seconds: float | None
    ) -> subprocess.CompletedProcess[str]:
        """pytest in this tree; raises TimeoutExpired."""
        command = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        with subprocess.Popen(
            [*command, *arguments],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as child:
            try:
                out, _ = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)  # its own session: its servers end too
                raise
        return subprocess.CompletedProcess(command, child.returncode, out)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, with a time that has Python compile it again."""
        self._changes += 1
        file = self.root / path
        file.write_bytes(data)
        os.utime(file, (self._changes, self._changes))


RECORDER = """
# Notes which test passes through which line, and how long each takes.
import atexit, json, os, time
import coverage, pytest

# The project's settings would measure child processes too, which have no file.
files = json.loads(os.environ["MUTANT_FILES"])
cov = coverage.Coverage(data_file=None, config_file=False, include=files)
seconds, failed = {}, []
cov.start()

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    cov.switch_context(item.nodeid)
    began = time.perf_counter()
    yield
    seconds[item.nodeid] = time.perf_counter() - began
    cov.switch_context("")

def pytest_runtest_logreport(report):
    if report.failed:
        failed.append(report.nodeid)

def pytest_sessionfinish():
    cov.stop()
    data = cov.get_data()
    lines = {
        os.path.relpath(file): data.contexts_by_lineno(file)
        for file in data.measured_files()
    }
    with open(os.environ["MUTANT_RECORD"], "w") as file:
        json.dump({"lines": lines, "seconds": seconds, "failed": failed}, file)
"""


@dataclass
class Record:
    """What the tests did without an error."""

    lines: dict[str, dict[str, list[str]]]
    seconds: dict[str, float]

    def tests_of(self, mutant: Mutant, source: bytes) -> list[str]:
        """Those that pass through a place, the fastest first."""
        last = mutant.line + source[mutant.begin : mutant.end].count(b"\n")
        lines = self.lines.get(mutant.path, {})
        # A statement of several lines is noted under some of them.
        numbers = map(str, range(mutant.line, last + 1))
        found = {test for number in numbers for test in lines.get(number, ()) if test}
        if not found:  # inside of an expression that began further up
            above = (str(n) for n in range(mutant.line, 0, -1) if str(n) in lines)
            near = next(above, "")
            found = {test for test in lines.get(near, ()) if test}
        known = found & self.seconds.keys()
        return sorted(known, key=self.seconds.__getitem__)


def record(tree: Tree, files: list[str]) -> Record:
    """Run all tests once; raises SystemExit if one fails."""
    (tree.root / "mutant_recorder.py").write_text(RECORDER)
    path = tree.root / "mutant_record.json"
    os.environ["MUTANT_FILES"] = json.dumps([str(tree.root / name) for name in files])
    os.environ["MUTANT_RECORD"] = str(path)
    began = time.monotonic()
    done = tree.run(["-p", "mutant_recorder", *TESTS], None)
    if not path.exists():
        raise SystemExit(done.stdout)
    found = json.loads(path.read_text())
    if found["failed"] or done.returncode:
        raise SystemExit(f"tests fail without an error:\n{done.stdout[-3000:]}")
    took = time.monotonic() - began
    print(f"{len(found['seconds'])} tests pass, in {took:.0f} s", flush=True)
    return Record(found["lines"], found["seconds"])


def fate(tree: Tree, mutant: Mutant, known: Record) -> str:
    """`caught`, `hangs`, `survived` or, if no test passes by, `unseen`."""
    source = (ROOT / mutant.path).read_bytes()
    tests = known.tests_of(mutant, source)
    seconds = sum(known.seconds[test] for test in tests)
    data = source[: mutant.begin] + mutant.new.encode() + source[mutant.end :]
    tree.write(mutant.path, data)
    (tree.root / "mutant_tests").write_text("\n".join(tests or FALLBACK))
    try:
        arguments = ["-x", "-q", "--no-header", "@mutant_tests"]
        done = tree.run(arguments, PATIENCE_SECONDS + 5 * seconds)
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        tree.write(mutant.path, source)
    if done.returncode:
        return "caught"
    return "survived" if tests else "unseen"


def main() -> None:
    """Plant errors, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="0: every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="paths that begin so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    files = sorted(
        str(path.relative_to(ROOT)) for place in PLACES for path in ROOT.glob(place)
    )
    every = [m for name in files for m in mutants_of(name, (ROOT / name).read_text())]
    if options.only:
        every = [m for m in every if m.path.startswith(tuple(options.only))]
    chosen = every
    if 0 < options.sample < len(every):
        # Not sorted, so that what a stopped run has tried is a sample too.
        chosen = random.Random(options.seed).sample(every, options.sample)
    print(f"{len(chosen)} of {len(every)} errors, seed {options.seed}", flush=True)
    trees = [Tree() for _ in range(options.jobs)]
    done: list[tuple[Mutant, str]] = []
    try:
        known = record(trees[0], files)
        for mutant, result in try_all(trees, chosen, known):
            done.append((mutant, result))
            missed = result in ("survived", "unseen")
            if missed or len(done) % 10 == 0:
                what = f"{result}: {mutant}" if missed else "tried"
                print(f"[{len(done)}/{len(chosen)}] {what}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped after {len(done)} of {len(chosen)}")
    finally:
        report(done)
        for tree in trees:
            shutil.rmtree(tree.root, ignore_errors=True)


def try_all(
    trees: list[Tree], chosen: list[Mutant], known: Record
) -> Iterator[tuple[Mutant, str]]:
    """What becomes of each error, one at a time in each tree."""
    free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for tree in trees:
        free.put(tree)

    def tried(mutant: Mutant) -> tuple[Mutant, str]:
        tree = free.get()
        try:
            return mutant, fate(tree, mutant, known)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as workers:
        try:
            for done in as_completed([workers.submit(tried, one) for one in chosen]):
                yield done.result()
        finally:
            workers.shutdown(cancel_futures=True)


def report(done: list[tuple[Mutant, str]]) -> None:
    """The share caught, by package and in all."""
    total: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for mutant, result in done:
        for name in (mutant.path.split("/")[0], "in all"):
            total[name] += 1
            caught[name] += result in ("caught", "hangs")
    for name, count in sorted(total.items()):
        share = caught[name] / count
        print(f"{name:<14} {caught[name]:>5} of {count:<5} {share:6.1%} caught")


if __name__ == "__main__":
    main()
