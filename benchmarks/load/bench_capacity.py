"""`specsteer lab bench capacity`: how many people one server can serve at once."""

from __future__ import annotations

import platform
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np

from benchmarks.cache import Cache, code_id, versions
from benchmarks.options import (
    AT_LEAST_ONE,
    JSON,
    KEPT,
    NEW_FILE,
    Decorator,
    Listed,
    flag,
    option,
)
from benchmarks.speed.bench_speed import Pair, check, embedded
from benchmarks.speed.one_text import Clock, Device
from benchmarks.speed.serving import Address, Paced, relayed, serving
from benchmarks.speed.traced import FIRST_OF_PROMPT, Pace, Role, Trace
from decoding_core.errors import EngineError
from decoding_core.settings import MethodSettings
from edge_app.commands.terminal import STOPPED, note
from edge_app.evaluation import tables
from edge_app.retrieval.context import Prompts
from models.command_line import Command
from models.folders import state_folder
from models.running.settings import usable_cores

STREAMED = ("generalist", "co-located")
"""Written on the server, so that a text pays the round trip once, for its first token,
which is not counted."""
WAYS = (*STREAMED, "costeer", "lightcosteer", "steering", "lossless")
DRAFT = 0.007  # seconds of a drafted token, on a device or beside the large model
VOCABULARY = 8192  # of the paced pair; a row of a larger one costs this machine more
CONTEXT = 8192
PUBLIC, PRIVATE = 2, 32  # tokens of the prompts; what is measured comes behind them
TRIPS, BOUNDS = (0.0, 30.0, 60.0, 100.0), (50.0, 60.0, 80.0)
PEOPLE = (1, 8, 16, 32, 48, 64, 80, 96)
PASS = 43.8, 0.5
"""With one token it is the 44.3 ms of SpecSteer's table; half a millisecond is what a
token of a prompt takes in `bench_speed.PACES`."""
NOT_OF_A_ROW = {"ways", "trips", "people", "bounds", "cache", "fresh"} | {
    *("plot", "markdown", "json_file")
}
FILES = "cloud_api/**/*.py", "benchmarks/[ls]*/*.py", "models/embedded/*.gguf"
"""What a row depends on, besides what a text does."""
MACHINE = platform.platform(), platform.processor(), usable_cores()
COLOURS = "#777", "#b60", "#a3c", "#c22", "#06c", "#083"
_SETTLING = 1.0  # seconds that everybody writes before anything counts
_START_SECONDS = 300.0
_BUSY = 0.7  # of a core, for the server's process or the devices', whose threads share
_LONGEST_STRETCH = 32.0
LEGEND = (
    "p95 N: how many people have N ms a token or less, 95 of 100 of them, on the line "
    "between the numbers that were measured; the other figures are those at the number "
    "under 'at'. By written token: passes of the large model, tokens that it reads, "
    "bytes at the devices' sockets, CPU of the server's process; blocks: texts in one "
    "pass; busy: of a core, by the busier of the two processes: where it is much, this "
    "machine was the limit and more people could write."
)


def _list(name: str, items: Listed, usual: tuple[Any, ...], said: str) -> Decorator:
    shown = ",".join(one if isinstance(one, str) else f"{one:g}" for one in usual)
    return option(name, items, shown, said, metavar="LIST")


@dataclass(frozen=True, slots=True)
class Row:
    """So many people who write at once."""

    engines: str
    way: str
    trip: float  # seconds of the round trip
    people: int
    p50: float  # of people, seconds a token
    p95: float
    tokens_per_second: float  # of all together
    kept: float | None  # of the verdicts on a drafted token, those that keep it
    passes: float  # of the large model, by written token
    read: float  # tokens that it reads, by written token
    blocks: float  # of different texts in one pass
    bytes: float  # by written token
    computing: float  # seconds of CPU of the server's process, by written token
    busy: float  # of a core, by the server's process or this one


@dataclass(slots=True)
class Person(Clock):
    """Somebody who writes, with a mark after each block: when it was settled, and
    tokens, bytes, kept and refused drafts until then."""

    marks: list[tuple[float, int, int, int, int]] = field(default_factory=list)

    def within(self, begin: float, end: float) -> np.ndarray[Any, Any]:
        """What came from the last block settled before a stretch to the first settled
        behind it, so that no wait is left out: seconds, tokens, and so on."""
        times = [mark[0] for mark in self.marks]
        first = max(bisect_right(times, begin) - 1, 0)
        last = min(bisect_left(times, end), len(times) - 1)
        return np.subtract(self.marks[last], self.marks[first])


def settings_of(way: str, options: Mapping[str, Any]) -> MethodSettings:
    """How a way is decoded; what stands beside the large model draws its bonus."""
    if way == "co-located":
        return MethodSettings(
            method="speculative",
            draft_length=options["colocated"],
            window=1,
            bonus_from="generalist",
        )
    return MethodSettings(
        method=way,
        threshold=options["threshold"],
        draft_length=options["draft"] or "auto",
        window=options["window"] or "auto",
    )


def paced(way: str, options: Mapping[str, Any]) -> Pair:
    """A pair that waits, all times stretched. Beside the large model the drafts of all
    texts of a pass are made before it, step by step."""
    stretch, (fixed, token) = options["stretch"], options["pass_ms"]
    fixed, token, draft = fixed / 1000, token / 1000, DRAFT
    if way == "co-located":
        fixed, draft = fixed + options["colocated"] * DRAFT, 0.0
    paces: Mapping[Role, Pace] = {
        "specialist": Pace(draft * stretch),
        "generalist": Pace(fixed * stretch, token * stretch),
        "base": Pace(0.0),  # its pass is in the generalist's
    }
    trace = Trace(options["acceptance"], 0)
    engines = Paced(trace, paces, CONTEXT, PRIVATE, PUBLIC, VOCABULARY)
    ids = (FIRST_OF_PROMPT,) * PRIVATE
    return Pair("paced", engines, Prompts(ids[:PUBLIC], ids, ()), options["acceptance"])


def device_of(pair: Pair, number: int) -> Device:
    """The device of a person. With a trace each is at another place of it, so that
    drafts are refused at different times."""
    prompts = pair.prompts
    if pair.engines.trace is not None:
        begin = (FIRST_OF_PROMPT + number,)
        prompts = Prompts(
            begin + prompts.public_ids[1:], begin + prompts.private_ids[1:], ()
        )
    return Device(pair.engines.device(), prompts)


def figures(address: Address) -> dict[str, float]:
    """The server's own figures on the large model: passes, tokens, texts in passes."""
    names = {"passes": "batch_size_count", "texts": "batch_size_sum"}
    names["tokens"] = "read_tokens_total"
    said = address.metrics()
    return {
        name: said[f'specsteer_{metric}{{model="generalist"}}']
        for name, metric in names.items()
    }


def measure(
    pair: Pair, way: str, address: Address, near: Address, people: int, options: Any
) -> Row:
    """Have so many people write until all have written for the time that counts.
    Raises DecodingError if one of them cannot."""
    stretch = options["stretch"] if pair.engines.trace else 1.0
    begun, stop = threading.Semaphore(0), threading.Event()
    devices = [device_of(pair, number) for number in range(people)]

    def write(number: int) -> Person:
        person, count = Person(), 0
        usual = settings_of(way, options)
        if pair.engines.trace is None:
            usual = replace(usual, temperature=0.7, top_p=0.95, seed=number)
        place = replace(address, user=f"person-{number}")
        with devices[number].writing(place, usual, CONTEXT, person) as loop:
            for block in loop.blocks():
                count += len(block.token_ids)
                now = time.perf_counter(), count, person.bytes
                person.marks.append((*now, person.accepted, person.refused))
                if len(person.marks) == 1:
                    begun.release()
                if stop.is_set():
                    break
        return person

    with ExitStack() as stack:
        for device in devices:
            stack.enter_context(closing(device.model))
        pool = stack.enter_context(ThreadPoolExecutor(people))
        stack.callback(stop.set)
        writing = [pool.submit(write, number) for number in range(people)]
        everybody(begun, writing)
        time.sleep(_SETTLING * stretch)
        begin, before = time.perf_counter(), figures(near)
        computing, own = near.computing(), time.process_time()
        time.sleep(options["seconds"] * stretch)
        computing, own = near.computing() - computing, time.process_time() - own
        end, after = time.perf_counter(), figures(near)
        stop.set()
        written = [future.result() for future in writing]
    for number, person in enumerate(written):
        check(person, pair.engines.trace, way, number)
    sums = np.array([person.within(begin, end) for person in written])
    seconds, tokens, size, kept, refused = sums.T
    with np.errstate(divide="ignore"):
        a_token = seconds / stretch / tokens
    rate = float((tokens / seconds).sum())
    count = rate * (end - begin)  # tokens that the server's figures are of
    each = {name: (after[name] - before[name]) / count for name in after}
    p50, p95 = np.percentile(a_token, (50, 95)).tolist()
    verdicts = float((kept + refused).sum())
    return Row(
        *(pair.name, way, 0.0, people, p50, p95, rate * stretch),
        float(kept.sum()) / verdicts if verdicts else None,
        *(each["passes"], each["tokens"], each["texts"] / each["passes"]),
        float(size.sum() / tokens.sum()),
        computing / count,
        max(computing, own) / (end - begin),
    )


def everybody(begun: threading.Semaphore, writing: Sequence[Future[Person]]) -> None:
    """Wait until everybody has written something; raises what one of them raised, and
    EngineError if it takes minutes."""
    until = time.monotonic() + _START_SECONDS
    for _ in writing:
        while not begun.acquire(timeout=1.0):
            for one in writing:
                if one.done():
                    one.result()
            if time.monotonic() > until:
                raise EngineError("the server does not serve so many people at all")


def curve(
    way: str, trip: float, options: Mapping[str, Any], cache: Cache
) -> Iterator[Row]:
    """Rows of ever more people, until p95 is above every bound; those that are kept
    first. Once this machine is busy, what waits is stretched twice as much. The server
    learns from one who writes alone what a pass takes."""
    numbers, stretch = list(options["people"]), options["stretch"]
    depends = {name: options[name] for name in options.keys() - NOT_OF_A_ROW}
    depends["row"] = way, trip, max(numbers), MACHINE, code_id(*FILES), versions()
    while numbers:
        if kept := cache.get({**depends, "people": numbers[0]}):
            yield (row := Row(**kept))
            if 1000 * row.p95 > max(options["bounds"]):
                return
            del numbers[0]
            continue
        chosen = {**options, "stretch": stretch}
        pair = embedded(400) if options["embedded"] else paced(way, chosen)
        given = stretch if pair.engines.trace else 1.0
        with (
            serving(pair.engines, max(numbers)) as near,
            relayed(near, trip * given) as address,
        ):
            if numbers[0] > 1:
                measure(pair, way, address, near, 1, {**chosen, "seconds": 1.0})
            while numbers:
                row = measure(pair, way, address, near, numbers[0], chosen)
                may_stretch = pair.engines.trace and stretch < _LONGEST_STRETCH
                if may_stretch and row.busy > _BUSY:
                    stretch *= 2
                    break
                row = replace(row, trip=trip)
                cache.put({**depends, "people": numbers[0]}, asdict(row))
                yield row
                if 1000 * row.p95 > max(options["bounds"]):
                    return
                del numbers[0]


def by_curve(rows: Sequence[Row]) -> dict[tuple[str, str, float], list[Row]]:
    """The rows of each curve, by their people."""
    found: dict[tuple[str, str, float], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.people):
        found.setdefault((row.engines, row.way, row.trip), []).append(row)
    return found


def capacity(rows: Sequence[Row], bound: float) -> float | None:
    """How many people of a curve have p95 at the bound, on the straight line between
    the measured numbers; 0: not even one; None: more than were tried."""
    before = None
    for row in rows:
        if row.p95 > bound:
            if before is None:
                return 0.0
            share = (bound - before.p95) / (row.p95 - before.p95)
            return before.people + share * (row.people - before.people)
        before = row
    return None


def table(rows: Sequence[Row], bounds: Sequence[float]) -> list[list[str]]:
    """A line for each curve: how many people at each bound, in ms, and the figures of
    the largest measured number within the last."""
    heads = [
        *("engines", "way", "trip ms", *(f"p95 {bound:g}" for bound in bounds)),
        *("at", "p50 ms", "p95 ms", "tok/s", "kept", "passes", "read", "blocks"),
        *("bytes", "CPU ms", "busy"),
    ]
    lines = [heads]
    for (engines, way, trip), found in by_curve(rows).items():
        most = [capacity(found, bound / 1000) for bound in bounds]
        within = [one for one in found if 1000 * one.p95 <= bounds[-1]]
        row = within[-1] if within else found[0]
        lines.append(
            [
                *(engines, way, "" if way in STREAMED else f"{1000 * trip:.0f}"),
                *(f">{found[-1].people}" if n is None else f"{n:.0f}" for n in most),
                *(str(row.people), f"{1000 * row.p50:.1f}", f"{1000 * row.p95:.1f}"),
                f"{row.tokens_per_second:.0f}",
                "" if row.kept is None else f"{row.kept:.0%}",
                *(f"{row.passes:.3f}", f"{row.read:.2f}", f"{row.blocks:.1f}"),
                *(f"{row.bytes:.0f}", f"{1000 * row.computing:.2f}"),
                f"{row.busy:.0%}",
            ]
        )
    return lines


def plot(rows: Sequence[Row], bounds: Sequence[float]) -> str:
    """People against p95 as SVG: a colour for each way, dots for the longer trips."""
    left, top, width, height, tall = 48, 28, 432, 272, 1.25 * bounds[-1]
    most = max(row.people for row in rows)

    def at(people: float, ms: float) -> str:
        x = left + width * people / most
        return f"{x:.0f} {top + height * (1 - min(ms, tall) / tall):.0f}"

    def text(place: str, words: str, colour: str = "#777") -> str:
        x, y = place.split()
        return f'<text x="{x}" y="{y}" fill="{colour}">{words}</text>'

    def line(points: Sequence[str], colour: str, dots: str = "") -> str:
        dots = dots and f' stroke-dasharray="{dots}"'
        return f'<path d="M{"L".join(points)}" stroke="{colour}"{dots}/>'

    drawn = [line([at(0, tall), at(0, 0), at(most, 0)], "#777")]
    for bound in bounds:
        drawn.append(line([at(0, bound), at(most, bound)], "#bbb", "4"))
        drawn.append(text(f"4 {at(0, bound).split()[1]}", f"{bound:g} ms"))
    for share in (0.25, 0.5, 0.75, 1.0):
        x = at(share * most, 0).split()[0]
        drawn.append(text(f"{x} {top + height + 16}", f"{share * most:.0f}"))
    drawn.append(text(f"{left + 150} {top + height + 30}", "people at once"))
    drawn.append(text(f"4 {top - 6}", "p95 of the time a token"))
    for number, ((_, way, trip), found) in enumerate(by_curve(rows).items()):
        colour = COLOURS[WAYS.index(way)]
        points = [at(row.people, 1000 * row.p95) for row in found]
        name = way if way in STREAMED else f"{way}, {1000 * trip:.0f} ms"
        drawn.append(line(points, colour, f"{200 * trip:.0f} 4" if trip else ""))
        drawn.append(text(f"{left + width + 16} {top + 15 * number}", name, colour))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 640 340">'
        "<title>The time a token that 95 of 100 people have, by how many write at once"
        "</title><style>text{font:12px sans-serif}path{fill:none;stroke-width:2}"
        f"</style>{''.join(drawn)}</svg>\n"
    )


@click.command("capacity", cls=Command)
@flag("--embedded", "The pair that comes along, for real, in place of paced engines.")
@_list("--ways", Listed(click.Choice(WAYS)), WAYS, "Of all that are shown.")
@_list("--trips", Listed(click.FloatRange(0.0, 1e4)), TRIPS, "Round trips in ms.")
@_list("--people", Listed(AT_LEAST_ONE), PEOPLE, "How many at once, ever more.")
@_list("--bounds", Listed(click.FloatRange(1.0)), BOUNDS, "Of p95 in ms, ever more.")
@option(
    *("--pass-ms", (float, float), PASS),
    "What a pass of the paced large model takes: fixed, and by token.",
    metavar="FIXED TOKEN",
)
@option("--acceptance", click.FloatRange(0.0, 1.0), 0.9, "Chance to keep a draft.")
@option("--threshold", click.FloatRange(0.0), 0.1, "Of steering.")
@option("--draft", click.IntRange(0, 16), 0, "Drafted tokens of a block; 0: fitted.")
@option("--window", click.IntRange(0, 4), 0, "Blocks that may be out; 0: fitted.")
@option("--colocated", click.IntRange(1, 16), 4, "Drafted tokens beside the large one.")
@option("--seconds", click.FloatRange(1.0), 4.0, "How long it counts.")
@option("--stretch", click.FloatRange(1.0), 3.0, "How much slower waits are played.")
@option("--plot", NEW_FILE, None, "Write the curves there, as SVG.", metavar="FILE")
@flag("--markdown", "A table in Markdown.")
@KEPT
@JSON
def command(**options: Any) -> None:
    """How many people can write at once on one server.

    The server and its scheduler are real, in a process of its own; so are the devices'
    loops and sockets, in another. Everybody writes as fast as it goes. A pass of the
    paced large model takes a fixed time and some for each token of all texts in it, a
    trace says which drafts are kept, and whatever waits is stretched, ever more as this
    machine gets busy, so that two cores can play many people; figures are in the time
    that is meant. `generalist` and `co-located` (a drafter beside the large model,
    whose steps for all texts of a pass go before it) stream, and pay the round trip
    once.

    
        specsteer lab bench capacity --ways generalist,steering --trips 0,60
        specsteer lab bench capacity --embedded --people 1,2,4,8 --plot curves.svg
    """
    rows: list[Row] = []
    path = (options["cache"] or state_folder() / "bench") / "capacity.jsonl"
    with closing(Cache(path, fresh=options["fresh"])) as cache:
        try:
            for way in options["ways"]:
                near = way in STREAMED or options["embedded"]
                for ms in (0.0,) if near else options["trips"]:
                    for row in curve(way, ms / 1000, options, cache):
                        rows.append(row)
                        p95 = f"p95 {1000 * row.p95:.0f} ms"
                        note(f"{way}, {ms:g} ms, {row.people}: {p95}")
        except KeyboardInterrupt:
            note("stopped; what is done is kept: the same command goes on from there")
            sys.exit(STOPPED)
    lines = table(rows, options["bounds"])
    shown = tables.aligned(lines, left=2)
    click.echo(
        tables.markdown_table(lines, 2) if options["markdown"] else "\n".join(shown)
    )
    click.echo("\n" + click.wrap_text(LEGEND, 80), err=True)
    if options["plot"]:
        options["plot"].write_text(plot(rows, options["bounds"]), encoding="utf-8")
    if options["json_file"]:
        body = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": MACHINE,
            "settings": {name: str(value) for name, value in options.items()},
            "rows": [asdict(row) for row in rows],
        }
        tables.write(options["json_file"], body)
