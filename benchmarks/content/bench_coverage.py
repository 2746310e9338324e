"""`lab bench coverage`: what of a request a text says and what it contradicts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.options import (
    AT_LEAST_ONE,
    FILE,
    JSON,
    KEPT,
    MODELS,
    NONE_OR_MORE,
    SEED,
    TEMPERATURE,
    TOP_P,
    option,
)
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.foreign_text import one_line
from decoding_core.settings import MethodSettings
from edge_app.commands.terminal import STOPPED, Progress, note
from edge_app.evaluation.figures import Estimate, Resamples
from edge_app.evaluation.tables import aligned, interval
from models.command_line import Command

if TYPE_CHECKING:
    from benchmarks.content.judging import Judgement
    from benchmarks.content.plain import Plainness
    from benchmarks.content.requests import Fact, Task, Text
    from benchmarks.pair import Bench

METHODS = ("generalist", "specialist", "steering", "lossless")
USUAL = METHODS[:3]
_MOST = 3  # times that a span of words may stand in immediate succession
_TURNED = "negation", "answer"  # kinds of facts
_MARK = {"said": "+", "contradicted": "!", "omitted": "-"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A text and the verdict on each fact in its prompt."""

    task: Task
    text: Text
    facts: Sequence[Fact]
    judged: Sequence[Judgement]
    habits: int  # of the writer's habits, how many the text has
    looped: bool
    plain: Plainness | None = None  # of a draft for a dry writer

    @property
    def reversed(self) -> bool:
        """Whether a denial or an answer is turned round."""
        return any(
            fact.kind in _TURNED and judged.verdict == "contradicted"
            for fact, judged in zip(self.facts, self.judged, strict=True)
        )

    @property
    def sendable(self) -> bool:
        """Whether all is said, and nothing is reversed, invented or foreign."""
        whole = self.count("said") == len(self.facts)
        strange = self.plain and (self.plain.invented or self.plain.foreign_sentences)
        return whole and not strange

    def count(self, verdict: str) -> int:
        """How many facts got a verdict."""
        return sum(judged.verdict == verdict for judged in self.judged)


@dataclass(frozen=True, slots=True)
class Row:
    """What the texts of one method hold; intervals are over requests."""

    method: str
    temperature: float
    texts: int
    facts: int
    said: Estimate
    contradicted: Estimate
    whole: Estimate  # texts that say every fact
    habits: Estimate | None  # None if no text could have any
    kept: float | None  # share of the drafted tokens that the server kept
    tokens: float  # of a text, on average
    looped: float
    said_by_task: dict[str, float | None]
    plain: dict[str, Estimate]  # of drafts for dry writers


def checked(
    task: Task, text: Text, method: str, plain: Plainness | None = None
) -> Checked:
    """A text, its facts looked for; those of the notes count if the method reads
    notes."""
    from benchmarks.content.judging import repeats, shows

    asked = [
        f for f in task.asked.facts if method != "generalist" or f.told == "request"
    ]
    verdicts = dict(zip(task.asked.facts, task.asked.judged(text.text), strict=True))
    has = sum(
        any(shows(text.text, kind, form) for form in forms)
        for kind, forms in task.habits.items()
    )
    looped = repeats(text.text.split()) > _MOST
    judged = [verdicts[fact] for fact in asked]
    return Checked(task, text, asked, judged, has, looped, plain)


def row_of(method: str, temperature: float, texts: Sequence[Checked]) -> Row:
    """All texts of a method, with intervals."""
    draws = Resamples([one.task.asked.name for one in texts], seed=0)
    counted = [
        (
            len(one.facts),
            one.count("said"),
            one.count("contradicted"),
            one.habits,
            len(one.task.habits),
        )
        for one in texts
    ]
    facts, said, wrong, has, may = np.array(counted, float).T
    whole = said == facts
    tasks = np.array([one.task.asked.request.task for one in texts])
    drafted = sum(one.text.drafted for one in texts)

    def share_said(some: Any) -> float | None:
        return float(said[some].sum() / facts[some].sum()) if some.any() else None

    return Row(
        method=method,
        temperature=temperature,
        texts=len(texts),
        facts=int(facts.sum()),
        said=draws.ratio(said, facts),
        contradicted=draws.ratio(wrong, facts),
        whole=draws.ratio(whole.astype(float), np.ones(len(texts))),
        habits=draws.ratio(has, np.maximum(may, 1e-9)) if may.any() else None,
        kept=sum(o.text.accepted for o in texts) / drafted if drafted else None,
        tokens=float(np.mean([one.text.tokens for one in texts])),
        looped=float(np.mean([one.looped for one in texts])),
        said_by_task={str(t): share_said(tasks == t) for t in dict.fromkeys(tasks)},
        plain=_plain_shares(texts, draws),
    )


def _plain_shares(texts: Sequence[Checked], draws: Resamples) -> dict[str, Estimate]:
    """Shares of the drafts for dry writers, and of their words."""
    plain = [one.plain for one in texts if one.plain]
    if len(plain) < len(texts):
        return {}
    every = np.ones(len(texts))
    shares = {
        "sendable": [one.sendable for one in texts],
        "reversed": [one.reversed for one in texts],
        "foreign": [bool(one.foreign_sentences) for one in plain],
        "invented": [bool(one.invented) for one in plain],
    }
    counted = {k: draws.ratio(np.array(v, float), every) for k, v in shares.items()}
    words, foreign = np.array([(o.words, len(o.foreign)) for o in plain], float).T
    return counted | {"words": draws.ratio(foreign, np.maximum(words, 1e-9))}


def as_table(rows: Sequence[Row]) -> str:
    """Columns to read, in %."""
    tasks = list(dict.fromkeys(name for row in rows for name in row.said_by_task))
    heading = ["method", "temp", "said", "contradicted", "whole", "habits", "kept"]
    heading += ["tokens", "loops", *tasks, *rows[0].plain]
    cells = [
        [
            row.method,
            f"{row.temperature:g}",
            interval(row.said, 100, 1),
            interval(row.contradicted, 100, 1),
            interval(row.whole, 100, 1),
            "-" if row.habits is None else interval(row.habits, 100, 1),
            _share(row.kept),
            f"{row.tokens:.0f}",
            f"{100 * row.looped:.1f}",
            *(_share(row.said_by_task.get(task)) for task in tasks),
            *(interval(share, 100, 1) for share in row.plain.values()),
        ]
        for row in rows
    ]
    return "\n".join(aligned([heading, *cells], left=1))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def shown(one: Checked) -> str:
    """A text, its facts marked in it with their numbers, and what became of each."""
    text, request = one.text.text, one.task.asked.request
    found = [
        (*judged.where, number)
        for number, judged in enumerate(one.judged, 1)
        if judged.where is not None
    ]
    for _, last, number in sorted(found, key=lambda f: -f[1]):
        text = f"{text[:last]}[{number}]{text[last:]}"
    to = f" ({request.recipient})" if request.recipient else ""
    lines = [f"{one.task.asked.name}: {request.task}{to}: {request.text}"]
    if one.task.asked.notes:
        lines.append(f"notes: {one.task.asked.notes}")
    lines += ["", *(f"    {line}" for line in text.split("\n")), ""]
    lines += [
        f"  {_MARK[judged.verdict]} {number} {fact.what} ({fact.kind})"
        for number, (fact, judged) in enumerate(
            zip(one.facts, one.judged, strict=True), 1
        )
    ]
    if one.plain and (one.plain.foreign or one.plain.invented):
        costs = ", ".join(f"{nats:.1f}" for nats in one.plain.foreign_nats)
        lines.append(f"  foreign: {' '.join(one.plain.foreign)} ({costs} nats)")
        lines.append(f"  invented: {' '.join(one.plain.invented)}")
    return "\n".join(one_line(line) for line in lines)


@contextmanager
def chosen_tasks(options: Mapping[str, Any]) -> Iterator[list[Task]]:
    """The requests to be written, with the history of each: that of the sample, in a
    store that is there meanwhile, or that of invented writers.

    Raises:
        RequestsError: the file of requests cannot be used.
        UsageError: both are asked for.
    """
    if sum(map(bool, (options["file"], options["unseen"], options["plain"]))) > 1:
        raise click.UsageError("--requests, --unseen and --plain exclude each other")
    from benchmarks.content.plain import plain_tasks
    from benchmarks.content.requests import (
        EVERYDAY,
        SAMPLE_HABITS,
        Task,
        read_requests,
        unseen_tasks,
    )
    from edge_app.sample import make_ready
    from personal_store import Store

    asked = read_requests(options["file"] or EVERYDAY)
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "store.db") as store:
        make_ready(store)
        if options["unseen"]:
            tasks = unseen_tasks(options["unseen"], options["seed"])
        elif options["plain"]:
            tasks = plain_tasks()
        else:
            tasks = [
                Task(one, store, SAMPLE_HABITS.get(one.request.task, {}))
                for one in asked
            ]
        met: dict[str, list[Task]] = {}
        for task in tasks:
            met.setdefault(task.asked.request.task, []).append(task)
        kept = {id(task) for some in met.values() for task in some[: options["each"]]}
        yield [task for task in tasks if id(task) in kept]


def checked_texts(
    bench: Bench,
    tasks: Sequence[Task],
    settings: Sequence[MethodSettings],
    max_tokens: int,
    plain: bool = False,
    tries: int = 1,
) -> dict[tuple[str, float], list[Checked]]:
    """The texts of each method and temperature, checked; those so far if the person
    stopped. One that finds no room is left out. With more than one try there are rows
    of the first tries, and rows of the best."""
    from benchmarks.content.plain import plainness
    from benchmarks.content.requests import written

    texts: dict[tuple[str, float], list[Checked]] = {}
    with Progress("writing") as progress:
        for number, (task, how) in enumerate(product(tasks, settings), 1):
            try:
                seeds = range(how.seed * tries, (how.seed + 1) * tries)
                tried = [
                    written(bench, task, replace(how, seed=seed), max_tokens)
                    for seed in seeds
                ]
                chosen = {how.method: tried[0]}
                if tries > 1:
                    chosen[f"{how.method}, best of {tries}"] = best_of(task, tried)
                strange = {
                    name: plainness(bench, task, text.text, max_tokens)
                    for name, text in chosen.items()
                    if plain
                }
            except ContextFullError:
                note(f"{task.asked.name} is left out: there is no room for a text")
                continue
            except StoppedError:
                break
            for name, text in chosen.items():
                row = texts.setdefault((name, how.temperature), [])
                row.append(checked(task, text, how.method, strange.get(name)))
            progress.show(number, len(tasks) * len(settings))
    return texts


def best_of(task: Task, tried: Sequence[Text]) -> Text:
    """The text that `specsteer write --tries` would show."""
    from edge_app.facts.checking import Checker
    from edge_app.retrieval.context import find_passages
    from edge_app.service.answering import best_first

    request = task.asked.request
    letters = [one.text for one in find_passages(task.history, request)]
    notes = [task.asked.notes]
    checker = Checker(request.text, request.recipient, notes, letters)
    drafts = [(one.text, one.accepted / max(1, one.tokens)) for one in tried]
    return tried[best_first(checker, request.text, drafts)[0]]


@click.command("coverage", cls=Command)
@option(
    "--requests",
    FILE,
    None,
    "A file of requests and facts, TOML or JSON.  [default: the hundred]",
    name="file",
)
@option("--unseen", NONE_OR_MORE, 0, "N requests of invented writers instead.")
@option("--plain", None, False, "Requests of twelve dry writers.", is_flag=True)
@option("--each", AT_LEAST_ONE, None, "Only the first N of each task.")
@option(
    "--method",
    click.Choice(METHODS),
    USUAL,
    "May be given more than once.",
    name="methods",
    multiple=True,
)
@option(
    "--temperature",
    TEMPERATURE,
    (0.5, 0.7),
    "May be given more than once; 0 is greedy.",
    name="temperatures",
    multiple=True,
)
@option("--top-p", TOP_P, 0.95, "As the app.")
@option("--threshold", None, MethodSettings().threshold, "Of steering.")
@option("--strength", None, MethodSettings().strength, "Of steering.")
@option("--seeds", AT_LEAST_ONE, 2, "Texts of each.")
@option("--seed", SEED, 0, "The first.")
@option("--tries", AT_LEAST_ONE, 1, "Texts from which each is chosen, as write does.")
@option("--max-tokens", AT_LEAST_ONE, 240, "Of each text.")
@option(
    "--show", NONE_OR_MORE, 0, "Print N texts of each row, those that say least first."
)
@MODELS
@JSON
@KEPT
def command(**options: Any) -> None:
    """What of a request a text says, and what it contradicts.

    A hundred requests in everyday words, emails, reviews, posts and notes, are written
    with the sample letters by each method. Rules look for the facts of each request:
    names, numbers, dates, places, yes and no. A fact is said, contradicted (another
    date stands in its place, the opposite answer) or left out. A text is whole when it
    says every fact. Habits are those of the letters' writer: greeting, sign-off, how a
    review begins and ends. In brackets 95 % intervals over requests.

    The generalist reads no notes, so facts that only notes hold are not asked of it.
    Each text is kept at once: Ctrl-C ends with what is there, and the same command goes
    on from it. docs/bench.md has the format of a file of requests.

    \b
        specsteer lab bench coverage --each 5 --show 3
        specsteer lab bench coverage --requests mine.toml --json coverage.json
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.pair import measuring

    settings = [
        MethodSettings(
            method=method,
            temperature=temperature,
            top_p=options["top_p"],
            threshold=options["threshold"],
            strength=options["strength"],
            seed=seed,
        )
        for temperature in options["temperatures"]
        for method in options["methods"]
        for seed in range(options["seed"], options["seed"] + options["seeds"])
    ]
    with chosen_tasks(options) as tasks, measuring("texts", options) as bench:
        texts = checked_texts(
            bench,
            tasks,
            settings,
            options["max_tokens"],
            options["plain"],
            options["tries"],
        )
    if not texts:
        raise StoppedError("stopped before a text was written")
    rows = [row_of(*key, some) for key, some in texts.items()]
    click.echo(as_table(rows))
    for (method, temperature), some in texts.items():
        worst = sorted(some, key=lambda one: one.count("said") / len(one.facts))
        for one in worst[: options["show"]]:
            click.echo(f"\n[{method}, temperature {temperature:g}] {shown(one)}")
    if options["json_file"]:
        left = {"target", "cache", "fresh", "show", "specialist", "generalist"}
        body = {
            "models": bench.hashes,
            "settings": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in options.items()
                if name not in left
            },
            "requests": len(tasks),
            "rows": [asdict(row) for row in rows],
            "texts": [
                {
                    "method": method,
                    "temperature": temperature,
                    "request": one.task.asked.name,
                    "verdicts": [judged.verdict for judged in one.judged],
                }
                for (method, temperature), some in texts.items()
                for one in some
            ],
        }
        options["json_file"].write_text(json.dumps(body, indent=1))
    if bench.stop.is_set():
        note("stopped: these are the texts so far")
        sys.exit(STOPPED)
