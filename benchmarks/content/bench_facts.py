"""`lab bench facts`: what the check finds of planted faults, marks in sound drafts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product
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
    option,
)
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.foreign_text import one_line
from decoding_core.settings import MethodSettings
from edge_app.commands.terminal import Progress, note
from edge_app.evaluation.figures import Resamples
from edge_app.evaluation.tables import aligned, interval
from models.command_line import Command

if TYPE_CHECKING:
    from benchmarks.content.planting import Planted, Sound
    from benchmarks.pair import Bench
    from edge_app.facts.checking import Report

HALVES = "seen", "unseen"
"""Odd numbers were read while the rules were written, even ones were not."""
_LANGUAGES = Path(__file__).with_name("six_languages.toml")
OTHERS: dict[str, Any] = tomllib.loads(_LANGUAGES.read_text("utf-8"))
_TEMPERATURE, _MAX_TOKENS = 0.4, 240
_UNSEEN = 100_000  # the first writer of the unseen half


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def written_drafts(
    bench: Bench, half: str, settings: Sequence[MethodSettings], first: int | None
) -> Iterator[Sound]:
    """Drafts of the pair that say each fact of their request, contradict none and hold
    no loop: for the sample's writer, and for twelve dry ones."""
    from benchmarks.content import requests as of
    from benchmarks.content.bench_coverage import checked
    from benchmarks.content.plain import plain_tasks
    from benchmarks.content.planting import Sound
    from edge_app.retrieval.context import find_passages
    from edge_app.sample import make_ready
    from personal_store import Store

    with TemporaryDirectory() as folder, Store.open(Path(folder) / "store.db") as store:
        make_ready(store)
        files = of.SIXTY, of.EIGHTY, of.EVERYDAY
        asked = [one for file in files for one in of.read_requests(file)]
        tasks = [*(of.Task(one, store) for one in asked), *plain_tasks()]
        kept = [t for t in tasks if _number(t.asked.name) % 2 == (half == "seen")]
        chosen = [*product(kept, settings)][:first]
        with Progress("writing") as progress:
            for number, (task, how) in enumerate(chosen, 1):
                progress.show(number, len(chosen))
                try:
                    text = of.written(bench, task, how, _MAX_TOKENS)
                except ContextFullError:
                    continue
                one, request = checked(task, text, how.method), task.asked.request
                said = one.count("said") == len(one.facts)
                if said and not one.looped and not one.count("contradicted"):
                    letters = [p.text for p in find_passages(task.history, request)]
                    told = task.asked.name, request, task.asked.notes, letters
                    yield Sound(*told, text.text)


def invented_letters(half: str, count: int) -> Iterator[Sound]:
    """Letters of invented writers, with six others of each."""
    from benchmarks.content.planting import Sound
    from models.synthetic_writers.examples import texts_of_unseen_writer

    for number in range(count):
        seed = number + (_UNSEEN if half == "unseen" else 0)
        first, *past = texts_of_unseen_writer(7, seed)
        letters = [one.text for one in past]
        yield Sound(f"writer {seed}", first.request, "", letters, first.text)


def letters_of(code: str) -> Iterator[Planted]:
    """Letters in another language, written by hand: the sound one, then its faults."""
    from benchmarks.content.planting import Planted, Sound
    from models.prompts import Request

    for number, one in enumerate(OTHERS[code], 1):
        request = Request(one["request"], "email", one["to"])
        # Whoever signs is known from letters.
        signed = one["draft"].splitlines()[-1:]
        sound = Sound(f"{code} {number}", request, "", signed, one["draft"])
        yield Planted(sound, "sound", code, sound.text, None)
        for right, wrong in one["wrong"]:
            text = sound.text.replace(right, wrong, 1)
            yield Planted(sound, "wrong", code, text, None, right)


def report_on(planted: Planted) -> Report:
    """What the check says of a draft."""
    from edge_app.facts.checking import Checker

    sound, request = planted.sound, planted.sound.request
    told = request.text, request.recipient, (sound.notes,), sound.letters
    code = planted.kind if planted.kind in OTHERS else None
    return Checker(*told, spoken=code).check(planted.text)


def is_found(planted: Planted) -> bool:
    """Whether the check marks the place of a fault, or lists what is lacking; in a
    sound draft whether it says anything, in a letter written by hand, whether it says
    what it does not of the sound one."""
    report = report_on(planted)
    if planted.how in ("sound", "wrong"):
        sound = replace(planted, how="sound", text=planted.sound.text)
        of_sound = report_on(sound).in_words() if planted.how == "wrong" else []
        return bool(set(report.in_words()) - set(of_sound))
    if planted.span is None:
        return any(planted.lacks in fact.text for fact in report.missing)
    first, last = planted.span
    return any(
        fact.span[0] < last
        and fact.span[1] > first
        and (planted.kind != "answer" or fact.kind == "answer")
        for fact in report.invented
    )


def _shown(planted: Planted) -> str:
    sound, said = planted.sound, " · ".join(report_on(planted).in_words())
    asked = f"{sound.name} ({sound.request.recipient}): {sound.request.text}"
    lines = [asked, *planted.text.split("\n"), f"-> {said or 'nothing found'}"]
    return "\n".join(one_line(line) for line in lines)


@click.command("facts", cls=Command)
@option("--half", click.Choice(HALVES), "unseen", "Which requests and writers.")
@option("--writers", NONE_OR_MORE, 150, "Letters of invented writers.")
@option("--planted", AT_LEAST_ONE, 15, "At most so many faults of each sort.")
@option("--first", AT_LEAST_ONE, None, "Only the first N drafts.")
@option("--seeds", AT_LEAST_ONE, 2, "Drafts of each request.")
@option("--seed", SEED, 0, "Of the choice of faults.")
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
    from benchmarks.content.planting import Planted, plants
    from benchmarks.pair import measuring

    half, rng = options["half"], Random(options["seed"])
    settings = [
        MethodSettings(temperature=_TEMPERATURE, top_p=0.95, seed=seed)
        for seed in range(options["seeds"])
    ]
    drafts: list[Sound] = []
    with measuring("texts", options) as bench:
        try:
            drafts += written_drafts(bench, half, settings, options["first"])
        except StoppedError:
            note("stopped: these are the drafts so far")
    letters = list(invented_letters(half, options["writers"]))
    sorts: dict[str, list[Planted]] = {
        f"sound, {sort}": [Planted(one, "sound", "", one.text, None) for one in some]
        for sort, some in (("drafts of the pair", drafts), ("invented", letters))
        if some
    }
    faults: dict[str, list[Planted]] = {}
    for sound in rng.sample([*drafts, *letters], len(drafts) + len(letters)):
        for planted in plants(sound, rng):
            some = faults.setdefault(f"{planted.how} {planted.kind}", [])
            if len(some) < options["planted"]:
                some.append(planted)
    sorts["all faults"] = [one for some in faults.values() for one in some]
    sorts |= dict(sorted(faults.items()))
    for planted in (one for code in OTHERS for one in letters_of(code)):
        sorts.setdefault(f"{planted.kind}, {planted.how}", []).append(planted)
    rows, lines = [], []
    for sort, some in sorts.items():
        found = [is_found(one) for one in some]
        draws = Resamples([one.sound.name for one in some], seed=0)
        share = draws.ratio(np.array(found, float), np.ones(len(found)))
        rows.append((sort, len(found), share))
        odd = [
            p for p, was in zip(some, found, strict=True) if was == (p.how == "sound")
        ]
        lines += [_shown(one) for one in odd[: options["show"]] if sort != "all faults"]
    cells = [[sort, str(count), interval(share, 100, 1)] for sort, count, share in rows]
    click.echo("\n".join(aligned([["sort", "drafts", "marked, %"], *cells], left=1)))
    for line in lines:
        click.echo(f"\n{line}")
    if options["json_file"]:
        body = {
            "models": bench.hashes,
            "half": half,
            "rows": {s: asdict(r) for s, _, r in rows},
        }
        options["json_file"].write_text(json.dumps(body, indent=1))
