"""`specsteer lab bench privacy`: what a server that keeps all it saw can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

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
from decoding_core.foreign_text import one_line
from edge_app.commands.terminal import Progress, note
from models.command_line import Command

if TYPE_CHECKING:
    from benchmarks.privacy.runner import Row
    from edge_app.evaluation.figures import Estimate

_SHOWN = (25, 50, 200)  # tokens sent that the table has; all are in the JSON
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
    from benchmarks.pair import measuring
    from benchmarks.privacy.device import WritingOptions, chosen
    from benchmarks.privacy.runner import GRID, Runner, row_of
    from benchmarks.privacy.worlds import invented_writers
    from edge_app.evaluation import tables

    conditions = chosen(options["conditions"])
    texts, histories, seed = options["texts"], options["histories"], options["seed"]
    writers = invented_writers(histories, options["letters"], texts, seed)
    count = min(options["count"], len(writers))
    writing = WritingOptions(
        options["max_tokens"], options["temperature"], options["top_p"]
    )
    with measuring("privacy", options) as bench:
        runner = Runner(bench, writing, seed, options["tokens"])
        with Progress("planting secrets") as progress:
            secrets = runner.secrets(options["secrets"], conditions, progress.show)
        with Progress("reading histories") as progress:
            outcomes = runner.identified(writers, count, conditions, progress.show)
    among = sorted({*(n for n in (10, 100) if n <= len(writers)), len(writers)})
    rows = [
        row_of(one.name, outcomes, writers, secrets, among, seed) for one in conditions
    ]
    for table in tables_of(rows, among):
        cells = [[one_line(cell) for cell in line] for line in table]
        if options["markdown"]:
            click.echo(tables.markdown_table(cells) + "\n")
        else:
            click.echo("\n".join(tables.aligned(cells)) + "\n")
    note(click.wrap_text(LEGEND, 80))
    if options["json_file"] is not None:
        about = {
            "writers attacked": str(count),
            "texts of each": str(texts),
            "candidate histories": str(len(writers)),
            "temperature, top-p": f"{writing.temperature:g}, {writing.top_p:g}",
            "seed": str(seed),
            "secrets": str(options["secrets"]),
            **{role: f"`{sha[:12]}`" for role, sha in bench.hashes.items()},
        }
        body: dict[str, Any] = {
            "about": about,
            "models": bench.hashes,
            "tokens": list(GRID),
            "rows": [asdict(row) for row in rows],
        }
        tables.write(options["json_file"], body)
