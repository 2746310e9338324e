"""`specsteer lab bench privacy`: what a server that keeps all it saw can tell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.cache import Cache, key_of, sha256_of
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
from decoding_core.errors import InvalidSettingsError, StoppedError
from decoding_core.foreign_text import one_line
from edge_app.commands.terminal import STOPPED, Progress, note, stoppable
from edge_app.config.settings import read_settings
from models.command_line import Command
from models.folders import state_folder

if TYPE_CHECKING:
    from benchmarks.privacy.device import Condition
    from benchmarks.privacy.runner import Asked, Outcome, Row
    from benchmarks.privacy.worlds import Writer
    from edge_app.evaluation.figures import Estimate

_SHOWN = (25, 50, 200)
"""Tokens sent that the table has; all are in the JSON."""
LEGEND = (
    "of N at T: writers found among N histories by the first T tokens sent; chance "
    "is 1/N. nats: evidence for the writer's own history, for each token sent and for "
    "each text. secrets: of those planted, how many could be read in what left, in "
    "refused drafts alone, and in the text. kept: accepted of the drafted. sent: "
    "tokens sent for each of the text. habits: of those that the true text shows. In "
    "brackets 95 % intervals: Wilson's of the writers found, of all else from "
    "resamples of writers."
)


def tables_of(rows: Sequence[Row], among: Sequence[int]) -> list[list[list[str]]]:
    """Who is found, and which secrets are read at what cost: a line a condition."""
    heads = [f"of {n} at {t}" for n in among for t in _SHOWN]
    found = [["", "texts", *heads, "nats a token", "nats a text"]]
    cost = [["", "secrets left", "refused only", "in the text"]]
    cost[0] += ["kept", "sent", "habits"]
    for row in rows:
        by = {(one.among, one.tokens): one.share for one in row.found}
        shares = [_share(by[n, t]) for n in among for t in _SHOWN]
        nats = [f"{row.evidence.value:.2f}", f"{row.nats:.1f}"]
        found.append([row.condition, str(row.texts), *shares, *nats])
        secrets = (row.secrets.get(name) for name in ("left", "refused", "text"))
        cells = ["-" if one is None else f"{100 * one:.0f} %" for one in secrets]
        cells += [_share(row.acceptance) if row.acceptance.value else "-"]
        cells += [f"{row.sent:.2f}", _share(row.habits) if row.habits else "-"]
        cost.append([row.condition, *cells])
    return [found, cost]


def _share(one: Estimate) -> str:
    words = f"{100 * one.value:.0f} %"
    if one.low is None or one.high is None:
        return words
    return f"{words} ({100 * one.low:.0f}-{100 * one.high:.0f})"


@click.command("privacy", cls=Command)
@option("--count", AT_LEAST_ONE, 3, "Writers whose texts are attacked.")
@option("--texts", AT_LEAST_ONE, 2, "Of each writer; their evidence adds up.")
@option("--histories", click.IntRange(2), 100, "Candidates, the writers among them.")
@option("--letters", AT_LEAST_ONE, 12, "Of each invented writer.")
@option("--secrets", NONE_OR_MORE, 12, "Planted and asked around; 0: none.")
@option("--conditions", str, "all", "all, or names of the table with commas.")
@option("--tokens", AT_LEAST_ONE, 200, "Sent tokens of a text that are looked at.")
@option("--max-tokens", click.IntRange(1, 4096), 120, "The longest text.")
@option("--temperature", TEMPERATURE, 0.7, "As for writing.")
@option("--top-p", TOP_P, 0.95, "As for writing.")
@option("--seed", SEED, 0, "Of all draws.")
@flag("--markdown", "Print the tables in Markdown.")
@MODELS
@JSON
@KEPT
def command(**options: Any) -> None:
    """What a server that keeps all it saw can tell of a history.

    Texts are written by the service as it is, with a server in a process of its own.
    The attacker has every byte that was handed to the socket, and the weights of both
    models. It asks which of N histories wrote a text, and which planted secrets can be
    read in what left, refused drafts included. A row for each method and defence;
    docs/privacy.md says how to read it.

    Each result is kept at once, so a run that was stopped goes on when it is started
    again. The default takes some ten minutes on two cores; --count 30 makes intervals
    small.

    \b
        specsteer lab bench privacy
        specsteer lab bench privacy --count 30
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.privacy.device import WritingOptions, all_conditions, chosen
    from benchmarks.privacy.runner import GRID, Plan, Runner
    from benchmarks.privacy.worlds import invented_writers
    from edge_app.commands.service_config import service_config

    try:
        rows = chosen(options["conditions"])
    except KeyError as error:
        every = ", ".join(f"'{one.name}'" for one in all_conditions())
        raise InvalidSettingsError(
            f"there is no condition {error}; there are {every}"
        ) from error
    texts, histories = options["texts"], options["histories"]
    writers = invented_writers(histories, options["letters"], texts, options["seed"])
    count = min(options["count"], len(writers))

    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        found = service_config(
            read_settings(),
            server="",  # both models run here
            specialist=options["specialist"],
            generalist=options["generalist"],
        )
        models = {"specialist": found.specialist, "generalist": found.generalist}
        hashes = {role: sha256_of(path) for role, path in models.items()}
        threads = options["threads"]
        writing = WritingOptions(
            options["max_tokens"], options["temperature"], options["top_p"]
        )
        plan = Plan(writing, threads, options["seed"], options["tokens"])
        folder = options["cache"] or state_folder() / "bench"
        kept = folder / f"privacy-{key_of(hashes)[:12]}.jsonl"
        cache = opened.enter_context(closing(Cache(kept, fresh=options["fresh"])))
        runner = opened.enter_context(closing(Runner(models, cache, plan, stop)))
        try:
            with Progress("planting secrets") as progress:
                secrets = runner.secrets(options["secrets"], rows, progress.show)
            with Progress("reading histories") as progress:
                outcomes = runner.identified(writers, count, rows, progress.show)
            count = len({one.writer for one in outcomes})
        except StoppedError:
            note("stopped; the same command goes on from there")
            sys.exit(STOPPED)

        from edge_app.evaluation import tables

        among = sorted({n for n in (10, 100) if n <= len(writers)} or {len(writers)})
        if len(writers) not in among:
            among.append(len(writers))
        figures = [
            _row(one, outcomes, writers, secrets, among, options["seed"])
            for one in rows
            if any(outcome.condition == one.name for outcome in outcomes)
        ]
        for table in tables_of(figures, among):
            cells = [[one_line(cell) for cell in line] for line in table]
            if options["markdown"]:
                click.echo(tables.markdown_table(cells) + "\n")
            else:
                click.echo("\n".join(tables.aligned(cells)) + "\n")
        note(click.wrap_text(LEGEND, 80))
        about = {
            "writers attacked": str(count),
            "texts of each": str(texts),
            "candidate histories": str(len(writers)),
            "temperature, top-p": f"{writing.temperature:g}, {writing.top_p:g}",
            "seed": str(options["seed"]),
            "secrets": str(options["secrets"]),
            **{role: f"`{sha[:12]}`" for role, sha in hashes.items()},
        }
        if options["json_file"] is not None:
            body: dict[str, Any] = {
                "about": about,
                "models": hashes,
                "tokens": list(GRID),
            }
            body["rows"] = [asdict(row) for row in figures]
            tables.write(options["json_file"], body)


def _row(
    condition: Condition,
    outcomes: Sequence[Outcome],
    writers: Sequence[Writer],
    secrets: Sequence[Asked],
    among: Sequence[int],
    seed: int,
) -> Row:
    """The figures of one condition, of its own texts."""
    from benchmarks.content.judging import shows
    from benchmarks.privacy.runner import row_of

    own = [one for one in outcomes if one.condition == condition.name]
    showed, had = np.zeros(len(own)), np.zeros(len(own))
    for number, one in enumerate(own):
        habits = writers[one.writer].tasks[one.task].habits
        had[number] = len(habits)
        showed[number] = sum(shows(one.text.text, *habit) for habit in habits)
    return row_of(
        condition.name,
        own,
        among=among,
        habits=(showed, had),
        secrets=[one for one in secrets if one.condition == condition.name],
        seed=seed,
    )
