"""`specsteer evaluate`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.settings import MethodSettings
from edge_app.commands.output import printable
from edge_app.commands.progress import Progress
from edge_app.commands.stopping import stoppable
from edge_app.sample_store import fill
from edge_app.settings import read_settings, sample_store_path, store_path
from personal_store import Store

if TYPE_CHECKING:
    from edge_app.desk import Equipment
    from edge_app.evaluation.cases import Case
    from edge_app.evaluation.pair import Measured, Measuring, Pair
    from edge_app.evaluation.report import Group

_STOPPED = 130
_OWN_TEXTS = 10
"""How many of each kind are held out of one's own store."""
_STRENGTHS = "0.25,0.5,0.75,1,1.5,2"


@dataclass(slots=True)
class _Result:
    """What came out, also of a run that was stopped."""

    measured: list[Measured] = field(default_factory=list)
    crowded: int = 0
    """Texts whose request left no room for them."""
    of: int = 0
    """How many there were to measure."""

    @property
    def complete(self) -> bool:
        """Whether nothing stopped it."""
        return len(self.measured) + self.crowded == self.of


@click.command("evaluate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--sample", is_flag=True, help="Measure the sample letters.")
@click.option(
    "--synthetic",
    type=click.IntRange(1),
    metavar="N",
    help="Measure N invented writers that no training has met.",
)
@click.option(
    "--users", type=click.IntRange(1), metavar="N", help="The first N of each file."
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="Texts per user; of your own, the last N of each kind. 1; 10",
)
@click.option(
    "--passages",
    type=click.IntRange(0, 100),
    metavar="N",
    help="Past texts to look for, as for writing. 5",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1, 4096),
    default=400,
    show_default=True,
    help="Where a true text is cut.",
)
@click.option(
    "--strength",
    "strengths",
    multiple=True,
    metavar="NUMBERS",
    help=f"Strengths of steering; repeatable, or with commas. {_STRENGTHS}",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--specialist", type=click.Path(path_type=Path), help="A GGUF file.")
@click.option("--generalist", type=click.Path(path_type=Path), help="A GGUF file.")
@click.option("--wide", is_flag=True, help="Every strength, interval and share kept.")
@click.option("--markdown", is_flag=True, help="One table in Markdown.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all settings and figures there too.",
)
def command(paths: tuple[Path, ...], **options: Any) -> None:
    """Measure how much a history helps to predict what its writer really wrote.

    The last texts in your store are held out. Each is predicted from those before it:
    by the small model without them (B) and with them (S), by the large model, which
    never sees them (L), and by both joined (T). All runs on this device.

    With PATH, files or folders of histories and true texts are measured instead:
    JSON lines, plain or .xz; docs/evaluate.md describes them.

    \b
        specsteer evaluate
        specsteer evaluate --sample --queries 5 --strength 0.5,1
        specsteer evaluate eval/ --users 20 --json figures.json
    """
    _check(paths, options)
    how = _measuring(options)
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        cases = _cases(opened, paths, options)
        models = _models(options)
        pair = opened.enter_context(closing(_pair(models, stop)))
        result = _measure(pair, cases, how, stop)
    files = {"specialist": models.specialist, "generalist": models.generalist}
    _show(result, how, files, paths, options)
    if stop.is_set():
        sys.exit(_STOPPED)


def _check(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    if options["sample"] and (paths or options["synthetic"]):
        raise click.UsageError("--sample excludes PATH and --synthetic")
    if options["users"] and not paths:
        raise click.UsageError("--users is for files: give a PATH")
    if options["wide"] and options["markdown"]:
        raise click.UsageError("--wide and --markdown exclude each other")
    file = options["json_file"]
    if file is not None and not file.parent.is_dir():
        raise InvalidSettingsError(f"there is no folder {file.parent} for {file.name}")


def _measuring(options: dict[str, Any]) -> Measuring:
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.evaluation.pair import Measuring
    from edge_app.passages import PASSAGES

    words = ",".join(options["strengths"] or (_STRENGTHS,)).split(",")
    try:
        strengths = sorted({float(word) for word in words})
    except ValueError as error:
        raise click.UsageError("--strength takes numbers such as 0.5,1") from error
    for strength in strengths:
        MethodSettings(strength=strength)  # checks it
    passages = options["passages"]
    return Measuring(
        strengths=tuple(strengths),
        passages=PASSAGES if passages is None else passages,
        max_tokens=options["max_tokens"],
    )


def _cases(
    opened: ExitStack, paths: tuple[Path, ...], options: dict[str, Any]
) -> list[Case]:
    """What is to be measured; a store stays open for the histories in it."""
    from edge_app.evaluation.eval_files import read_files
    from edge_app.evaluation.unseen import unseen_cases

    cases: list[Case] = []
    if paths:
        cases += read_files(paths, options["users"], options["queries"] or 1)
    if options["synthetic"]:
        cases += unseen_cases(options["synthetic"], options["seed"])
    return cases or _own_cases(opened, options)


def _own_cases(opened: ExitStack, options: dict[str, Any]) -> list[Case]:
    from edge_app.evaluation.held_out import SAMPLE, YOURS, held_out

    sample = options["sample"]
    path = sample_store_path() if sample else store_path()
    store = opened.enter_context(Store.open(path))
    if sample and not store.counts()["own"]:
        fill(store)
    if not store.counts()["own"]:
        raise InvalidSettingsError(
            "there is no history yet; 'specsteer import --help' says how to give it, "
            "and --sample measures the sample letters"
        )
    count = options["queries"] or _OWN_TEXTS
    return held_out(store, count, SAMPLE if sample else YOURS)


def _models(options: dict[str, Any]) -> Equipment:
    from edge_app.commands.equipment import equipment

    return equipment(
        read_settings(),
        server="",  # both models read here
        specialist=options["specialist"],
        generalist=options["generalist"],
    )


def _pair(models: Equipment, stop: threading.Event) -> Pair:
    from edge_app.evaluation.pair import Pair

    return Pair(models.specialist, models.generalist, models.engine, stop)


def _measure(
    pair: Pair, cases: Sequence[Case], how: Measuring, stop: threading.Event
) -> _Result:
    result = _Result(of=len(cases))
    with Progress("measuring") as progress:
        for done, case in enumerate(cases, 1):
            if stop.is_set():
                break
            try:
                result.measured.append(pair.measure(case, how))
            except ContextFullError:
                result.crowded += 1
            except StoppedError:
                break
            progress.show(done, len(cases))
    return result


def _show(
    result: _Result,
    how: Measuring,
    models: dict[str, Path],
    paths: tuple[Path, ...],
    options: dict[str, Any],
) -> None:
    from edge_app.evaluation import as_json
    from edge_app.evaluation.report import summarise

    _tell_what_is_missing(result)
    if result.crowded and result.crowded == result.of:
        raise ContextFullError("no text was measured")
    if not result.measured:
        return
    groups = summarise(result.measured, how, options["seed"])
    _print(groups, options, own=not paths and not options["synthetic"])
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


def _tell_what_is_missing(result: _Result) -> None:
    if result.crowded:
        click.echo(
            f"{result.crowded} of {result.of} texts are left out: their request and "
            "notes leave no room for the text; a lower --max-tokens makes some",
            err=True,
        )
    if not result.complete:
        click.echo(
            f"stopped after {len(result.measured)} of {result.of} texts", err=True
        )


def _print(groups: Sequence[Group], options: dict[str, Any], *, own: bool) -> None:
    from edge_app.evaluation import table

    form = table.markdown if options["markdown"] else table.plain
    click.echo(_lines(form(groups)))
    if options["wide"]:
        click.echo("\n" + _lines(table.wide(groups)))
    if own:
        click.echo("\n" + click.wrap_text(table.in_words(groups[-1]), 80))
    click.echo("\n" + click.wrap_text(table.LEGEND, 80), err=True)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
