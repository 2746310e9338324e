"""`lab bench speed`: how fast each method writes, and how far from its limit."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from benchmarks.cache import sha256_of, versions
from benchmarks.options import (
    AT_LEAST_ONE,
    JSON,
    NONE_OR_MORE,
    TEMPERATURE,
    Decorator,
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
from benchmarks.speed.serving import Paces, PairOrder, relayed, serving
from benchmarks.speed.traced import SMALLEST_VOCABULARY, Pace, Trace
from decoding_core.errors import DecodingError, EngineError
from decoding_core.messages import DRAFT_LIMIT
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from edge_app import sample
from edge_app.commands.terminal import Progress
from edge_app.evaluation import tables
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.sample import make_ready
from models.command_line import Command
from models.files import locate
from models.prompts import Request
from models.running.settings import usable_cores
from personal_store import Store

KINDS = ("embedded", "paced")
METHODS = (
    *("generalist", "speculative", "costeer", "lightcosteer"),
    *("steering", "lossless", "coupled"),
)
_TOP_P = 0.95
"""Of the embedded pair, as in the app."""
LEGEND = (
    "tok/s: after the first token. x gen.: against the large model alone that streams "
    "its text and pays the round trip once; the row 'generalist' pays it for each "
    "token, as our protocol does. in vain: drafted behind a block with a refusal, and "
    "never verified. /limit: time a token over t_draft + (1 - a)(t_verify + trip), the "
    "least of a single chain."
)
_USUAL = {
    "engines": KINDS,
    "methods": METHODS,
    "trips": (0.0, 10.0, 30.0, 60.0, 100.0, 200.0),
    "acceptance": (0.5, 0.75, 0.9),
    "thresholds": (1.0, 0.5, 0.1),
    "windows": (1, "auto"),
    "draft_lengths": ("auto",),
    "tokens": 120,
    "seeds": 1,
}
_QUICK = {
    "engines": ("paced",),
    "methods": ("generalist", "costeer", "steering"),
    "trips": (0.0, 60.0),
    "acceptance": (0.9,),
    "tokens": 48,
}

Callback = Callable[[click.Context, click.Parameter, str | None], Any]


def listed(read: Callable[[str], Any], wanted: str) -> Callback:
    """Reads what stands between commas, each item once; `read` raises ValueError for
    one that is not as `wanted` says."""

    def items(_: click.Context, __: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            return tuple(dict.fromkeys(read(word.strip()) for word in value.split(",")))
        except ValueError as error:
            raise click.BadParameter(f"'{value}' is no list of {wanted}") from error

    return items


def words(known: Sequence[str]) -> Callback:
    """Reads a list of known words."""
    return listed(lambda word: known[known.index(word)], ", ".join(known))


def numbers(highest: float) -> Callback:
    """Reads a list of numbers from 0 on."""

    def read(word: str) -> float:
        number = float(word)
        if not 0.0 <= number <= highest:
            raise ValueError(word)
        return number

    return listed(read, f"numbers from 0 to {highest:g}, such as 0,1")


def whole_numbers(highest: int) -> Callback:
    """Reads a list of whole numbers from 1 on, and of the word "auto"."""

    def read(word: str) -> int | str:
        if word != "auto" and not 1 <= int(word) <= highest:
            raise ValueError(word)
        return word if word == "auto" else int(word)

    return listed(read, f"whole numbers from 1 to {highest}, or auto")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models whose methods are compared with each other."""

    name: str
    orders: tuple[PairOrder, ...]
    """One for each seed; they differ in their traces alone."""
    prompts: Prompts
    acceptance: float | None = None
    """Of the traces; None if the models decide."""
    end_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method as it is set up for a pair."""

    cell: Cell
    settings: MethodSettings


def _list(name: str, read: Callback, said: str) -> Decorator:
    return option(name, str, None, said, callback=read, metavar="LIST")


@click.command("speed", cls=Command)
@flag("--quick", "A minute: paced engines, few cells.")
@_list("--engines", words(KINDS), f"Of {', '.join(KINDS)}, with commas.")
@_list("--methods", words(METHODS), f"Of {', '.join(METHODS)}.")
@_list("--trips", numbers(1e4), "Round trips in ms; 0: loopback, no relay.")
@_list("--acceptance", numbers(1.0), "Of the traces: chances to keep a token.")
@_list("--thresholds", numbers(1e6), "Of steering, if the models decide.")
@_list("--windows", whole_numbers(4), "Blocks that may be out, or auto.")
@_list("--draft-lengths", whole_numbers(DRAFT_LIMIT), "Of a block, or auto.")
@option("--tokens", AT_LEAST_ONE, None, "Tokens of a text, at most.")
@option("--seeds", AT_LEAST_ONE, None, "Texts of each cell, and traces.")
@option("--draft-ms", float, 7.0, "Paced: a step of the specialist.")
@option("--verify-ms", float, 44.3, "Paced: a step of the generalist, and a block.")
@option("--verify-token-ms", float, 0.0, "Paced: each token of a block besides.")
@option("--base-ms", float, 0.0, "Paced: a pass of the base, besides --verify-ms.")
@option("--prefill-ms", float, 0.05, "Paced: a token of the specialist's prompt.")
@option("--server-prefill-ms", float, 0.5, "Paced: a token of the public prompt.")
@option(
    *("--vocabulary", click.IntRange(SMALLEST_VOCABULARY), 151936),
    "Paced: tokens that the models know.",
)
@option("--request", AT_LEAST_ONE, 300, "Paced: tokens of the public prompt.")
@option(
    "--history", NONE_OR_MORE, 650, "Paced: tokens that the specialist alone reads."
)
@option("--threads", AT_LEAST_ONE, 1, "Of the specialist.")
@option("--server-threads", AT_LEAST_ONE, 1, "Of each model of the server.")
@option("--temperature", TEMPERATURE, 0.7, "Embedded; a trace is followed at 0.")
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
    try:
        run(options)
    except DecodingError as error:
        raise click.ClickException(str(error)) from error


def run(options: Mapping[str, Any]) -> None:
    """Write every text, and show the figures.

    Raises:
        DecodingError: an engine cannot be had, or a text came out that no trace gives.
    """
    kinds, methods = options["engines"], options["methods"]
    acceptance, thresholds = options["acceptance"], options["thresholds"]
    trips = [ms / 1000.0 for ms in options["trips"]]
    shapes = [
        {"window": window, "draft_length": length}
        for window in options["windows"]
        for length in options["draft_lengths"]
    ]
    pairs: list[Pair] = []
    for kind in kinds:
        pairs += {"embedded": embedded, "paced": paced}[kind](options, acceptance)

    rows: list[Row] = []
    alone: dict[str, Unloaded] = {}
    with Progress("writing") as progress:
        done, total = 0, 0
        plan: list[tuple[Pair, list[Contestant]]] = []
        for pair in pairs:
            found = contestants(pair, methods, thresholds, shapes, options)
            if any(other.name == pair.name for other, _ in plan):
                # Whatever drafts nothing takes as long with any trace.
                found = [one for one in found if one.cell.drafting]
            plan.append((pair, found))
            total += len(pair.orders) * len(trips) * len(found)
        for pair, found in plan:
            if pair.name not in alone:
                alone[pair.name] = measured_alone(pair)
            texts: dict[Cell, list[Clock]] = {}
            for seed, order in enumerate(pair.orders):
                with closing(order.device()) as engine, serving(order) as near:
                    device = Device(engine, pair.prompts, pair.end_ids)
                    # What is imported and allocated once belongs to no figure.
                    device.write(near, MethodSettings(method="generalist"), 2)
                    for trip in trips:
                        with relayed(near, trip) as address:
                            for one in found:
                                settings = replace(one.settings, seed=seed)
                                text = device.write(
                                    address, settings, options["tokens"]
                                )
                                check(text, order.trace, one.cell.method)
                                cell = replace(one.cell, trip=trip)
                                texts.setdefault(cell, []).append(text)
                                done += 1
                                progress.show(done, total)
            for cell, written in texts.items():
                reads = cell.drafting or cell.method != "generalist"
                rows.append(row_of(cell, written, alone[pair.name], reads))
    rows = compared(rows)
    lines = table(rows)
    if options["markdown"]:
        click.echo(tables.markdown_table(lines))
    else:
        click.echo("\n".join(tables.aligned(lines)))
    click.echo("\n" + click.wrap_text(LEGEND, 80), err=True)
    if options["json_file"]:
        orders = [order for pair in pairs for order in pair.orders]
        traces = [order.trace for order in orders if order.trace is not None]
        body = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": [platform.platform(), platform.processor(), usable_cores()],
            "settings": {name: str(value) for name, value in options.items()},
            "models": {
                file: sha256_of(Path(file)) for order in orders for file in order.files
            },
            "traces": {
                f"a = {one.acceptance:g}, seed {one.seed}": one.digits(
                    options["tokens"]
                )
                for one in traces
            },
            "alone, seconds": {name: asdict(times) for name, times in alone.items()},
            "rows": [{**asdict(row), "over_limit": row.over_limit} for row in rows],
        }
        tables.write(options["json_file"], body)


def contestants(
    pair: Pair,
    methods: Sequence[str],
    thresholds: Sequence[float],
    shapes: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> list[Contestant]:
    """The methods as they run on a pair: those that draft once for each shape of
    drafts, steering once for each threshold if the threshold matters."""
    usual = MethodSettings()
    if pair.acceptance is None:
        usual = replace(usual, temperature=options["temperature"], top_p=_TOP_P)
    found = []
    for name in methods:
        wanted = replace(usual, method=name)
        every = [(name, wanted)]
        if name == "steering" and pair.acceptance is None:
            every = [
                (f"steering {limit:g}", replace(wanted, threshold=limit))
                for limit in thresholds
            ]
        for label, settings in every:
            role = role_of(settings.terms(), build(settings))
            drafting = role.draft_limit > 0
            for shape in shapes if drafting else [{}]:
                cell = Cell(
                    pair.name,
                    pair.acceptance if drafting else None,
                    label,
                    str(shape.get("window", "")),
                    str(shape.get("draft_length", "")),
                    drafting,
                    role.uses_base,
                )
                found.append(Contestant(cell, replace(settings, **shape)))
    return found


def check(text: Clock, trace: Trace | None, method: str) -> None:
    """Raise EngineError if a text is not that of its trace: then something else
    decided what was kept."""
    if trace is not None and list(text.tokens) != trace.text(len(text.tokens)):
        raise EngineError(f"{method} did not write the text that its trace gives")


def measured_alone(pair: Pair) -> Unloaded:
    """What each engine takes with nothing beside it."""
    order = pair.orders[0]
    prompts = len(pair.prompts.private_ids), len(pair.prompts.public_ids)
    with closing(order.device()) as device:
        server = order.server()
        try:
            return unloaded(device, server, *prompts, times=5)
        finally:
            for model in server.each():
                model.close()


def embedded(options: Mapping[str, Any], acceptance: Sequence[float]) -> list[Pair]:
    """The embedded pair, on the sample letter and what is found for it."""
    del acceptance
    from models.running.loading import load_model

    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "store.db") as store,
        closing(load_model(locate("specialist"))) as model,
    ):
        make_ready(store)
        passages = store.search(
            sample.REQUEST, limit=5, kind="email", recipient=sample.RECIPIENT
        )
        builder = PromptBuilder(
            model.vocabulary.tokenize, model.chat_template, model.context_length
        )
        request = Request(sample.REQUEST, "email", sample.RECIPIENT)
        prompts = builder.build(request, passages, "", options["tokens"])
        order = PairOrder(
            "embedded",
            str(locate("specialist")),
            str(locate("generalist")),
            options["threads"],
            options["server_threads"],
            model.context_length,
            model.vocabulary_size,
        )
        orders = (order,) * options["seeds"]
        return [Pair("embedded", orders, prompts, end_ids=model.vocabulary.end_ids)]


def paced(options: Mapping[str, Any], acceptance: Sequence[float]) -> list[Pair]:
    """Engines that wait, a pair for each acceptance."""

    def pace(step: str, prefill: str, token: float = 0.0) -> Pace:
        return Pace(options[step] / 1000.0, token, options[prefill] / 1000.0)

    paces = Paces(
        pace("draft_ms", "prefill_ms"),
        pace("verify_ms", "server_prefill_ms", options["verify_token_ms"] / 1000.0),
        pace("base_ms", "prefill_ms"),
    )
    order = PairOrder("paced", paces=paces, vocabulary_size=options["vocabulary"])
    name = f"paced {options['draft_ms']:g}/{options['verify_ms']:g} ms"
    return [traced(name, order, share, options) for share in acceptance]


def traced(
    name: str, order: PairOrder, acceptance: float, options: Mapping[str, Any]
) -> Pair:
    """A pair whose acceptance is that of traces, one for each seed."""
    public, private = options["request"], options["request"] + options["history"]
    order = replace(
        order,
        context=private + options["tokens"] + 2 * DRAFT_LIMIT,
        private_length=private,
        public_length=public,
    )
    orders = tuple(
        replace(order, trace=Trace(acceptance, seed))
        for seed in range(options["seeds"])
    )
    ids = tuple(300 + i % 64 for i in range(private))
    return Pair(name, orders, Prompts(ids[:public], ids, ()), acceptance)
