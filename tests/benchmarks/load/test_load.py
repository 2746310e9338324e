"""`specsteer lab bench load --soak`: what a server keeps of devices that have gone."""

import asyncio
import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.load import bench_load
from benchmarks.load.bench_load import Household, command, write_until
from decoding_core.errors import CloudError
from tests.waiting import PATIENCE

MINUTES = float(os.environ.get("SPECSTEER_SOAK", "10"))
LEFT = "open files", "threads", "sessions", "streams", "connections"


class Leaking:
    """A server that keeps one kind of thing for good, and others for a while."""

    url = "http://127.0.0.1:1"
    kept = going = 0

    def __init__(self, leak):
        self.leak = leak

    def memory(self):
        self.kept += self.leak == "memory"
        return (100 + self.kept) << 20

    def count(self, name):
        return self.kept * (self.leak == name) + self.going

    def descriptors(self):
        self.going = max(0, self.going - 1)
        return self.count("open files")

    def threads(self):
        return self.count("threads")

    def metrics(self):
        return {f"specsteer_{name}": float(self.count(name)) for name in LEFT[2:]}

    def ask(self, _path):
        return SimpleNamespace(json=dict)


@pytest.mark.parametrize("leak", [None, "memory", *LEFT])
def test_a_leak_is_found_and_said(leak, monkeypatch):
    """Each kind alone, by a sentence and the exit status; what goes is none."""
    server, clock, sleep = Leaking(leak), itertools.count(), asyncio.sleep

    async def writing(end, home, first):
        home.server.kept, home.server.going = home.server.kept + 2, 5
        while next(clock) < end:
            await sleep(0)
        return Counter(written=3)

    monkeypatch.setattr(bench_load, "serving", lambda *_: nullcontext(server))
    monkeypatch.setattr(bench_load, "write_until", writing)
    monkeypatch.setattr(bench_load, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(asyncio, "sleep", lambda _: sleep(0))
    result = CliRunner().invoke(command, ["--soak", "1"])
    assert "3 written" in result.stdout
    how = "by " if leak == "memory" else "from 2 to 4, and stayed for 60 s"
    said = f"Error: the server leaks: {leak} grew {how}" if leak else ""
    assert result.stderr[: len(said) or None] == said
    assert result.exit_code == bool(leak)


def test_a_device_that_fails_ends_the_soak():
    """In a sentence: the server is gone."""
    models = {"limits": {"vocabulary_size": 9}, "generalist": {"vocabulary_id": ""}}
    home = Household(Leaking(None), models)
    with pytest.raises(CloudError, match="a device failed: ConnectError"):
        asyncio.run(write_until(math.inf, home, 0))


@pytest.mark.slow
def test_a_server_keeps_nothing_through_a_soak():
    """SPECSTEER_SOAK says how many minutes."""
    words = ["lab", "bench", "load", "--soak", f"{MINUTES:g}"]
    done = subprocess.run(
        [sys.executable, "-m", "edge_app.cli", *words],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE * (MINUTES + 1),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    _, _, *lines = done.stdout.splitlines()
    assert [line[:12].rstrip() for line in lines] == ["memory", *LEFT]
    assert lines[3].split() == ["sessions", "0", "0"]
