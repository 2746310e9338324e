"""No test may depend on the machine's speed."""

import re
import signal

import pytest

from tests import waiting
from tests.waiting import ROOT, no_hang, wait_until

TOOLS = ("test_waiting.py", "mutants.py")
CLOCKS = re.compile(
    r"\btime\.(?:sleep|monotonic|perf_counter|process_time|thread_time|time)(?:_ns)?\("
    r"|from time import|asyncio\.sleep\(|\bTimer\("
    r"|\.(?:wait|join|communicate|pause)\(\s*(?:timeout=)?\d[\d.]*\)"
    r"|\btimeout=[\d.]"
)


def test_tests_wait_for_facts():
    """Clocks are read and time is let pass in `waiting.py` alone."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path.name not in ("waiting.py", *TOOLS)
        for line in path.read_text("utf-8").splitlines()
        if CLOCKS.search(line)
    ]
    assert found == []


def test_clocks_are_known():
    for line in (
        "time.sleep(0.1)",
        "began = time.monotonic()",
        "thread.join(5)",
        "child.communicate(timeout=10)",
        "await pilot.pause(0.2)",
        "from time import sleep",
        "threading.Timer(0.05, stop.set).start()",
    ):
        assert CLOCKS.search(line), line


def test_what_never_happens_is_a_failure(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    with pytest.raises(AssertionError, match="waited in vain: no rain"):
        wait_until(lambda: False, "no rain")


def test_a_hang_is_a_failure(monkeypatch):
    """It is told by the time that this process computes, not by the clock."""
    limits = []
    monkeypatch.setattr(signal, "setitimer", lambda which, after: limits.append(after))
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(AssertionError, match="without an end"), no_hang():
        signal.raise_signal(signal.SIGPROF)
    assert limits == [60, 0]
    assert signal.getsignal(signal.SIGPROF) is before
