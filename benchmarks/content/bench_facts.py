"""`lab bench facts`: what the check finds of planted faults, marks in sound drafts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.options import (
    AT_LEAST_ONE,
    JSON,
    KEPT,
    MODELS,
    NONE_OR_MORE,
    SEED,
    TEMPERATURE,
    option,
)
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.foreign_text import one_line
from decoding_core.settings import MethodSettings
from edge_app.commands.terminal import Progress, note
from edge_app.evaluation.figures import Estimate, Resamples
from edge_app.evaluation.tables import aligned, interval
from models.command_line import Command

if TYPE_CHECKING:
    from benchmarks.content.planting import Planted, Sound
    from benchmarks.pair import Bench
    from edge_app.facts.checking import Report

HALVES = "seen", "unseen"
"""Odd numbers were read while the rules were written, even ones were not."""
_LANGUAGES = Path(__file__).with_name("six_languages.toml")
_UNSEEN = 100_000  # the first writer of the unseen half


@dataclass(frozen=True, slots=True)
class Row:
    """Drafts of one sort: how many the check says something of."""

    sort: str
    drafts: int
    marked: Estimate


def is_of(half: str, name: str) -> bool:
    """Whether a request belongs to a half, by the number at the end of its name."""
    return (int(name.rpartition("-")[2]) % 2 == 1) == (half == "seen")


def written_drafts(
    bench: Bench, half: str, settings: Sequence[MethodSettings], max_tokens: int
) -> Iterator[Sound]:
    """Drafts of the pair that say each fact of their request, contradict none and hold
    no loop: for the sample's writer, and for twelve dry ones."""
    from benchmarks.content.bench_coverage import checked
    from benchmarks.content.plain import plain_tasks
    from benchmarks.content.planting import Sound
    from benchmarks.content.requests import (
        EIGHTY,
        EVERYDAY,
        SIXTY,
        Task,
        read_requests,
        written,
    )
    from edge_app.retrieval.context import find_passages
    from edge_app.sample import make_ready
    from personal_store import Store

    with TemporaryDirectory() as folder, Store.open(Path(folder) / "store.db") as store:
        make_ready(store)
        asked = [
            one for file in (SIXTY, EIGHTY, EVERYDAY) for one in read_requests(file)
        ]
        tasks = [*(Task(one, store) for one in asked), *plain_tasks()]
        chosen = [
            (task, how)
            for task in tasks
            if is_of(half, task.asked.name)
            for how in settings
        ]
        with Progress("writing") as progress:
            for number, (task, how) in enumerate(chosen, 1):
                progress.show(number, len(chosen))
                try:
                    text = written(bench, task, how, max_tokens)
                except ContextFullError:
                    continue
                one, request = checked(task, text, how.method), task.asked.request
                said = one.count("said") == len(one.facts)
                if said and not one.looped and not one.count("contradicted"):
                    letters = [p.text for p in find_passages(task.history, request)]
                    name = f"{task.asked.name}, seed {how.seed}"
                    yield Sound(name, request, task.asked.notes, letters, text.text)


def invented_letters(half: str, count: int) -> Iterator[Sound]:
    """Letters of invented writers, with six others of each."""
    from benchmarks.content.planting import Sound
    from models.synthetic_writers.examples import texts_of_unseen_writer

    for number in range(count):
        seed = number + (_UNSEEN if half == "unseen" else 0)
        first, *past = texts_of_unseen_writer(7, seed)
        letters = [one.text for one in past]
        yield Sound(f"writer {seed}", first.request, "", letters, first.text)


def letters_of(code: str) -> Iterator[tuple[Sound, list[Planted]]]:
    """Letters in another language, each with its faults, written by hand."""
    from benchmarks.content.planting import Planted, Sound
    from models.prompts import Request

    for number, one in enumerate(tomllib.loads(_LANGUAGES.read_text("utf-8"))[code], 1):
        request = Request(one["request"], "email", one["to"])
        sound = Sound(f"{code} {number}", request, "", (), one["draft"])
        faults = []
        for right, wrong in one["wrong"]:
            at = sound.text.index(right)
            text = sound.text[:at] + wrong + sound.text[at + len(right) :]
            faults.append(Planted(sound, "wrong", code, text, None, right))
        yield sound, faults


def report_on(sound: Sound, text: str, code: str | None = None) -> Report:
    """What the check says of a draft."""
    from edge_app.facts.checking import Checker

    request = sound.request
    told = request.text, request.recipient, (sound.notes,), sound.letters
    return Checker(*told, spoken=code).check(text)


def is_found(planted: Planted, code: str | None = None) -> bool:
    """Whether the check finds a fault: it marks the place, or lists what is lacking; in
    another language either."""
    report = report_on(planted.sound, planted.text, code)
    if code is not None:  # a sound letter by hand lacks nothing
        return bool(report.in_words())
    if planted.span is None:
        return any(planted.lacks in fact.text for fact in report.missing)
    first, last = planted.span
    return any(
        fact.span[0] < last
        and fact.span[1] > first
        and (planted.kind != "answer" or fact.kind == "answer")
        for fact in report.invented
    )


def row_of(sort: str, names: Sequence[str], marked: Sequence[bool]) -> Row:
    """A row, with an interval over requests."""
    draws = Resamples(list(names), seed=0)
    share = draws.ratio(np.array(marked, float), np.ones(len(marked)))
    return Row(sort, len(marked), share)


def _shown(sound: Sound, text: str, report: Report) -> str:
    to = f" ({sound.request.recipient})" if sound.request.recipient else ""
    said = " · ".join(report.in_words()) or "nothing found"
    lines = [f"{sound.name}{to}: {sound.request.text}", *text.split("\n"), f"-> {said}"]
    return "\n".join(one_line(line) for line in lines)


@click.command("facts", cls=Command)
@option("--half", click.Choice(HALVES), "unseen", "Which requests and writers.")
@option("--writers", NONE_OR_MORE, 150, "Letters of invented writers.")
@option("--planted", AT_LEAST_ONE, 15, "At most so many faults of each sort.")
@option("--temperature", TEMPERATURE, 0.4, "Of the drafts.")
@option("--seeds", AT_LEAST_ONE, 2, "Drafts of each request.")
@option("--seed", SEED, 0, "Of the choice of faults.")
@option("--max-tokens", AT_LEAST_ONE, 240, "Of each draft.")
@option("--show", NONE_OR_MORE, 0, "Print N marked sound drafts, and faults not found.")
@MODELS
@JSON
@KEPT
def command(**options: Any) -> None:
    """What the check of facts finds of planted faults, and marks in sound drafts.

    Sound are drafts of the pair that the rules of `coverage` call whole, and letters of
    invented writers. Into each a fault of each sort is planted: a date, day, time,
    number, amount, name or address that nobody asked for, one taken out, an answer
    turned round. A second table has six other languages. What is marked in a sound
    draft may still be right: --show prints it to be read.
    """
    from benchmarks.content.planting import plants
    from benchmarks.pair import measuring

    half, rng = options["half"], Random(options["seed"])
    settings = [
        MethodSettings(temperature=options["temperature"], top_p=0.95, seed=seed)
        for seed in range(options["seeds"])
    ]
    drafts: list[Sound] = []
    with measuring("texts", options) as bench:
        try:
            drafts += written_drafts(bench, half, settings, options["max_tokens"])
        except StoppedError:
            note("stopped: these are the drafts so far")
    letters = list(invented_letters(half, options["writers"]))
    faults: dict[str, list[Planted]] = {}
    for sound in rng.sample([*drafts, *letters], len(drafts) + len(letters)):
        for planted in plants(sound, rng):
            some = faults.setdefault(f"{planted.how} {planted.kind}", [])
            if len(some) < options["planted"]:
                some.append(planted)
    rows, lines, shown = [], [], options["show"]
    for sort, sounds in (("drafts of the pair", drafts), ("invented writers", letters)):
        reports = [report_on(sound, sound.text) for sound in sounds]
        marked = [bool(report.in_words()) for report in reports]
        if sounds:
            rows.append(row_of(f"sound: {sort}", [s.name for s in sounds], marked))
        ours = zip(sounds, reports, marked, strict=True)
        lines += [_shown(s, s.text, r) for s, r, is_marked in ours if is_marked][:shown]
    every = {"all faults": [one for some in faults.values() for one in some]} | faults
    for sort, some in sorted(every.items()):
        found = [is_found(planted) for planted in some]
        rows.append(row_of(sort, [one.sound.name for one in some], found))
        left = [one for one, was in zip(some, found, strict=True) if not was]
        if sort != "all faults":
            lines += [
                _shown(p.sound, p.text, report_on(p.sound, p.text)) for p in left
            ][:shown]
    for code in tomllib.loads(_LANGUAGES.read_text("utf-8")):
        both = list(letters_of(code))
        marks = [bool(report_on(s, s.text, code).in_words()) for s, _ in both]
        rows.append(row_of(f"{code}, sound", [s.name for s, _ in both], marks))
        wrong = [one for _, some in both for one in some]
        found = [is_found(one, code) for one in wrong]
        rows.append(row_of(f"{code}, faults", [one.sound.name for one in wrong], found))
        odd = [one for one, was in zip(wrong, found, strict=True) if not was]
        lines += [
            _shown(p.sound, p.text, report_on(p.sound, p.text, code)) for p in odd
        ]
    cells = [[row.sort, str(row.drafts), interval(row.marked, 100, 1)] for row in rows]
    click.echo("\n".join(aligned([["sort", "drafts", "marked, %"], *cells], left=1)))
    for line in lines:
        click.echo(f"\n{line}")
    if options["json_file"]:
        body = {"models": bench.hashes, "half": half, "rows": [asdict(r) for r in rows]}
        options["json_file"].write_text(json.dumps(body, indent=1))
