"""`lab bench speed`: how fast each method writes, and how far from its limit."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import click

from benchmarks.cache import versions
from benchmarks.options import (
    AT_LEAST_ONE,
    FILE,
    JSON,
    Decorator,
    Listed,
    flag,
    option,
)
from benchmarks.speed.one_text import (
    Cell,
    Clock,
    Device,
    Row,
    Unloaded,
    compared,
    row_of,
    table,
    unloaded,
)
from benchmarks.speed.serving import Embedded, Engines, Paced, relayed, serving
from benchmarks.speed.traced import Pace, Role, Trace
from decoding_core.errors import EngineError
from decoding_core.methods import build
from decoding_core.settings import DRAFT_LIMIT, MethodSettings
from decoding_core.verifier import role_of
from edge_app import sample
from edge_app.commands.terminal import Progress
from edge_app.evaluation import tables
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.sample import make_ready
from models.command_line import Command
from models.files import locate
from models.local.finding import sha256_of
from models.prompts import Request, public_messages
from models.running.settings import usable_cores
from personal_store import Store

KINDS = ("embedded", "paced")
METHODS = (
    *("generalist", "speculative", "costeer", "lightcosteer"),
    *("steering", "lossless", "coupled"),
)
PACES: Mapping[Role, Pace] = {
    "specialist": Pace(0.007, prompt_token=0.00005),
    "generalist": Pace(0.0443, prompt_token=0.0005),
    "base": Pace(0.0, prompt_token=0.00005),
}
"""The base's pass is in the generalist's."""
PUBLIC, PRIVATE = 300, 950  # tokens of the prompts of a paced pair
_WARM = MethodSettings(temperature=0.7, top_p=0.95)
"""Of the embedded pair, as in the app; a trace is followed at 0."""
_THRESHOLDS = (1.0, 0.5, 0.1)  # of steering, if the models decide
LEGEND = (
    "tok/s: after the first token. x gen.: against the large model alone that streams "
    "its text and pays the round trip once; the row 'generalist' pays it for each "
    "token, as our protocol does. in vain: drafted behind a block with a refusal, and "
    "never verified. /limit: time a token over t_draft + (1 - a)(t_verify + trip), the "
    "least of a single chain."
)
_USUAL: Mapping[str, Any] = {
    "engines": KINDS,
    "methods": METHODS,
    "trips": (0.0, 10.0, 30.0, 60.0, 100.0, 200.0),
    "acceptance": (0.5, 0.75, 0.9),
    "windows": (1, "auto"),
    "tokens": 120,
}
_QUICK: Mapping[str, Any] = {
    "engines": ("paced",),
    "methods": ("generalist", "costeer", "steering"),
    "trips": (0.0, 60.0),
    "acceptance": (0.9,),
    "tokens": 48,
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models whose methods are compared with each other."""

    name: str
    engines: Engines
    prompts: Prompts
    acceptance: float | None = None  # of the trace; None if the models decide
    end_ids: frozenset[int] = frozenset()
    messages: tuple[tuple[str, str], ...] = ()  # with two vocabularies


def _list(name: str, items: Listed, said: str) -> Decorator:
    return option(name, items, None, said, metavar="LIST")


@click.command("speed", cls=Command)
@flag("--quick", "A minute: paced engines, few cells.")
@_list("--engines", Listed(click.Choice(KINDS)), f"Of {', '.join(KINDS)}.")
@_list("--methods", Listed(click.Choice(METHODS)), f"Of {', '.join(METHODS)}.")
@_list(
    *("--trips", Listed(click.FloatRange(0.0, 1e4))),
    "Round trips in ms; 0: loopback, no relay.",
)
@_list(
    *("--acceptance", Listed(click.FloatRange(0.0, 1.0))),
    "Of the traces: chances to keep a token.",
)
@_list(
    *("--windows", Listed(click.IntRange(1, 4), auto=True)),
    "Blocks that may be out, or auto.",
)
@option("--tokens", AT_LEAST_ONE, None, "Tokens of a text, at most.")
@option(
    *("--generalist", FILE, None),
    "Also the embedded specialist with this one, of another vocabulary.",
)
@flag("--markdown", "A table in Markdown.")
@JSON
def command(**options: Any) -> None:
    """How fast each method writes, at each round trip.

    A device and a server, two processes and a real socket, with a relay between them
    that adds the round trip. The engines are of two kinds, and the table names them:
    the embedded pair, and paced ones, which wait as long as those of a GPU would take.
    A trace says of each token of a paced pair whether it is kept, and is the same for
    every method.

    \b
        specsteer lab bench speed --quick
        specsteer lab bench speed --engines paced --json speed.json
    """
    usual = {**_USUAL, **(_QUICK if options["quick"] else {})}
    options |= {name: usual[name] for name in usual if options[name] is None}
    pairs: list[Pair] = []
    for kind in options["engines"]:
        if kind == "embedded":
            pairs.append(embedded(options["tokens"]))
        else:
            pairs += [
                paced(share, options["tokens"]) for share in options["acceptance"]
            ]
    if options["generalist"]:
        pairs.append(embedded(options["tokens"], options["generalist"]))
    rows, alone = measured(pairs, options)
    lines = table(rows)
    if options["markdown"]:
        click.echo(tables.markdown_table(lines))
    else:
        click.echo("\n".join(tables.aligned(lines)))
    click.echo("\n" + click.wrap_text(LEGEND, 80), err=True)
    if options["json_file"]:
        traces = [pair.engines.trace for pair in pairs if pair.engines.trace]
        files = {str(file): file for pair in pairs for file in pair.engines.files}
        body = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": [platform.platform(), platform.processor(), usable_cores()],
            "settings": {name: str(value) for name, value in options.items()},
            "models": {name: sha256_of(file) for name, file in files.items()},
            "traces": {
                f"a = {one.acceptance:g}, seed 0": one.digits(options["tokens"])
                for one in traces
            },
            "alone, seconds": {name: asdict(times) for name, times in alone.items()},
            "rows": [{**asdict(row), "over_limit": row.over_limit} for row in rows],
        }
        tables.write(options["json_file"], body)


def measured(
    pairs: list[Pair], options: Mapping[str, Any]
) -> tuple[list[Row], dict[str, Unloaded]]:
    """Write every text: a row for each, and the times of each pair's engines alone.

    Raises:
        DecodingError: an engine cannot be had, or a text came out that no trace gives.
    """
    trips = [ms / 1000.0 for ms in options["trips"]]
    plan: list[tuple[Pair, list[tuple[Cell, MethodSettings]]]] = []
    for pair in pairs:
        cells = contestants(pair, options["methods"], options["windows"])
        if any(other.name == pair.name for other, _ in plan):
            # Whatever drafts nothing takes as long with any trace.
            cells = [(cell, settings) for cell, settings in cells if cell.drafting]
        plan.append((pair, cells))
    total = len(trips) * sum(len(cells) for _, cells in plan)
    rows: list[Row] = []
    alone: dict[str, Unloaded] = {}
    with Progress("writing") as progress:
        for pair, cells in plan:
            if pair.name not in alone:
                alone[pair.name] = measured_alone(pair)
            engines = pair.engines
            with (
                closing(engines.device()) as model,
                closing(engines.device()) as base,
                serving(engines) as near,
            ):
                device = Device(model, pair.prompts, pair.end_ids, pair.messages, base)
                # What is imported and allocated once belongs to no figure.
                device.write(near, MethodSettings(method="generalist"), 2)
                for trip in trips:
                    with relayed(near, trip) as address:
                        for cell, settings in cells:
                            text = device.write(address, settings, options["tokens"])
                            check(text, engines.trace, cell.method)
                            reads = cell.drafting or cell.method != "generalist"
                            placed = replace(cell, trip=trip)
                            rows.append(row_of(placed, text, alone[pair.name], reads))
                            progress.show(len(rows), total)
    return compared(rows), alone


def contestants(
    pair: Pair, methods: tuple[str, ...], windows: tuple[Any, ...]
) -> list[tuple[Cell, MethodSettings]]:
    """The methods as they run on a pair: those that draft once for each window,
    steering once for each threshold if the threshold matters."""
    usual = _WARM if pair.acceptance is None else MethodSettings()
    found = []
    for name in methods:
        wanted = replace(usual, method=name)
        every = {name: wanted}
        if name == "steering" and pair.acceptance is None:
            every = {
                f"steering {limit:g}": replace(wanted, threshold=limit)
                for limit in _THRESHOLDS
            }
        role = role_of(wanted.terms(), build(wanted))
        drafting = role.draft_limit > 0
        for label, window in product(every, windows if drafting else [""]):
            share = pair.acceptance if drafting else None
            cell = Cell(pair.name, share, label, str(window), drafting, role.uses_base)
            settings = every[label]
            if drafting:
                settings = replace(settings, window=window, draft_length="auto")
            found.append((cell, settings))
    return found


def check(text: Clock, trace: Trace | None, method: str, start: int = 0) -> None:
    """Raise EngineError if a text is not that of its trace, from a position on: then
    something else decided what was kept."""
    if trace is not None and list(text.tokens) != trace.text(len(text.tokens), start):
        raise EngineError(f"{method} did not write the text that its trace gives")


def measured_alone(pair: Pair) -> Unloaded:
    """What each engine takes with nothing beside it."""
    prompts = len(pair.prompts.private_ids), len(pair.prompts.public_ids)
    with closing(pair.engines.device()) as device:
        server = pair.engines.server()
        try:
            return unloaded(device, server, *prompts, times=5)
        finally:
            for model in server.each():
                model.close()


def embedded(tokens: int, generalist: Path | None = None) -> Pair:
    """The embedded pair, or its specialist with another generalist, on the sample
    letter and what is found for it."""
    from models.running.loading import load_model

    request = Request(sample.REQUEST, "email", sample.RECIPIENT)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "store.db") as store,
        closing(load_model(locate("specialist"))) as model,
    ):
        make_ready(store)
        passages = store.search(
            request.text, limit=5, kind=request.task, recipient=request.recipient
        )
        words, context = model.vocabulary, model.context_length
        builder = PromptBuilder(words.tokenize, model.chat_template, context)
        prompts = builder.build(request, passages, "", tokens)
        engines = Embedded(context, generalist=generalist)
        if generalist is None:
            return Pair("embedded", engines, prompts, end_ids=words.end_ids)
        said = tuple((one.role, one.content) for one in public_messages(request))
        return Pair(
            *("two vocabularies", engines, prompts),
            end_ids=words.end_ids,
            messages=said,
        )


def paced(acceptance: float, tokens: int) -> Pair:
    """Engines that wait, with a trace of this acceptance."""
    trace, context = Trace(acceptance, 0), PRIVATE + tokens + 2 * DRAFT_LIMIT
    steps = [1000 * PACES[role].step for role in ("specialist", "generalist")]
    ids = tuple(300 + i % 64 for i in range(PRIVATE))
    return Pair(
        f"paced {steps[0]:g}/{steps[1]:g} ms",
        Paced(trace, PACES, context, PRIVATE, PUBLIC),
        Prompts(ids[:PUBLIC], ids, ()),
        acceptance,
    )
