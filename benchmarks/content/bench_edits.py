"""`lab bench edits`: whether drafts come nearer to a writer who edits them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.cache import key_of
from benchmarks.options import (
    AT_LEAST_ONE,
    JSON,
    KEPT,
    MODELS,
    NONE_OR_MORE,
    SEED,
    TEMPERATURE,
    TOP_P,
    flag,
    option,
)
from decoding_core.settings import MethodSettings
from edge_app.commands.terminal import Progress
from edge_app.evaluation.figures import LEVEL, Estimate, Resamples
from edge_app.evaluation.tables import aligned, interval
from models.command_line import Command
from models.files import locate

if TYPE_CHECKING:
    from benchmarks.content.strangers import Stranger
    from benchmarks.pair import Bench
    from models.prompts import Request
    from personal_store import Store

WHEN = ("before", "after")


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and what its writer makes of it."""

    writer: int
    when: str
    text: str
    edited: str
    changed: int  # words that the writer changes
    words: int
    kept: int  # of the habits that it might show
    habits: int
    usual: float  # median of the words of this writer's letters to the person


@contextmanager
def store_of(writer: Stranger, letters: int) -> Iterator[Store]:
    """A store of this writer's letters, as long as it is used."""
    from personal_store import Store, import_source

    rows = []
    for number in range(letters):
        request, text = writer.letter(number, 0)
        date = f"2025-{1 + number % 12:02}-{1 + number % 28:02}T10:00:00"
        rows.append({"text": text, "to": request.recipient, "kind": "email"})
        rows[-1]["date"] = date
    with TemporaryDirectory() as folder:
        path = Path(folder) / "letters.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        with Store.open(Path(folder) / "store.db") as store:
            mapping = {name: name for name in ("text", "to", "kind", "date")}
            import_source(store, "jsonl", path, mapping=mapping)
            yield store


def drafted(
    bench: Bench,
    store: Store,
    request: Request,
    settings: MethodSettings,
    options: Mapping[str, Any],
) -> str:
    """A draft as the program writes it, with what it has learnt."""
    from edge_app.facts.checking import names_fact
    from edge_app.retrieval.context import find_passages
    from edge_app.retrieval.lessons import Lesson, lesson_for

    pair, most = bench.pair, options["max_tokens"]
    lesson = Lesson()
    if options["learns"]:
        embedded = bench.models["specialist"] == locate("specialist")
        lesson = lesson_for(
            store.db, request, names_fact=names_fact, adds_nothing=embedded
        )
    found = find_passages(store, request)
    prompts = pair.built(request, found, "", most)
    read = "\n".join([request.text, *(one.text for one in found)])
    shape = lesson.shape(pair.small.vocabulary, read)
    settings = lesson.settings(settings)
    depends = {
        "prompts": key_of(
            {"public": prompts.public_ids, "private": prompts.private_ids}
        ),
        "settings": asdict(settings),
        "max_tokens": most,
        "lesson": repr(lesson),
    }

    def compute() -> dict[str, Any]:
        return {"text": pair.write_from(prompts, settings, most, shape=shape).text}

    return str(bench.result(depends, compute)["text"])


def measured(
    bench: Bench, number: int, settings: MethodSettings, options: Mapping[str, Any]
) -> Iterator[Draft]:
    """The drafts before and after a writer has edited some."""
    from benchmarks.content.strangers import stranger
    from edge_app.retrieval.lessons import changed as changed_words
    from edge_app.retrieval.voice import voice_of
    from personal_store.edits import Pair
    from personal_store.lifecycle.writing import keep_finished
    from personal_store.records import Document

    writer = stranger(number)
    with store_of(writer, options["letters"]) as store:
        for when in WHEN:
            for at in range(options["drafts"]):
                request, _ = writer.letter(at, 2)
                text = drafted(bench, store, request, settings, options)
                edited = writer.edited(text, request.recipient)
                changed, words = changed_words(Pair(0, "", text, edited))
                length = voice_of(store.db, "email", request.recipient).length
                usual = length[1] if length else 0.0
                kept = writer.kept(text, request.recipient)
                yield Draft(number, when, text, edited, changed, words, *kept, usual)
            for at in range(options["edits"] if when == "before" else 0):
                request, _ = writer.letter(at, 1)
                text = drafted(bench, store, request, settings, options)
                edited = writer.edited(text, request.recipient)
                changed, words = changed_words(Pair(0, "", text, edited))
                document = Document(
                    *(0, "", "email", edited),
                    recipient=request.recipient,
                    sent_at=1_780_000_000 + 86_400 * at,
                    drafted=text,
                    own_share=min(1.0, changed / max(1, words)),
                )
                keep_finished(store.db, f"{number}:{at}", document)


def as_table(drafts: Sequence[Draft]) -> str:
    """What was changed and kept before and after, and the lengths."""
    cells = [["", "words changed of 100", "habits kept", "length"]]
    for when in WHEN:
        some = [one for one in drafts if one.when == when]
        off = [abs(one.words - one.usual) / one.usual for one in some if one.usual]
        changed, habits = (
            interval(shares(some, name, of), 100, 1)
            for name, of in (("changed", "words"), ("kept", "habits"))
        )
        cells.append([when, changed, habits, f"{median(off):.2f}" if off else "-"])
    fewer = interval(fewer_changes(drafts), 100, 1)
    return "\n".join([*aligned(cells, left=1), f"fewer words changed: {fewer} %"])


def shares(drafts: Sequence[Draft], name: str, of: str) -> Estimate:
    """A share of all drafts; its interval is over writers."""
    draws = Resamples([str(one.writer) for one in drafts], seed=0)
    above, below = (
        np.array([float(getattr(one, field)) for one in drafts]) for field in (name, of)
    )
    return draws.ratio(above, below)


def fewer_changes(drafts: Sequence[Draft]) -> Estimate:
    """By what share fewer words of 100 are changed after the edits."""
    writers = sorted({one.writer for one in drafts})
    draws = Resamples(writers, seed=0)
    sums = [
        np.array([
            float(sum(getattr(one, name) for one in drafts
                      if (one.writer, one.when) == (writer, when)))
            for writer in writers
        ])
        for when in WHEN
        for name in ("changed", "words")
    ]  # fmt: skip

    def fewer(weights: Any) -> Any:
        before, of_before, after, of_after = (weights @ one for one in sums)
        return 1.0 - (after / of_after) / (before / of_before)

    value = float(fewer(np.ones(len(writers))))
    if draws.weights is None:
        return Estimate(value)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(fewer(draws.weights), [tail, 1 - tail])
    return Estimate(value, float(low), float(high))


@click.command("edits", cls=Command)
@option("--writers", AT_LEAST_ONE, 20, "How many, at most twenty.")
@option("--letters", NONE_OR_MORE, 30, "Of each in the store.")
@option("--edits", NONE_OR_MORE, 20, "Drafts that each edits and saves.")
@option("--drafts", AT_LEAST_ONE, 6, "Measured before and after, of each.")
@option("--method", None, MethodSettings().method, "How both models write.")
@option("--temperature", TEMPERATURE, 0.4, "0 is greedy.")
@option("--top-p", TOP_P, 0.95, "As the app.")
@option("--seed", SEED, 0, "Of each draft.")
@option("--max-tokens", AT_LEAST_ONE, 240, "Of each draft.")
@flag("--unlearnt", "Keep the texts, and learn nothing else from the edits.")
@option("--show", NONE_OR_MORE, 0, "Print the first N drafts of each writer.")
@MODELS
@JSON
@KEPT
def command(unlearnt: bool, **options: Any) -> None:
    """Whether drafts come nearer to writers who edit them.

    Twenty writers whom no training knows have thirty letters each. Six drafts are
    measured; then each edits and saves twenty others, and the same six are drafted
    again. A writer edits by rules: greeting, sign-off, name, the words they prefer,
    how a text begins and ends. Counted are the words that they change and the habits
    that a draft shows by itself; length is the median of |words - usual| / usual.

    \b
        specsteer lab bench edits --writers 4 --show 2
    """
    from benchmarks.content.strangers import WRITERS
    from benchmarks.pair import measuring

    settings = MethodSettings(
        method=options["method"],
        temperature=options["temperature"],
        top_p=options["top_p"],
        seed=options["seed"],
    )
    options["learns"] = not unlearnt
    writers = range(min(options["writers"], WRITERS))
    drafts: list[Draft] = []
    with measuring("edits", options) as bench, Progress("writing") as progress:
        for number in writers:
            drafts += measured(bench, number, settings, options)
            progress.show(number + 1, len(writers))
    click.echo(as_table(drafts))
    for number in writers:
        own = [one for one in drafts if one.writer == number]
        for one in [o for o in own if o.when == "after"][: options["show"]]:
            click.echo(f"\n[writer {number}: {one.changed} of {one.words}]\n{one.text}")
            click.echo(f"\n[as edited]\n{one.edited}")
    if options["json_file"]:
        body = {"models": bench.hashes, "drafts": [asdict(one) for one in drafts]}
        options["json_file"].write_text(json.dumps(body, indent=1))
