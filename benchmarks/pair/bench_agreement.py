"""`lab bench agreement`: how much of a draft the server keeps, how far the two
models are apart, and what that makes of the speed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.options import (
    AT_LEAST_ONE,
    MODEL_FILE,
    NEW_FILE,
    NONE_OR_MORE,
    SEED,
    TEMPERATURE,
    TOP_P,
)
from decoding_core.errors import StoppedError
from decoding_core.methods.steering import clipped_share
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings
from edge_app.commands.progress import Progress
from edge_app.commands.stopping import stoppable
from edge_app.evaluation.bootstrap import Estimate, Resamples
from edge_app.evaluation.table import aligned
from models.files import locate
from models.lazy_commands import Command
from models.running.settings import EngineSettings, default_threads, usable_cores
from models.running.threads import fit_threads

if TYPE_CHECKING:
    from benchmarks.content.writing import ContentWriter, Task
    from benchmarks.pair.pair import Written
    from edge_app.evaluation.likelihood import Readers
    from edge_app.retrieval.context import Prompts

THRESHOLDS = (0.5, 0.1)
_READ_AT = 0.7
"""Temperature of the texts that all three models read."""
_POSITIONS = (0, 8, 16, 32, 64, 128, 1000)
_ROWS = 64
_CONTEXT = 2048
_STOPPED = 130


@dataclass(frozen=True, slots=True)
class Kept:
    """Share of the drafted tokens that the server kept."""

    history: bool
    threshold: float
    temperature: float
    share: Estimate
    """Interval over requests."""
    texts: int
    drafted: int
    block: float
    """Drafted tokens of a block, on average: the more, the less of it is kept."""


@dataclass(frozen=True, slots=True)
class Places:
    """What the models think at each place of one text; (T,) each."""

    request: str
    task: str
    token_kinds: list[str]
    generalist_from_base: Floats
    """KL(L || B), nats, at temperature 1."""
    base_from_generalist: Floats
    """KL(B || L)."""
    acceptance: Floats
    """(thresholds, T): the share of what the specialist may draft there that is kept,
    by the stochastic rule at the temperature of the texts."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Means over the places of a group."""

    group: str
    places: int
    generalist_from_base: Estimate
    base_from_generalist: Estimate
    acceptance: list[float]
    """By threshold."""


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast texts are written over loopback, the server in a process of its own."""

    way: str
    """The method, and whether the letters were read before the request was sent."""
    texts: int
    tokens: int
    with_prompts: float
    """Tokens a second, from the request on."""
    after_first: float
    """Tokens a second behind the first block."""


def kept_row(
    key: tuple[bool, float, float], written: Sequence[tuple[str, Written]]
) -> Kept:
    """All texts of a setting; each is given with the name of its request."""
    draws = Resamples([name for name, _ in written], seed=0)
    accepted, drafted = (
        np.array([getattr(one.statistics, name) for _, one in written], float)
        for name in ("accepted", "drafted")
    )
    return Kept(
        *key,
        draws.ratio(accepted, drafted),
        len(written),
        int(drafted.sum()),
        float(drafted.sum() / max(1, sum(o.statistics.rounds for _, o in written))),
    )


def divergence(one: Floats, other: Floats) -> Floats:
    """KL(one || other) (R,) from log-probabilities (R, V), nats."""
    return np.asarray((np.exp(one) * (one - other)).sum(axis=-1))


def read_places(
    readers: Readers, token_ids: Sequence[int], temperature: float
) -> tuple[Floats, Floats, Floats]:
    """KL(L || B) (T,), KL(B || L) (T,) and acceptance (thresholds, T) at each place of
    a text.

    Raises:
        StoppedError: the person stopped.
    """
    parts = []
    for logits in readers.logits(token_ids, _ROWS):
        specialist, generalist, base = (one.astype(np.float64) for one in logits)
        large, small = log_softmax(generalist), log_softmax(base)
        warm = [
            log_softmax(one / temperature) for one in (specialist, generalist, base)
        ]
        parts.append(
            np.stack(
                [
                    divergence(large, small),
                    divergence(small, large),
                    *(
                        (
                            np.exp(warm[0])
                            * clipped_share(warm[1] - warm[2], threshold)
                        ).sum(axis=-1)
                        for threshold in THRESHOLDS
                    ),
                ]
            )
        )
    columns = np.concatenate(parts, axis=1)
    return columns[0], columns[1], columns[2:]


def kind_of(piece: str, before: str, asked: str) -> str:
    """What sort of token a piece of text is; `before` is the text up to it."""
    word = piece.strip()
    if not word:
        return "space or end"
    if any(letter.isdigit() for letter in word):
        return "digits"
    if not any(letter.isalpha() for letter in word):
        return "mark"
    begins = piece[0].isspace() or not before or not before[-1].isalnum()
    if not begins:
        return "rest of a word"
    if word[0].isupper():
        return "capital"
    return "word of the request" if word.lower() in asked else "other word"


def apart(group: str, places: Iterable[tuple[Places, Any]]) -> Apart | None:
    """Means over some places of texts: each text with which of its places."""
    some = [(one, at) for one, at in places if np.any(at)]
    if not some:
        return None
    draws = Resamples([one.request for one, _ in some], seed=0)
    counts = np.array([at.sum() for _, at in some], float)

    def mean(of: Callable[[Places], Floats]) -> Estimate:
        return draws.ratio(np.array([of(one)[at].sum() for one, at in some]), counts)

    kept = [
        sum(float(one.acceptance[i][at].sum()) for one, at in some) / counts.sum()
        for i in range(len(THRESHOLDS))
    ]
    return Apart(
        group,
        int(counts.sum()),
        mean(lambda one: one.generalist_from_base),
        mean(lambda one: one.base_from_generalist),
        [float(share) for share in kept],
    )


def grouped(texts: Sequence[Places]) -> list[Apart]:
    """Rows over all places, by genre, by kind of token and by position."""

    def every(one: Places) -> Any:
        return np.ones(len(one.token_kinds), bool)

    def along(one: Places) -> Any:
        return np.arange(len(one.token_kinds))

    groups: dict[str, Iterable[tuple[Places, Any]]] = {
        "all": [(one, every(one)) for one in texts]
    }
    for task in dict.fromkeys(one.task for one in texts):
        groups[task] = [(one, every(one)) for one in texts if one.task == task]
    for kind in sorted({kind for one in texts for kind in one.token_kinds}):
        groups[kind] = [
            (one, np.array([other == kind for other in one.token_kinds]))
            for one in texts
        ]
    for first, last in pairwise(_POSITIONS):
        groups[f"tokens {first + 1} to {last}"] = [
            (one, (along(one) >= first) & (along(one) < last)) for one in texts
        ]
    rows = (apart(group, some) for group, some in groups.items())
    return [row for row in rows if row is not None]


def places_of(
    writer: ContentWriter, task: Task, prompts: Prompts, written: Written
) -> Places:
    """A text that was written, read by all three models."""
    vocabulary = writer.pair.small.vocabulary
    kinds, before = [], ""
    asked = f" {task.asked.told} ".lower()
    for token in written.token_ids:
        piece = vocabulary.piece(token).decode(errors="replace")
        kinds.append(kind_of(piece, before, asked))
        before += piece
    ids = written.token_ids
    found = read_places(writer.pair.readers(prompts), ids, _READ_AT)
    return Places(task.asked.name, task.asked.request.task, kinds, *found)


def measured_speed(
    small: Path,
    large: Path,
    engine: EngineSettings,
    prompts: Sequence[Prompts],
    end_ids: Sequence[int],
    settings: MethodSettings,
    max_tokens: int,
) -> list[Speed]:
    """The generalist alone and steering in turn on the same requests, the letters read
    from the request on and before it (while it is typed, in the app), as the app runs
    them without a server of a household: its own child serves, with the threads that
    the device leaves to it."""
    from benchmarks.speed.one_text import Device, Text
    from benchmarks.speed.rig.serving import Address
    from edge_app.transport.child_server import ChildServer
    from models.running.loading import load_model

    context = load_model(small, engine).open(1, _CONTEXT, owns_model=True)
    ways = {
        "generalist": ("generalist", False),
        "steering": ("steering", False),
        "steering, letters read ahead": ("steering", True),
    }
    texts: dict[str, list[Text]] = {way: [] for way in ways}
    with closing(context) as slots:
        fit_threads(slots, 1, default_threads())
        with closing(ChildServer(large, small, engine)) as server:
            server.wait()
            address = Address(server.url, server.token)
            Device(slots, prompts[0], end_ids).write(address, settings, 4)
            for both, (way, (method, ahead)) in product(prompts, ways.items()):
                device = Device(slots, both, end_ids)
                how = replace(settings, method=method)
                written = device.write(address, how, max_tokens, read_ahead=ahead)
                texts[way].append(written)
    return [
        Speed(
            way,
            len(some),
            sum(len(one.tokens) for one in some),
            sum(len(one.tokens) for one in some)
            / sum(one.ended - one.clock.began for one in some),
            sum(len(one.tokens) - one.clock.before for one in some)
            / max(1e-9, sum(one.ended - one.clock.first for one in some)),
        )
        for way, some in texts.items()
    ]


def kept_table(rows: Sequence[Kept]) -> str:
    """A row for each history and threshold, a column for each temperature, in %."""
    temperatures = list(dict.fromkeys(row.temperature for row in rows))
    lines = [["history", "threshold", *(f"temperature {t:g}" for t in temperatures)]]
    lines[0].append("tokens a block")
    for history, threshold in dict.fromkeys((r.history, r.threshold) for r in rows):
        cells = [
            _percent(row.share)
            for temperature in temperatures
            for row in rows
            if (row.history, row.threshold) == (history, threshold)
            and row.temperature == temperature
        ]
        blocks = [
            f"{row.block:.1f}"
            for row in rows
            if (row.history, row.threshold) == (history, threshold)
        ]
        lines.append(
            [
                "with" if history else "without",
                f"{threshold:g}",
                *cells,
                ", ".join(blocks),
            ]
        )
    return "\n".join(aligned(lines, left=1))


def apart_table(rows: Sequence[Apart]) -> str:
    """A row for each group of places."""
    heading = ["places", "count", "KL(L || B)", "KL(B || L)"]
    heading += [f"kept at {threshold:g}" for threshold in THRESHOLDS]
    cells = [
        [
            row.group,
            f"{row.places:,}",
            f"{row.generalist_from_base.value:.3f}",
            f"{row.base_from_generalist.value:.3f}",
            *(f"{100 * share:.1f}" for share in row.acceptance),
        ]
        for row in rows
    ]
    return "\n".join(aligned([heading, *cells], left=1))


def _percent(share: Estimate) -> str:
    words = f"{100 * share.value:.1f}"
    if share.low is None or share.high is None:
        return words
    return f"{words} ({100 * share.low:.0f} to {100 * share.high:.0f})"


@click.command("agreement", cls=Command)
@click.option(
    "--requests",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of requests, as for coverage.  [default: the hundred]",
)
@click.option(
    "--unseen",
    type=NONE_OR_MORE,
    default=0,
    help="So many requests of invented writers instead.",
)
@click.option(
    "--each",
    type=AT_LEAST_ONE,
    default=5,
    show_default=True,
    help="Only the first so many of each task.",
)
@click.option(
    "--temperature",
    "temperatures",
    type=TEMPERATURE,
    multiple=True,
    default=(0.0, 0.5, 0.7, 1.0),
    show_default=True,
    help="May be given more than once; 0 is greedy.",
)
@click.option(
    "--top-p", type=TOP_P, default=0.95, show_default=True, help="As the app."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the texts.")
@click.option(
    "--max-tokens",
    type=AT_LEAST_ONE,
    default=200,
    show_default=True,
    help="Of each text.",
)
@click.option(
    "--threads",
    type=AT_LEAST_ONE,
    help="Of each model.  [default: all cores; for the speed, as the app finds them]",
)
@click.option("--specialist", type=MODEL_FILE, help="A GGUF file.")
@click.option("--generalist", type=MODEL_FILE, help="A GGUF file.")
@click.option(
    "--speed/--no-speed",
    default=True,
    show_default=True,
    help="Steering against the generalist alone, over loopback.",
)
@click.option(
    "--json",
    "target",
    type=NEW_FILE,
    metavar="FILE",
    help="Write all settings and figures there too.",
)
def command(**options: Any) -> None:
    """What share of drafts is kept, and how the models differ.

    Requests in everyday words are written by steering at thresholds 0.5 and 0.1, with
    the sample letters and without any history, at each temperature. Kept is the share
    of the drafted tokens that the server accepts; what stands behind a refused token
    in its block counts as drafted. In brackets 95 % intervals over requests.

    The texts at temperature 0.7 with the letters are then read by all three models: KL
    of generalist (L) and base (B) a token, and what share of the specialist's tokens
    would be kept at that place, for all places and by genre, kind of token, position.
    Last, steering and the generalist alone write the same requests in turn, with the
    server that the app starts where a household has none: tokens a second. Drafts have
    the length that is fitted, and each model the threads.

    \b
        specsteer lab bench agreement --each 2 --temperature 0.7
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.content.bench_coverage import chosen_tasks
    from benchmarks.content.writing import ContentWriter

    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    top_p, seed, most = options["top_p"], options["seed"], options["max_tokens"]
    kept: dict[tuple[bool, float, float], list[tuple[str, Written]]] = {}
    places: list[Places] = []
    prompts_of_all: list[Prompts] = []
    speeds: list[Speed] = []
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        tasks = opened.enter_context(chosen_tasks(options))
        threads = options["threads"] or usable_cores()
        writer = ContentWriter(small, large, threads, stop, keeps=False)
        opened.enter_context(closing(writer))
        progress = opened.enter_context(Progress("writing"))
        keys = list(product((True, False), THRESHOLDS, options["temperatures"]))
        try:
            for number, (task, key) in enumerate(product(tasks, keys), 1):
                history, threshold, temperature = key
                prompts = writer.prompts(task, most, history=history)
                how = MethodSettings(
                    threshold=threshold, temperature=temperature, top_p=top_p, seed=seed
                )
                written = writer.pair.write_from(prompts, how, most)
                kept.setdefault(key, []).append((task.asked.name, written))
                if key == (True, THRESHOLDS[0], _READ_AT):
                    places.append(places_of(writer, task, prompts, written))
                    prompts_of_all.append(prompts)
                progress.show(number, len(tasks) * len(keys))
        except StoppedError:
            options["speed"] = False
        end_ids = tuple(writer.pair.small.vocabulary.end_ids)
        models = writer.models
    if not kept:
        raise StoppedError("stopped before a text was written")
    rows = [kept_row(key, some) for key, some in kept.items()]
    click.echo(kept_table(rows))
    groups = grouped(places) if places else []
    if groups:
        click.echo(f"\n{apart_table(groups)}")
    if options["speed"] and prompts_of_all:
        how = MethodSettings(temperature=_READ_AT, top_p=top_p, seed=seed)
        engine = EngineSettings(threads=options["threads"])
        speeds = measured_speed(
            *(small, large, engine, prompts_of_all, end_ids, how, most)
        )
        click.echo()
        for one in speeds:
            click.echo(
                f"{one.way:28}{one.with_prompts:6.1f} tokens a second, "
                f"{one.after_first:.1f} after the first block"
            )
    if options["target"]:
        left = {"target", "specialist", "generalist"}
        body = {
            "models": models,
            "settings": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in options.items()
                if name not in left
            },
            "kept": [asdict(row) for row in rows],
            "apart": [asdict(row) for row in groups],
            "speed": [asdict(one) for one in speeds],
        }
        options["target"].write_text(json.dumps(body, indent=1))
    if stop.is_set():
        click.echo("stopped: these are the texts so far", err=True)
        sys.exit(_STOPPED)
