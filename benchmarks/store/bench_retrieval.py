"""`specsteer lab bench retrieval`: how fast and how surely own texts are found."""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from base import python_child
from benchmarks.options import AT_LEAST_ONE, NONE_OR_MORE, SEED, option
from benchmarks.store.prose import Prose
from edge_app.commands.terminal import Progress
from models.command_line import Command
from personal_store import Store
from personal_store.connection import immediate
from personal_store.search.index import Index, Wanted
from personal_store.search.tables import OWN_TEXTS, refresh
from personal_store.text.tokens import tokens

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_AT_ONCE = 1_000
_BEST = 10
_DAY = 86_400
_RECORD = """
    INSERT INTO record(source_id, key, kind, title, body, recipient, recipient_address,
        sender, sent_at, thread, reply_to, author, trimmed, cleaning, body_sha)
    VALUES (1, ?, 'email', '', ?, ?, ?, '', ?, '', '', 1, 0, 0, x'')
"""


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of many searches, and the memory they took."""

    first: float
    all: Sequence[float]
    megabytes: int

    def shown(self) -> str:
        """The median and the time that one in twenty exceeds."""
        p95 = sorted(self.all)[int(0.95 * len(self.all))]
        return f"p50 {statistics.median(self.all):.1f} ms, p95 {p95:.1f} ms"


@click.command("retrieval", cls=Command)
@option(
    "--texts", AT_LEAST_ONE, None, "Sizes of the store.", name="sizes", multiple=True
)
@option("--queries", AT_LEAST_ONE, 100, "Of each length.")
@option("--checked", NONE_OR_MORE, 20, "Queries for recall.")
@option("--seed", SEED, 1, "Of the texts.")
@option(
    "--keep",
    click.Path(file_okay=False, path_type=Path),
    None,
    "Folder of stores: those that are there are searched, others built there.",
)
@click.option("--json", "as_json", is_flag=True, help="A line of JSON a store.")
def command(
    sizes: tuple[int, ...],
    queries: int,
    checked: int,
    seed: int,
    keep: Path | None,
    as_json: bool,
) -> None:
    """How fast and how surely own texts are found.

    Stores of 1,000 to 1,000,000 made-up texts are built and searched. Times are those
    from the words of a query to passages with their texts. Recall is the share of the
    ten best texts by rank_bm25 with our weights, scoring everything, that are among our
    ten best; preferences and doubles are left aside for it, as rank_bm25 knows neither.

    \b
        specsteer lab bench retrieval --texts 100000 --checked 30
    """
    for size in sizes or _SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(keep or folder, f"texts-{size}-{seed}.db")
            found = measured(path, size, queries, checked, seed)
        if as_json:
            click.echo(json.dumps({"texts": size, **found}))
            continue
        click.echo(f"{size:,} texts")
        for name, value in found.items():
            click.echo(f"  {name}: {value}")


def measured(
    path: Path, size: int, queries: int, checked: int, seed: int
) -> dict[str, str]:
    """Every figure of a store of this size, by its name."""
    prose = Prose(seed)
    found = {}
    if not path.exists():
        took = _timed(lambda: _fill(path, size, prose))
        found["built"] = f"{took:.1f} s, {1e3 * took / size:.2f} ms for each text"
        found["file"] = f"{path.stat().st_size / 1e6:.0f} MB"
    others = Prose(seed, drawn=1)
    asked = {
        "6 words": [others.query(6) for _ in range(queries)],
        "80 words": [others.text(80) for _ in range(queries)],
    }
    found["one text more"] = _one_more(path, others)
    for name, some in asked.items():
        # In a process of its own, so that its memory is the search's.
        with python_child.start(
            "benchmarks.store.bench_retrieval:answer",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            answer, _ = child.communicate(json.dumps([str(path.absolute()), some]))
        times = Times(**json.loads(answer))
        found[name] = f"{times.shown()}, first {times.first:.0f} ms"
        found[f"{name}, memory"] = f"{times.megabytes} MB"
    if checked:
        with Store.open(path) as store:
            rows = store.db.execute("SELECT id, tok FROM doc ORDER BY id").fetchall()
            ids = np.array([row[0] for row in rows])
            everything: Any = _Reference([row[1].split() for row in rows])  # type: ignore[no-untyped-call]
            for name, some in asked.items():
                shares = [
                    _recall(store, one, ids, everything) for one in some[:checked]
                ]
                found[f"{name}, recall"] = f"{np.mean(shares):.4f} of {len(shares)}"
    return found


def _fill(path: Path, size: int, prose: Prose) -> None:
    texts = enumerate(islice(prose.texts(), size))
    with Store.open(path) as store, Progress("writing") as progress:
        store.db.execute("INSERT INTO source VALUES (1, 'jsonl', 'made up')")
        while some := list(islice(texts, _AT_ONCE)):
            with immediate(store.db) as connection:
                (last,) = connection.execute(
                    "SELECT coalesce(max(id), 0) FROM record"
                ).fetchone()
                connection.executemany(_RECORD, [_row(n, text) for n, text in some])
                refresh(store.db, range(last + 1, last + len(some) + 1))
            progress.show(some[-1][0] + 1, size)


def _row(number: int, text: str) -> tuple[object, ...]:
    person = number % 97
    name, address = f"Person {person}", f"person{person}@example.org"
    return f"made-up:{number}", text, name, address, number * _DAY // 50


def _one_more(path: Path, prose: Prose) -> str:
    """What it costs to add one text at a time, each in a transaction of its own."""
    took = []
    with Store.open(path) as store:
        (there,) = store.db.execute("SELECT max(id) FROM record").fetchone()
        for number in range(there, there + 100):
            row = _row(number, prose.text())

            def add(row: tuple[object, ...] = row) -> None:
                with immediate(store.db) as connection:
                    added = connection.execute(_RECORD, row)
                    refresh(store.db, [int(added.lastrowid or 0)])

            took.append(1e3 * _timed(add))
    return Times(took[0], took, 0).shown()


def answer() -> None:
    """Search as standard input asks, and print how long it took."""
    path, queries = json.load(sys.stdin)
    before = _megabytes()
    with Store.open(Path(path)) as store:
        search = partial(store.search, kind="email", recipient="Person 5")
        took = [1e3 * _timed(partial(search, query)) for query in queries]
    times = Times(took[0], took[1:] or took, _megabytes() - before)
    print(json.dumps(asdict(times)))


class _Reference(BM25Okapi):
    """rank_bm25 with the weights of the store's engine, which are never negative."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, n in nd.items():
            self.idf[term] = math.log1p((self.corpus_size - n + 0.5) / (n + 0.5))


def _recall(store: Store, query: str, ids: NDArray[np.int64], everything: Any) -> float:
    """The share of the best texts that are found."""
    words = list(dict.fromkeys(tokens(query)))
    hits = Index(store.db, OWN_TEXTS).search(words, Wanted(100))
    ours = sorted(hits, key=lambda hit: -hit.parts["bm25"])[:_BEST]
    scores = everything.get_scores(words)
    best = ids[np.argsort(-scores, kind="stable")[:_BEST]]
    return len(set(best) & {hit.id for hit in ours}) / _BEST


def _timed(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def _megabytes() -> int:
    """The most memory this process has had. With /proc, without what its parent had,
    which the kernel includes otherwise."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if "VmHWM" in x)
        return int(line.split()[1]) * 1024 // 1_000_000
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 1_000_000
