"""What `evaluate` and `tune` share: which texts are measured, with which models."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
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
from edge_app.adapters.kept import kept_at
from edge_app.commands.progress import Progress
from edge_app.config.settings import Settings, sample_store_path, store_path
from edge_app.retrieval import personalisation
from edge_app.sample.filling import make_ready
from personal_store import Store

if TYPE_CHECKING:
    from edge_app.evaluation.cases import Case
    from edge_app.evaluation.pair import Measured, Measuring, Pair
    from edge_app.service.requests import ServiceConfig

STOPPED = 130
"""Exit status of a run that was stopped."""
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
