"""How fast a mailbox is imported, and in how much memory.

python -m benchmarks.importing --messages 20000
python -m benchmarks.importing --mailbox "All mail.mbox" --profile
"""

import cProfile
import pstats
import resource
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import click

from benchmarks.takeout import ME, mailbox_file
from personal_store import Store, import_source


@click.command()
@click.option("--messages", default=2_000, show_default=True)
@click.option("--seed", default=7, show_default=True)
@click.option("--mailbox", type=click.Path(path_type=Path), help="Read this instead.")
@click.option("--profile", is_flag=True, help="Show where the time goes.")
def main(messages: int, seed: int, mailbox: Path | None, profile: bool) -> None:
    """Import a generated Takeout mailbox into a fresh store."""
    with tempfile.TemporaryDirectory() as folder:
        path = mailbox or Path(folder, "takeout.mbox")
        mailbox_file(path, messages, seed)
        before = _peak()
        profiler = cProfile.Profile() if profile else None
        with Store.open(Path(folder, "store.db")) as store, profiler or nullcontext():
            started, worked = time.perf_counter(), time.process_time()
            report = import_source(store, "mbox", path, me=[ME])
            took = time.perf_counter() - started
            worked = time.process_time() - worked
        size = path.stat().st_size
        stored = Path(folder, "store.db").stat().st_size
    read = report.added + report.updated + report.skipped + report.failed
    print(f"{read:,} messages, {size / 1e6:.1f} MB: {report.summary()}")
    print(report.details())
    rates = f"{read / took:,.0f} messages/s, {size / took / 1e6:.1f} MB/s"
    print(f"took {took:.2f} s, {rates}")
    print(f"processor {worked:.2f} s, {read / worked:,.0f} messages/s of it")
    print(f"peak memory {_peak()} MB ({before} MB before), store {stored / 1e6:.1f} MB")
    if profiler:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def _peak() -> int:
    """Megabytes of memory at most so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 1_000_000


if __name__ == "__main__":
    main()
