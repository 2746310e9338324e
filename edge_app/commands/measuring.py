"""`specsteer lab evaluate` and `tune`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError, InvalidSettingsError, StoppedError
from decoding_core.foreign_text import legible
from decoding_core.settings import START, MethodSettings
from edge_app.adapters.kept import kept_at
from edge_app.commands import options, terminal
from edge_app.commands.service_config import config_of
from edge_app.commands.terminal import STOPPED, Progress, note, stoppable
from edge_app.config.settings import (
    Settings,
    read_settings,
    sample_store_path,
    store_path,
    write_settings,
)
from edge_app.retrieval import personalisation
from models.command_line import Command

if TYPE_CHECKING:
    from edge_app.evaluation.cases import Case
    from edge_app.evaluation.pair import Measured, Measuring
    from edge_app.service.requests import ServiceConfig

_OWN_TEXTS = 10  # how many of each kind are held out of one's own store
_STRENGTHS, _THRESHOLDS = "0.25,0.5,0.75,1,1.5,2", "1,0.5,0.2,0.1,0.05,0.01"
_COUNT = click.IntRange(1)


def _numbers(name: str, several: str, usual: str) -> Callable[[Any], Any]:
    """A repeatable option of numbers that takes commas; each number once, in order."""

    def read(_: object, __: object, words: Sequence[str]) -> tuple[float, ...]:
        try:
            every = ",".join(words or (usual,)).split(",")
            return tuple(sorted({float(word) for word in every}))
        except ValueError as error:
            raise click.UsageError(f"--{name} takes numbers such as 0.5,1") from error

    return click.option(
        f"--{name}",
        f"{name}s",
        multiple=True,
        metavar="NUMBERS",
        callback=read,
        help=f"{several}; repeatable, or with commas. {usual}",
    )


_measured = options.with_options(
    click.option(
        "--json",
        "json_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write all settings and figures there too.",
    ),
    click.argument(
        "paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]..."
    ),
    options.sample,
    click.option("--users", type=_COUNT, metavar="N", help="The first N of each file."),
    click.option(
        "--queries",
        type=_COUNT,
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
    options.specialist,
    options.lora,
    click.option("--generalist", type=click.Path(path_type=Path), help="A GGUF file."),
)
"""Gives a command the options for the texts, the models and the prompts."""


@dataclass(slots=True)
class Result:
    """What was measured, also in a run that was stopped."""

    how: Measuring
    models: dict[str, Path]
    of: int  # how many texts there were
    measured: list[Measured] = field(default_factory=list)
    crowded: int = 0  # texts whose request left no room for them

    @property
    def complete(self) -> bool:
        """Whether nothing stopped it."""
        return len(self.measured) + self.crowded == self.of


@click.command("evaluate", cls=Command)
@click.option(
    "--synthetic",
    type=_COUNT,
    metavar="N",
    help="Measure N invented writers that no training has met.",
)
@_numbers("strength", "Strengths of steering", _STRENGTHS)
@click.option("--wide", is_flag=True, help="Every strength, interval and share kept.")
@click.option("--markdown", is_flag=True, help="One table in Markdown.")
@_measured
def evaluate_command(**chosen: Any) -> None:
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
    paths = chosen["paths"]
    if chosen["sample"] and (paths or chosen["synthetic"]):
        raise click.UsageError("--sample excludes PATH and --synthetic")
    if chosen["wide"] and chosen["markdown"]:
        raise click.UsageError("--wide and --markdown exclude each other")
    result = _measure(chosen, read_settings(), chosen["strengths"])
    if result.measured:
        _show(result, chosen)
    if not result.complete:
        sys.exit(STOPPED)


def _show(result: Result, chosen: dict[str, Any]) -> None:
    from edge_app.evaluation import tables
    from edge_app.evaluation.figures import summarise

    groups = summarise(result.measured, result.how, chosen["seed"])
    form = tables.markdown if chosen["markdown"] else tables.plain
    click.echo(legible(form(groups)))
    if chosen["wide"]:
        click.echo("\n" + legible(tables.wide(groups)))
    if not chosen["paths"] and not chosen["synthetic"]:
        click.echo("\n" + click.wrap_text(tables.in_words(groups[-1]), 80))
    note("\n" + click.wrap_text(tables.LEGEND, 80))
    if chosen["json_file"] is not None:
        names = ("users", "queries", "synthetic", "seed", "sample")
        run = {name: chosen[name] for name in names}
        run |= {"paths": list(map(str, chosen["paths"])), "texts": result.of}
        run |= {"left out": result.crowded, "complete": result.complete}
        models = result.models
        body = tables.document(result.measured, groups, result.how, models, run)
        tables.write(chosen["json_file"], body)


@click.command("tune", cls=Command)
@_numbers("strength", "Strengths to try", _STRENGTHS)
@_numbers("threshold", "Thresholds to try", _THRESHOLDS)
@click.option("--write", is_flag=True, help="Put the choice into settings.toml.")
@_measured
def tune_command(**chosen: Any) -> None:
    """Find the strength and the threshold that suit your own texts.

    The last texts in your store are held out, as 'specsteer lab evaluate' does, and
    each strength and threshold is tried on them. What is set now is changed for what is
    clearly better, and never for what may be chance; and only with --write.

    \b
        specsteer lab tune
        specsteer lab tune --queries 30 --write
        specsteer lab tune --sample --strength 0.5,1,2
    """
    if chosen["sample"] and chosen["paths"]:
        raise click.UsageError("--sample excludes PATH")
    if chosen["sample"] and chosen["write"]:
        raise click.UsageError("--write is for your own texts, not for the sample")
    settings = read_settings()
    now = settings.method
    strengths = sorted({*chosen["strengths"], now.strength})
    thresholds = sorted({*chosen["thresholds"], _threshold(now)}, reverse=True)
    result = _measure(chosen, settings, strengths, thresholds)
    if result.measured:
        _conclude(result, now, chosen)
    if not result.complete:
        sys.exit(STOPPED)


def _threshold(now: MethodSettings) -> float:
    """The threshold that is set; the first one tried if it is automatic."""
    return START if now.threshold == "auto" else now.threshold


def _conclude(result: Result, now: MethodSettings, chosen: dict[str, Any]) -> None:
    from edge_app.evaluation import tables
    from edge_app.evaluation.figures import tune

    how, automatic = result.how, now.threshold == "auto"
    found = tune(result.measured, how, now.strength, _threshold(now), chosen["seed"])
    width = shutil.get_terminal_size().columns
    look = partial(terminal.styled, look=terminal.CYAN) if terminal.may_style() else str
    for curve in (found.strength, found.threshold):
        terminal.echo_ours(tables.curve_table(curve, width, "#", look) + "\n")
    for sentence in tables.choice_in_words(found, automatic=automatic):
        click.echo(click.wrap_text(sentence, min(width, 80)))
    note("\n" + click.wrap_text(tables.TUNE_LEGEND, min(width, 80)))
    if chosen["json_file"] is not None:
        files = {role: tables.file_of(path) for role, path in result.models.items()}
        body = {
            "settings": {**asdict(how), "texts": result.of, "left out": result.crowded},
            "complete": result.complete,
            "models": files,
            **asdict(found),
        }
        tables.write(chosen["json_file"], body)
    if not chosen["write"]:
        return
    curves = (found.strength,) if automatic else (found.strength, found.threshold)
    changes = {one.name: one.chosen for one in curves if one.chosen != one.now}
    if not result.complete:
        note("nothing is written: not all texts were measured")
    elif not changes:
        note("nothing is written: both settings are kept")
    else:
        path = write_settings({f"method.{name}": v for name, v in changes.items()})
        named = ", ".join(f"{name} = {value:g}" for name, value in changes.items())
        note(f"written to {path}: {named}")


def _measure(
    chosen: dict[str, Any],
    settings: Settings,
    strengths: Sequence[float],
    thresholds: Sequence[float] | None = None,
) -> Result:
    """Measure each text until the person stops; raises UsageError for wrong options."""
    file, reads = chosen["json_file"], chosen["personalisation"]
    if chosen["users"] and not chosen["paths"]:
        raise click.UsageError("--users is for files: give a PATH")
    if file is not None and not file.parent.is_dir():
        raise InvalidSettingsError(f"there is no folder {file.parent} for {file.name}")
    for strength in strengths:
        MethodSettings(strength=strength)  # checks it
    for threshold in thresholds or ():
        MethodSettings(threshold=threshold)
    reads = reads or settings.personalisation
    personalisation.check(reads)
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.evaluation.pair import THRESHOLDS, Measuring, Pair
    from edge_app.retrieval.context import PASSAGES
    from models.running.loading import load_reranker

    how = Measuring(
        strengths=tuple(strengths),
        thresholds=tuple(thresholds or THRESHOLDS),
        passages=PASSAGES if chosen["passages"] is None else chosen["passages"],
        max_tokens=chosen["max_tokens"],
        personalisation=reads,
        seed=chosen["seed"],
    )
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        names = ("paths", "sample", "users", "queries", "synthetic", "seed")
        cases = cases_of(opened, **{n: chosen[n] for n in names if n in chosen})
        settings = replace(settings, personalisation=reads)
        models = config_of(settings, {**chosen, "server": "", "sample": False})
        wears = reads in personalisation.WEARING
        adapters = (None, models.adapter) if wears else (models.adapter, None)
        _warn_of_learnt_texts(cases, models)
        reranker = None
        if models.reranker is not None:
            reranker = load_reranker(models.reranker, models.engine)
            opened.callback(reranker.close)
        pair = Pair(
            *(models.specialist, models.generalist, models.engine, stop),
            *(reranker, *adapters),
        )
        opened.enter_context(closing(pair))
        files = {"specialist": models.specialist, "generalist": models.generalist}
        result = Result(how, files, len(cases))
        progress = opened.enter_context(Progress("measuring"))
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
    if result.crowded:
        note(
            f"{result.crowded} of {result.of} texts are left out: their request and "
            "notes leave no room for the text; a lower --max-tokens makes some"
        )
    if not result.complete:
        note(f"stopped after {len(result.measured)} of {result.of} texts")
    if result.crowded and result.crowded == result.of:
        raise ContextFullError("no text was measured")
    return result


def cases_of(
    opened: ExitStack,
    paths: tuple[Path, ...] = (),
    *,
    sample: bool = False,
    users: int | None = None,
    queries: int | None = None,
    synthetic: int | None = None,
    seed: int = 0,
) -> list[Case]:
    """The texts to measure; the store of the histories in it is closed by `opened`."""
    from edge_app.evaluation import cases as of

    cases: list[Case] = []
    if paths:
        cases += of.read_files(paths, users, queries or 1)
    if synthetic:
        cases += of.unseen_cases(synthetic, seed)
    if cases:
        return cases
    store = opened.enter_context(options.opened_store(sample))
    if not store.counts()["own"]:
        raise InvalidSettingsError(
            "there is no history yet; 'specsteer import --help' says how to give it, "
            "and --sample measures the sample letters"
        )
    return of.held_out(store, queries or _OWN_TEXTS, of.SAMPLE if sample else of.YOURS)


def _warn_of_learnt_texts(cases: Sequence[Case], models: ServiceConfig) -> None:
    """Say on stderr how many of one's own texts the adapter was trained on."""
    from edge_app.evaluation.cases import SAMPLE, YOURS

    kept = None if models.adapter is None else kept_at(models.adapter.path)
    if kept is None or kept.about is None:
        return
    texts, groups = kept.about.texts, {store_path().name: YOURS}
    group = (groups | {sample_store_path().name: SAMPLE}).get(kept.about.store)
    learnt = sum(case.group == group and int(case.name) in texts for case in cases)
    if learnt:
        note(
            f"the adapter {kept.name} was trained on {learnt} of these "
            f"{len(cases)} texts: what those cost says nothing of others"
        )
