"""`specsteer lab bench privacy`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
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
from decoding_core.errors import InvalidSettingsError, StoppedError
from edge_app.commands.terminal import Progress, stoppable
from edge_app.config.settings import read_settings
from models.folders import state_folder
from models.lazy_commands import Command

if TYPE_CHECKING:
    from benchmarks.privacy.device import Condition
    from benchmarks.privacy.runner import Asked, Outcome, Row
    from benchmarks.privacy.worlds import Writer

_STOPPED = 130
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("privacy", cls=Command)
@click.option(
    "--count",
    type=AT_LEAST_ONE,
    default=3,
    show_default=True,
    help="Writers whose texts are attacked.",
)
@click.option(
    "--others",
    type=NONE_OR_MORE,
    metavar="COUNT",
    help="The same, and secrets, for rows that are no defence: other methods and "
    "strengths. As many.",
)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    default=2,
    show_default=True,
    help="Of each writer; their evidence adds up.",
)
@click.option(
    "--histories",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="Candidates, the writers themselves among them.",
)
@click.option(
    "--letters",
    type=AT_LEAST_ONE,
    default=12,
    show_default=True,
    help="Of each invented writer.",
)
@click.option(
    "--secrets",
    type=NONE_OR_MORE,
    default=12,
    show_default=True,
    help="Planted and asked around; 0: none.",
)
@click.option(
    "--conditions",
    "names",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="all, or names of the table with commas.",
)
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Histories of files, as 'specsteer lab evaluate' reads them; repeatable. "
    "Without: invented writers that no training has met.",
)
@click.option(
    "--tokens",
    type=AT_LEAST_ONE,
    default=200,
    show_default=True,
    help="Sent tokens of a text that are looked at.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1, 4096),
    default=120,
    show_default=True,
    help="The longest text.",
)
@click.option(
    "--temperature",
    type=TEMPERATURE,
    default=0.7,
    show_default=True,
    help="As for writing.",
)
@click.option(
    "--top-p", type=TOP_P, default=0.95, show_default=True, help="As for writing."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of all draws.")
@click.option("--threads", type=AT_LEAST_ONE, help="Of each model.")
@click.option("--specialist", type=MODEL_FILE, help="A GGUF file.")
@click.option("--generalist", type=MODEL_FILE, help="A GGUF file.")
@click.option(
    "--json",
    "json_file",
    type=NEW_FILE,
    metavar="FILE",
    help="Write settings and figures there too.",
)
@click.option("--markdown", is_flag=True, help="Print the tables in Markdown.")
@click.option("--cache", type=_FOLDER, metavar="DIR", help="Where results are kept.")
@click.option("--fresh", is_flag=True, help="Compute again what is kept.")
def command(**options: Any) -> None:
    """What a server that keeps all it saw can tell of a history.

    Texts are written by the service as it is, with a server in a process of its own.
    The attacker has every byte that was handed to the socket, and the weights of both
    models. It asks which of N histories wrote a text, whether a letter was among those
    that were read, which planted secrets can be read in what left, refused drafts
    included. A row for each method and defence; docs/privacy.md says how to read it.

    Each result is kept at once, so a run that was stopped goes on when it is started
    again. The default takes some ten minutes on two cores; --count 30 makes intervals
    small.

    \b
        specsteer lab bench privacy
        specsteer lab bench privacy --count 30 --others 2
        specsteer lab bench privacy --data eval/ --histories 50 --secrets 0
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.cache import Cache, key_of, sha256_of
    from benchmarks.privacy.device import WritingOptions, all_conditions, chosen
    from benchmarks.privacy.runner import Plan, Runner
    from benchmarks.privacy.worlds import invented_writers, writers_of_files
    from edge_app.commands.service_config import service_config

    try:
        rows, left_out = chosen(options["names"])
    except KeyError as error:
        every = ", ".join(f"'{one.name}'" for one in all_conditions())
        raise InvalidSettingsError(
            f"there is no condition {error}; there are {every}"
        ) from error
    for sentence in left_out:
        click.echo(sentence, err=True)
    if not rows:
        raise InvalidSettingsError("there is nothing left to measure")
    texts, histories = options["texts"], options["histories"]
    if options["data"]:
        writers = writers_of_files(options["data"], histories, texts)
    else:
        writers = invented_writers(
            histories, options["letters"], texts, options["seed"]
        )
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
        threads = options["threads"] or found.engine.thread_count
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
                secrets = runner.secrets(
                    *(options["secrets"], rows, progress.show),
                    others=options["others"],
                )
            with Progress("reading histories") as progress:
                outcomes = runner.identified(
                    *(writers, count, rows, progress.show),
                    others=options["others"],
                )
            count = len({one.writer for one in outcomes})
        except StoppedError:
            click.echo("stopped; the same command goes on from there", err=True)
            sys.exit(_STOPPED)

        from benchmarks.privacy import report
        from edge_app.evaluation import tables

        among = sorted({n for n in (10, 100) if n <= len(writers)} or {len(writers)})
        if len(writers) not in among:
            among.append(len(writers))
        figures = [
            _row(one, outcomes, writers, secrets, among, options["seed"])
            for one in rows
            if any(outcome.condition == one.name for outcome in outcomes)
        ]
        form = report.markdown if options["markdown"] else report.plain
        click.echo(form(figures, among))
        click.echo("\n" + click.wrap_text(report.LEGEND, 80), err=True)
        others = count if options["others"] is None else min(count, options["others"])
        about = {
            "writers attacked": f"{count} (other methods: {others})",
            "texts of each": str(texts),
            "candidate histories": str(len(writers)),
            "writers": ", ".join(p.name for p in options["data"]) or "invented, unseen",
            "temperature, top-p": f"{writing.temperature:g}, {writing.top_p:g}",
            "seed": str(options["seed"]),
            "secrets": str(options["secrets"]),
            **{role: f"`{sha[:12]}`" for role, sha in hashes.items()},
        }
        if options["json_file"] is not None:
            run: dict[str, Any] = {"about": about, "models": hashes}
            body = report.document(figures, run)
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
