"""`specsteer lab tune`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError, InvalidSettingsError
from decoding_core.settings import START, MethodSettings
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
from edge_app.commands.output import CYAN, echo_ours, may_style, styled
from edge_app.commands.stopping import stoppable
from edge_app.config.settings import read_settings
from models.lazy_commands import Command

if TYPE_CHECKING:
    from edge_app.evaluation.pair import Measuring
    from edge_app.evaluation.tuning import Curve, Tuned

_STRENGTHS = "0.25,0.5,0.75,1,1.5,2"
_THRESHOLDS = "1,0.5,0.2,0.1,0.05,0.01"


@click.command("tune", cls=Command)
@click.option(
    "--strength",
    "strengths",
    multiple=True,
    metavar="NUMBERS",
    help=f"Strengths to try; repeatable, or with commas. {_STRENGTHS}",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="NUMBERS",
    help=f"Thresholds to try; repeatable, or with commas. {_THRESHOLDS}",
)
@click.option("--write", is_flag=True, help="Put the choice into settings.toml.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all settings and figures there too.",
)
@texts_and_models
def command(paths: tuple[Path, ...], **options: Any) -> None:
    """Find the strength and the threshold that suit your own texts.

    The last texts in your store are held out, as 'specsteer lab evaluate' does, and
    each strength and threshold is tried on them. What is set now is changed for what is
    clearly better, and never for what may be chance; and only with --write.

    \b
        specsteer lab tune
        specsteer lab tune --queries 30 --write
        specsteer lab tune --sample --strength 0.5,1,2
    """
    if options["sample"] and paths:
        raise click.UsageError("--sample excludes PATH")
    if options["sample"] and options["write"]:
        raise click.UsageError("--write is for your own texts, not for the sample")
    if options["users"] and not paths:
        raise click.UsageError("--users is for files: give a PATH")
    file = options["json_file"]
    if file is not None and not file.parent.is_dir():
        raise InvalidSettingsError(f"there is no folder {file.parent} for {file.name}")
    settings = read_settings()
    now = settings.method
    strengths = numbers_of("--strength", options["strengths"] or (_STRENGTHS,))
    thresholds = numbers_of("--threshold", options["thresholds"] or (_THRESHOLDS,))
    for threshold in thresholds:
        MethodSettings(threshold=threshold)  # checks it
    how = replace(
        measuring_of(options, settings, tuple(sorted({*strengths, now.strength}))),
        thresholds=tuple(sorted({*thresholds, _threshold(now)}, reverse=True)),
    )
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        cases = cases_of(opened, paths, {**options, "synthetic": None})
        models = models_of(options, settings)
        tell_what_was_learnt(cases, models)
        pair = opened.enter_context(closing(opened_pair(opened, models, stop)))
        result = measure_all(pair, cases, how, stop)
    files = {"specialist": models.specialist, "generalist": models.generalist}
    _conclude(result, how, now, files, options)
    if stop.is_set():
        sys.exit(STOPPED)


def _threshold(now: MethodSettings) -> float:
    """What is set now; where it is automatic, what it begins with."""
    return START if now.threshold == "auto" else now.threshold


def _conclude(
    result: Result,
    how: Measuring,
    now: MethodSettings,
    models: dict[str, Path],
    options: dict[str, Any],
) -> None:
    from edge_app.config.settings_file import write_method
    from edge_app.evaluation.tuning import tune

    tell_what_is_missing(result)
    if result.crowded and result.crowded == result.of:
        raise ContextFullError("no text was measured")
    if not result.measured:
        return
    found = tune(result.measured, how, now.strength, _threshold(now), options["seed"])
    automatic = now.threshold == "auto"
    _print(found, automatic=automatic)
    if options["json_file"] is not None:
        from edge_app.evaluation import as_json

        body = {
            "settings": {**asdict(how), "texts": result.of, "left out": result.crowded},
            "complete": result.complete,
            "models": {role: as_json.file_of(path) for role, path in models.items()},
            **asdict(found),
        }
        as_json.write(options["json_file"], body)
    if options["write"]:
        curves: Sequence[Curve] = (found.strength, found.threshold)
        changes = {one.name: one.chosen for one in curves if one.chosen != one.now}
        if automatic:
            changes.pop("threshold", None)
        if not result.complete:
            click.echo("nothing is written: not all texts were measured", err=True)
        elif not changes:
            click.echo("nothing is written: both settings are kept", err=True)
        else:
            path = write_method(changes)
            named = ", ".join(f"{name} = {value:g}" for name, value in changes.items())
            click.echo(f"written to {path}: {named}", err=True)


def _print(found: Tuned, *, automatic: bool) -> None:
    from edge_app.evaluation import curves

    width, full = shutil.get_terminal_size().columns, "█"
    try:
        full.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        full = "#"
    look = full, lambda bar: styled(bar, CYAN) if may_style() else bar
    echo_ours(curves.strength_table(found.strength, width, *look) + "\n")
    echo_ours(curves.threshold_table(found.threshold, width, *look) + "\n")
    for sentence in curves.in_words(found, automatic=automatic):
        click.echo(click.wrap_text(sentence, min(width, 80)))
    click.echo("\n" + click.wrap_text(curves.LEGEND, min(width, 80)), err=True)
