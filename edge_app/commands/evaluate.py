"""`specsteer lab evaluate`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError, InvalidSettingsError
from decoding_core.foreign_text import legible
from edge_app.commands.measuring import (
    STOPPED,
    Result,
    cases_of,
    measure_all,
    measuring_of,
    models_of,
    numbers_of,
    opened_pair,
    tell_what_is_missing,
    tell_what_was_learnt,
    texts_and_models,
)
from edge_app.commands.stopping import stoppable
from edge_app.config.settings import read_settings
from models.lazy_commands import Command

if TYPE_CHECKING:
    from edge_app.evaluation.pair import Measuring

_STRENGTHS = "0.25,0.5,0.75,1,1.5,2"


@click.command("evaluate", cls=Command)
@click.option(
    "--synthetic",
    type=click.IntRange(1),
    metavar="N",
    help="Measure N invented writers that no training has met.",
)
@click.option(
    "--strength",
    "strengths",
    multiple=True,
    metavar="NUMBERS",
    help=f"Strengths of steering; repeatable, or with commas. {_STRENGTHS}",
)
@click.option("--wide", is_flag=True, help="Every strength, interval and share kept.")
@click.option("--markdown", is_flag=True, help="One table in Markdown.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all settings and figures there too.",
)
@texts_and_models
def command(paths: tuple[Path, ...], **options: Any) -> None:
    """Measure how much a history helps to predict what its writer really wrote.

    The last texts in your store are held out. Each is predicted from those before it:
    by the small model without them (B) and with them (S), by the large model, which
    never sees them (L), and by both joined (T). All runs on this device.

    With PATH, files or folders of histories and true texts are measured instead:
    JSON lines, plain or .xz; docs/evaluate.md describes them.

    \b
        specsteer lab evaluate
        specsteer lab evaluate --sample --queries 5 --strength 0.5,1
        specsteer lab evaluate eval/ --users 20 --json figures.json
    """
    if options["sample"] and (paths or options["synthetic"]):
        raise click.UsageError("--sample excludes PATH and --synthetic")
    if options["users"] and not paths:
        raise click.UsageError("--users is for files: give a PATH")
    if options["wide"] and options["markdown"]:
        raise click.UsageError("--wide and --markdown exclude each other")
    file = options["json_file"]
    if file is not None and not file.parent.is_dir():
        raise InvalidSettingsError(f"there is no folder {file.parent} for {file.name}")
    settings = read_settings()
    strengths = numbers_of("--strength", options["strengths"] or (_STRENGTHS,))
    how = measuring_of(options, settings, strengths)
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        cases = cases_of(opened, paths, options)
        models = models_of(options, settings)
        tell_what_was_learnt(cases, models)
        pair = opened.enter_context(closing(opened_pair(opened, models, stop)))
        result = measure_all(pair, cases, how, stop)
    files = {"specialist": models.specialist, "generalist": models.generalist}
    _show(result, how, files, paths, options)
    if stop.is_set():
        sys.exit(STOPPED)


def _show(
    result: Result,
    how: Measuring,
    models: dict[str, Path],
    paths: tuple[Path, ...],
    options: dict[str, Any],
) -> None:
    from edge_app.evaluation import as_json, table
    from edge_app.evaluation.report import summarise

    tell_what_is_missing(result)
    if result.crowded and result.crowded == result.of:
        raise ContextFullError("no text was measured")
    if not result.measured:
        return
    groups = summarise(result.measured, how, options["seed"])
    form = table.markdown if options["markdown"] else table.plain
    click.echo(legible(form(groups)))
    if options["wide"]:
        click.echo("\n" + legible(table.wide(groups)))
    if not paths and not options["synthetic"]:
        click.echo("\n" + click.wrap_text(table.in_words(groups[-1]), 80))
    click.echo("\n" + click.wrap_text(table.LEGEND, 80), err=True)
    file = options["json_file"]
    if file is not None:
        run = {
            name: options[name] for name in ("users", "queries", "synthetic", "seed")
        }
        run |= {"paths": [str(path) for path in paths], "sample": options["sample"]}
        run |= {"texts": result.of, "left out": result.crowded}
        run["complete"] = result.complete
        body = as_json.document(result.measured, groups, how, models, run)
        as_json.write(file, body)
