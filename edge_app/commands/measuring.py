"""`specsteer lab evaluate` and `tune`."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.foreign_text import legible
from decoding_core.settings import START, MethodSettings
from edge_app.adapters.kept import kept_at
from edge_app.commands.terminal import (
    CYAN,
    STOPPED,
    Progress,
    echo_ours,
    may_style,
    stoppable,
    styled,
)
from edge_app.config.settings import (
    Settings,
    read_settings,
    sample_store_path,
    store_path,
)
from edge_app.retrieval import personalisation
from edge_app.sample import make_ready
from models.lazy_commands import Command
from personal_store import Store

if TYPE_CHECKING:
    from edge_app.evaluation.cases import Case
    from edge_app.evaluation.pair import Measured, Measuring, Pair
    from edge_app.evaluation.tuning import Curve, Tuned
    from edge_app.service.requests import ServiceConfig

_OWN_TEXTS = 10
"""How many of each kind are held out of one's own store."""

_TEXTS_AND_MODELS = (
    click.argument(
        "paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]..."
    ),
    click.option("--sample", is_flag=True, help="Measure the sample letters."),
    click.option(
        "--users", type=click.IntRange(1), metavar="N", help="The first N of each file."
    ),
    click.option(
        "--queries",
        type=click.IntRange(1),
        metavar="N",
        help="Texts per user; of your own, the last N of each kind. 1; 10",
    ),
    click.option(
        "--passages",
        type=click.IntRange(0, 100),
        metavar="N",
        help="Past texts to look for, as for writing. 5",
    ),
    click.option(
        "--personalisation",
        help="What of the history is read, as for 'specsteer write'. bm25",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 4096),
        default=400,
        show_default=True,
        help="Where a true text is cut.",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
    click.option("--specialist", type=click.Path(path_type=Path), help="A GGUF file."),
    click.option(
        "--lora",
        metavar="NAME",
        help="A personal adapter, by its name or path; 'off' for none. off",
    ),
    click.option("--generalist", type=click.Path(path_type=Path), help="A GGUF file."),
)


def texts_and_models(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say which texts are measured, and with which models."""
    for option in reversed(_TEXTS_AND_MODELS):
        command = option(command)
    return command


@dataclass(slots=True)
class Result:
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


def cases_of(
    opened: ExitStack, paths: tuple[Path, ...], options: dict[str, Any]
) -> list[Case]:
    """What is to be measured; a store stays open for the histories in it."""
    from edge_app.evaluation.eval_files import read_files
    from edge_app.evaluation.held_out import SAMPLE, YOURS, held_out
    from edge_app.evaluation.synthetic_writers import unseen_cases

    cases: list[Case] = []
    if paths:
        cases += read_files(paths, options["users"], options["queries"] or 1)
    if options["synthetic"]:
        cases += unseen_cases(options["synthetic"], options["seed"])
    if cases:
        return cases
    sample = options["sample"]
    path = sample_store_path() if sample else store_path()
    store = opened.enter_context(Store.open(path))
    if sample:
        make_ready(store)
    if not store.counts()["own"]:
        raise InvalidSettingsError(
            "there is no history yet; 'specsteer import --help' says how to give it, "
            "and --sample measures the sample letters"
        )
    count = options["queries"] or _OWN_TEXTS
    return held_out(store, count, SAMPLE if sample else YOURS)


def numbers_of(option: str, words: Sequence[str]) -> tuple[float, ...]:
    """Numbers of an option that is repeatable and takes commas, each once, in order."""
    try:
        return tuple(sorted({float(word) for word in ",".join(words).split(",")}))
    except ValueError as error:
        raise click.UsageError(f"{option} takes numbers such as 0.5,1") from error


def measuring_of(
    options: dict[str, Any], settings: Settings, strengths: Sequence[float]
) -> Measuring:
    """What is measured of each text; raises InvalidSettingsError for what cannot be."""
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.evaluation.pair import Measuring
    from edge_app.retrieval.context import PASSAGES

    for strength in strengths:
        MethodSettings(strength=strength)  # checks it
    chosen = options["personalisation"] or settings.personalisation
    personalisation.build(chosen)
    passages = options["passages"]
    return Measuring(
        strengths=tuple(strengths),
        passages=PASSAGES if passages is None else passages,
        max_tokens=options["max_tokens"],
        personalisation=chosen,
        seed=options["seed"],
    )


def models_of(options: dict[str, Any], settings: Settings) -> ServiceConfig:
    """Both models on this device; raises what `service_config` does."""
    from edge_app.commands.service_config import service_config

    return service_config(
        settings,
        server="",  # both models read here
        specialist=options["specialist"],
        generalist=options["generalist"],
        lora=options["lora"],
    )


def opened_pair(
    opened: ExitStack, models: ServiceConfig, stop: threading.Event
) -> Pair:
    """The pair, closed by who opened it; a reranker with it, by `opened`."""
    from edge_app.evaluation.pair import Pair
    from models.running.loading import load_reranker

    reranker = None
    if models.reranker is not None:
        reranker = load_reranker(models.reranker, models.engine)
        opened.callback(reranker.close)
    return Pair(
        *(models.specialist, models.generalist, models.engine, stop, reranker),
        models.adapter,
    )


def tell_what_was_learnt(cases: Sequence[Case], models: ServiceConfig) -> None:
    """Say on stderr how many of one's own texts the adapter was trained on."""
    from edge_app.evaluation.held_out import SAMPLE, YOURS

    kept = None if models.adapter is None else kept_at(models.adapter.path)
    if kept is None or kept.about is None:
        return
    about = kept.about
    here = {store_path().name: YOURS, sample_store_path().name: SAMPLE}
    learnt = [
        case
        for case in cases
        if case.group == here.get(about.store) and int(case.name) in about.texts
    ]
    if learnt:
        click.echo(
            f"the adapter {kept.name} was trained on {len(learnt)} of these "
            f"{len(cases)} texts: what those cost says nothing of others",
            err=True,
        )


def measure_all(
    pair: Pair, cases: Sequence[Case], how: Measuring, stop: threading.Event
) -> Result:
    """Measure each text, until the person stops."""
    result = Result(of=len(cases))
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


def tell_what_is_missing(result: Result) -> None:
    """Say on stderr what was not measured, and why."""
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
def evaluate_command(paths: tuple[Path, ...], **options: Any) -> None:
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
def tune_command(paths: tuple[Path, ...], **options: Any) -> None:
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
    from edge_app.config.settings import write_settings
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
            path = write_settings({f"method.{k}": v for k, v in changes.items()})
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
