"""`specsteer lab bench importing`: how fast a mailbox is imported."""

import os
import re
import resource
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import click

from benchmarks.options import AT_LEAST_ONE, flag, option
from benchmarks.store.takeout import ME, mailbox_file
from models.command_line import Command
from personal_store import Store, import_source
from personal_store.reading import parallel


@click.command("importing", cls=Command)
@option("--messages", AT_LEAST_ONE, 2000, "Made up.")
@option("--seed", None, 7, "Of the messages.")
@option(
    "--mailbox",
    click.Path(exists=True, dir_okay=False, path_type=Path),
    None,
    "Read this instead.",
)
@flag("--alone", "Read everything in one process.")
def command(messages: int, seed: int, mailbox: Path | None, alone: bool) -> None:
    """How fast a mailbox is imported, in how much memory.

    A made-up Gmail Takeout, with what real ones suffer from as often as they do, goes
    into a fresh store. Shown are messages and megabytes by second, seconds of processor
    over all processes, and the peak of their memory.

    \b
        specsteer lab bench importing --messages 20000
        specsteer lab bench importing --mailbox "All mail.mbox"
    """
    with tempfile.TemporaryDirectory() as folder:
        path = mailbox or mailbox_file(Path(folder, "takeout.mbox"), messages, seed)
        if alone:
            parallel.MOST = 0
        with Store.open(Path(folder, "store.db")) as store:
            started, worked = time.perf_counter(), _processor()
            with Memory() as memory:
                report = import_source(store, "mbox", path, me=[ME])
            took = time.perf_counter() - started
            worked = _processor() - worked
        size = path.stat().st_size
        stored = Path(folder, "store.db").stat().st_size
    read = report.added + report.updated + report.skipped + report.failed
    print(f"{read:,} messages, {size / 1e6:.1f} MB: {report.summary()}")
    print(report.details())
    rates = f"{read / took:,.0f} messages/s, {size / took / 1e6:.1f} MB/s"
    print(f"took {took:.2f} s, {rates}")
    print(f"processor {worked:.2f} s, {read / worked:,.0f} messages/s of it")
    print(f"{memory}, store {stored / 1e6:.1f} MB")


@dataclass(slots=True)
class Memory:
    """The memory of this process and its children while something runs.

    Shared pages count once (PSS, looked at ten times a second) where the system tells;
    elsewhere the peak of this process and that of its largest child are added.
    """

    peak: int = 0
    """In bytes."""
    processes: int = 1
    _over: threading.Event = field(default_factory=threading.Event)
    _watcher: threading.Thread | None = None

    def __enter__(self) -> "Memory":
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        if not self.peak:
            unit = 1 if sys.platform == "darwin" else 1024
            who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            self.peak = sum(resource.getrusage(one).ru_maxrss for one in who) * unit

    def __str__(self) -> str:
        return f"peak memory {self.peak / 1e6:.0f} MB of {self.processes} processes"

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            # This process and its children, where the system tells of those.
            family = ["self"]
            for tasks in Path("/proc/self/task").glob("*/children"):
                family += tasks.read_text().split()
            total = 0
            for process in family:
                try:
                    told = Path(f"/proc/{process}/smaps_rollup").read_text()
                except OSError:
                    continue  # it has ended, or this system has no such file
                if found := re.search(r"^Pss: +(\d+) kB", told, re.MULTILINE):
                    total += 1024 * int(found[1])
            self.peak = max(self.peak, total)
            self.processes = max(self.processes, len(family))


def _processor() -> float:
    """Seconds of processor time of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
