"""`specsteer lab bench importing`: how fast a mailbox is imported."""

import os
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks.options import AT_LEAST_ONE, flag, option
from benchmarks.store.prose import ME, mailbox_file
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

    A made-up mailbox, or yours, goes into a fresh store. Shown are messages and
    megabytes by second, seconds of processor over all processes, and the most memory of
    this process and its largest child.

    \b
        specsteer lab bench importing --messages 20000
        specsteer lab bench importing --mailbox "All mail.mbox"
    """
    with tempfile.TemporaryDirectory() as folder:
        path = mailbox or mailbox_file(Path(folder, "made-up.mbox"), messages, seed)
        if alone:
            parallel.MOST = 0
        with Store.open(Path(folder, "store.db")) as store:
            started, worked = time.perf_counter(), _processor()
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
    print(f"peak memory {_peak() / 1e6:.0f} MB, store {stored / 1e6:.1f} MB")


def _peak() -> int:
    """The most memory of this process and of its largest child, in bytes."""
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(one).ru_maxrss for one in who) * unit


def _processor() -> float:
    """Seconds of processor time of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
