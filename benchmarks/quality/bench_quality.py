"""`specsteer lab bench quality`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.settings import FIXED_LENGTH, MethodSettings
from edge_app.commands.terminal import Progress, stoppable
from edge_app.config.settings import read_settings
from edge_app.retrieval import personalisation
from models.folders import state_folder
from models.lazy_commands import Command

if TYPE_CHECKING:
    from benchmarks.quality.writing import Lab, Result, Runner

_STOPPED = 130
_FILE = click.Path(path_type=Path)


@click.command("quality", cls=Command)
@click.option(
    "--data",
    multiple=True,
    required=True,
    type=_FILE,
    metavar="PATH",
    help="A file or folder of queries; repeatable.",
)
@click.option(
    "--methods",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="all, or names with commas.",
)
@click.option(
    "--users",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="The first so many of each set.",
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The first so many of each user.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1, 4096),
    default=1024,
    show_default=True,
    help="The longest text.",
)
@click.option("--temperature", default=0.0, show_default=True, help="0 is greedy.")
@click.option("--top-p", default=1.0, show_default=True, help="As for writing.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of drawn tokens and of the resamples.",
)
@click.option(
    "--strength",
    default="1",
    show_default=True,
    metavar="NUMBERS",
    help="One or more, with commas: a row for each.",
)
@click.option(
    "--threshold",
    default="0.5",
    show_default=True,
    metavar="NUMBERS",
    help="One or more, with commas; auto is one too.",
)
@click.option(
    "--costeer-steps",
    "steps",
    default=str(MethodSettings().costeer_steps),
    show_default=True,
    metavar="NUMBERS",
    help="T, for costeer; one or more, with commas.",
)
@click.option(
    "--costeer-alpha",
    default=MethodSettings().costeer_alpha,
    show_default=True,
    help="Of its loop.",
)
@click.option(
    "--costeer-lambda",
    default=MethodSettings().costeer_lambda,
    show_default=True,
    help="Of its loop; for lightcosteer too.",
)
@click.option(
    "--costeer-eta",
    default=MethodSettings().costeer_eta,
    show_default=True,
    help="Of its loop; for lightcosteer too.",
)
@click.option(
    "--personalisation",
    "histories",
    default=personalisation.USUAL,
    show_default=True,
    metavar="NAMES",
    help="How past texts of histories are chosen: all, or names with commas.",
)
@click.option(
    "--reranker",
    type=_FILE,
    help="A GGUF reranker; a row more for what it chooses.",
)
@click.option(
    "--draft-length",
    default=FIXED_LENGTH,
    show_default=True,
    help="The longest draft.",
)
@click.option(
    "--candidates",
    default=MethodSettings().candidates,
    show_default=True,
    help="Tokens whose probabilities travel.",
)
@click.option(
    "--passages",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Past texts in the private prompt.",
)
@click.option("--threads", type=click.IntRange(1), help="Of each model.")
@click.option("--specialist", type=_FILE, help="A GGUF file.")
@click.option("--generalist", type=_FILE, help="A GGUF file.")
@click.option("--markdown", is_flag=True, help="Print the table in Markdown.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all settings and figures there too.",
)
@click.option("--cache", type=_FILE, metavar="DIR", help="Where results are kept.")
@click.option("--fresh", is_flag=True, help="Compute again what is kept.")
def command(**options: Any) -> None:
    """Compare what each method writes with true texts.

    A row for each method and set: ROUGE, METEOR, length, share of the draft that was
    kept, speed, bytes, and nats of the true text; for the tasks of LaMP that have a
    label or a rating, accuracy, F1, MAE and RMSE.

    PATH holds LaMP, LongLaMP, or histories as 'specsteer lab evaluate' reads them;
    docs/bench.md describes them. Each result is kept at once, so a run that was stopped
    or killed goes on when it is started again.

    \b
        specsteer lab bench quality --data eval/ --users 5 --max-tokens 200
        specsteer lab bench quality --data dev.json --methods steering,generalist
        specsteer lab bench quality --data eval/ --methods steering \\
            --threshold 1,0.5,0.1,0.01,auto
        specsteer lab bench quality --data eval/ --methods costeer \\
            --costeer-steps 1,2,5,10,20,50,100
        specsteer lab bench quality --data eval/ --methods specialist,steering \\
            --personalisation bm25,noise,profile
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.cache import Cache, key_of
    from benchmarks.quality import arms, writing
    from benchmarks.quality.sets import read_sets
    from benchmarks.quality.writing import How, Lab, Runner
    from edge_app.commands.service_config import service_config

    writing.check_extra()
    file = options["json_file"]
    if file is not None and not file.parent.is_dir():
        raise InvalidSettingsError(f"there is no folder {file.parent} for {file.name}")

    chosen = arms.arms(
        arms.names(options["methods"]),
        MethodSettings(
            temperature=options["temperature"],
            top_p=options["top_p"],
            seed=options["seed"],
            draft_length=options["draft_length"],
            candidates=options["candidates"],
            costeer_alpha=options["costeer_alpha"],
            costeer_lambda=options["costeer_lambda"],
            costeer_eta=options["costeer_eta"],
        ),
        [
            "auto" if word == "auto" else _number("threshold", word)
            for word in _words("threshold", options)
        ],
        [_number("strength", word) for word in _words("strength", options)],
        may_refuse=options["methods"].strip() == arms.ALL,
        steps=[int(_number("costeer-steps", w)) for w in _words("steps", options)],
        histories=arms.histories(options["histories"], options["reranker"]),
    )
    queries = read_sets(options["data"], options["users"], options["queries"])

    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        found = service_config(
            read_settings(),
            server="",  # both models run here
            specialist=options["specialist"],
            generalist=options["generalist"],
        )
        how = How(
            max_tokens=options["max_tokens"],
            passages=options["passages"],
            threads=options["threads"] or found.engine.thread_count,
            seed=options["seed"],
        )
        models = {"specialist": found.specialist, "generalist": found.generalist}
        reranker = options["reranker"]
        lab = opened.enter_context(closing(Lab(models, how, stop, reranker)))
        folder = options["cache"] or state_folder() / "bench"
        kept = folder / f"quality-{key_of(lab.hashes)[:12]}.jsonl"
        cache = opened.enter_context(closing(Cache(kept, fresh=options["fresh"])))
        runner = Runner(lab, cache, chosen)

        results: list[Result] = []
        stopped = False
        with Progress("writing") as progress:
            try:
                for result in runner.run(queries, progress.show):
                    results.append(result)  # noqa: PERF402 (what was done counts, too)
            except StoppedError:
                stopped = True
        if not stopped:
            _show(results, runner, lab, options)
            return
    click.echo(
        f"stopped after {len(results)} of {len(queries) * len(chosen)} texts; they are "
        "kept: the same command goes on from there",
        err=True,
    )
    sys.exit(_STOPPED)


def _words(name: str, options: dict[str, Any]) -> list[str]:
    words = [word.strip() for word in options[name].split(",")]
    return list(dict.fromkeys(words))


def _number(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise click.UsageError(f"--{name} takes numbers such as 0.5,1") from error


def _show(
    results: list[Result], runner: Runner, lab: Lab, options: dict[str, Any]
) -> None:
    from benchmarks.quality import report
    from benchmarks.quality.report import rows_of
    from edge_app.evaluation import tables

    if runner.crowded:
        click.echo(
            f"{runner.crowded} of the queries left out: their prompts leave no room "
            "for the text; a lower --max-tokens makes some",
            err=True,
        )
    if not results:
        raise ContextFullError("no text was written")
    rows = rows_of(results, options["seed"])
    click.echo((report.markdown if options["markdown"] else report.plain)(rows))
    for sentence in [*report.refusals(rows), report.LEGEND]:
        click.echo("\n" + click.wrap_text(sentence, 80), err=True)
    if options["json_file"] is not None:
        left = {"json_file", "cache", "markdown", "fresh"}
        left |= {"specialist", "generalist", "reranker"}
        asked = {name: value for name, value in options.items() if name not in left}
        asked["data"] = [str(path) for path in options["data"]]
        asked["queries left out"] = runner.crowded
        body = report.document(rows, results, lab, asked)
        tables.write(options["json_file"], body)
