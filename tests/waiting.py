"""Waiting for facts: the only clock of the tests.

No test says how long something may take, for no machine is known. Where it waits for
another thread or process it waits for a fact, and PATIENCE only turns a hang into a
failure. How fast things are is measured in benchmarks/.
"""

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 120.0
"""Seconds after which what has not happened is held to be a hang."""


def moments(what, pause=0.005, times=1):
    """Come back again and again, a pause apart, until PATIENCE is over N times; `what`
    is then said, or what it returns."""
    end = time.monotonic() + times * PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(pause)
    raise AssertionError(f"waited in vain: {what() if callable(what) else what}")


def wait_until(fact, what="it did not happen"):
    """Return once `fact()` is true."""
    for _ in moments(what):
        if fact():
            return


async def until_true(fact, what="it did not happen", pause=0.01):
    """The same in a coroutine, which lets the others run."""
    for _ in moments(what, pause=0):
        if fact():
            return
        await asyncio.sleep(pause)


async def others_go_on(seconds):
    """Let other coroutines run for so long; what must have happened is waited for."""
    await asyncio.sleep(seconds)


def forever():
    """Stay until a signal or the end of the process; for what must be interrupted."""
    while True:
        time.sleep(0.01)


@contextmanager
def no_hang():
    """Fail if the block takes a minute of this process's own time, however busy the
    machine is: for input that makes a bad rule take hours."""

    def give_up(*_):
        raise AssertionError("a minute of computing without an end")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def at_once(code, *runs):
    """Run code as one process for each list of arguments. Each says "ready" in a line
    and waits for one; none gets it before all have asked. All must end well; what each
    printed after."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for arguments in runs
    ]
    try:
        assert [child.stdout.readline() for child in children] == ["ready\n"] * len(
            runs
        )
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.communicate(timeout=PATIENCE)[0] for child in children]
        assert [child.returncode for child in children] == [0] * len(runs)
    finally:
        for child in children:
            child.kill()
            child.communicate()
    return said


class Elapsed:
    """Lower bounds of time: no machine is too slow for them."""

    def __init__(self):
        self._began = time.monotonic()

    def at_least(self, seconds):
        """Whether so much time has passed since the beginning."""
        return time.monotonic() - self._began >= seconds

    def told(self):
        """How many seconds have passed, for what a test prints; none compares it."""
        return time.monotonic() - self._began


def let_pass(seconds):
    """Be as slow as what a test stands for; that it is slower changes nothing."""
    time.sleep(seconds)
