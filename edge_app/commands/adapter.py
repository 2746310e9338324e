"""`specsteer lab adapter`: a personal LoRA of one's own texts."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from decoding_core.errors import InvalidSettingsError, StoppedError
from decoding_core.foreign_text import one_line
from edge_app.adapters import kept
from edge_app.adapters.kept import KeptAdapter, Score
from edge_app.commands import options, terminal
from edge_app.commands.options import assume_yes, confirmed, shown_option
from edge_app.commands.terminal import STOPPED, Progress, note, stoppable
from edge_app.config.settings import read_settings, sample_store_path, store_path
from edge_app.retrieval.personalisation import without_adapter
from models.command_line import Group
from personal_store import Store
from personal_store.copies import is_encrypted

_NAME, _SAMPLE = "mine", "sample"
_WHAT_IS_READ = {
    "request": "the request alone",
    "passages": "with retrieved passages",
    "asked": "finished drafts, by your request alone",
}


@click.group("adapter", cls=Group)
def adapter_command() -> None:
    """Train the small model on your own texts, and keep what it learnt.

    An adapter is a small file beside the model: with it the small model sounds like you
    before it has read a text of yours. It is made on this device and never leaves it.

    \b
        specsteer lab adapter train
        specsteer write --lora mine --to Ana "Thank her for the photos"
        specsteer lab adapter show mine
        specsteer lab adapter remove mine
    """


@adapter_command.command("train")
@click.option(
    "--name", help=f"What to call it. {_NAME}; {_SAMPLE}; {kept.TASK} with --others"
)
@options.sample
@click.option(
    "--others",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Learn other people's texts from files as of 'lab evaluate', for the "
    "personalisations tam and pad; repeatable.",
)
@shown_option(
    "--texts",
    type=click.IntRange(1),
    default=500,
    help="How many to learn at most: the newest.",
)
@shown_option("--passes", type=int, default=5, help="How often each text is read.")
@shown_option("--rank", type=int, default=8, help="How much it can hold.")
@shown_option(
    "--reads",
    type=click.Choice(["request", "passages", "both"]),
    default="both",
    help="What stands before a text while it is learnt: the request, retrieved "
    "passages too (RAFT), or both in turn.",
)
@click.option("--device", help="Where it learns: cpu, cuda, mps, auto. auto")
@click.option("--fresh", is_flag=True, help="Delete the one of that name, begin anew.")
@options.filtering
@shown_option(
    "--held-out",
    type=click.IntRange(1),
    default=30,
    help="How many to measure with at most; never more than a fifth.",
)
@shown_option(
    "--hold-out",
    "by",
    type=click.Choice(["time", "random"]),
    default="time",
    help="Measure with the newest texts, or with some by chance.",
)
@shown_option("--rate", type=float, default=1e-3, help="How fast it learns.")
@shown_option(
    "--max-tokens",
    type=click.IntRange(1, 4096),
    default=400,
    help="Where a longer text is cut.",
)
@shown_option("--seed", type=click.IntRange(0), default=0)
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16"]),
    help="Of the model's weights; bfloat16 halves the memory. float32",
)
@click.option("--personalisation", help="How passages are found. bm25")
@options.specialist
def train_command(**chosen: Any) -> None:
    """Train an adapter on your own texts, on this device.

    Some texts are held out: what they cost before and after says what was gained.
    Ctrl-C, or a power cut, loses half a minute at most; the same command goes on. An
    adapter may hold what stands in your texts; 'specsteer forget' tells of it.

    \b
        specsteer lab adapter train
        specsteer lab adapter train --name work --person "Ana Ruiz" --since 2020-01-01
        specsteer lab adapter train --reads passages --passes 3
        specsteer lab adapter train --others histories/
    """
    # torch and llama.cpp take seconds to load, which --help does without.
    from edge_app.adapters.training import (
        TrainingPlan,
        divided,
        extra,
        of_others,
        train_adapter,
    )
    from edge_app.commands.service_config import service_config
    from models.adapters.lora import AdapterRecipe

    settings = read_settings()
    others, which = chosen["others"], options.condition(chosen)
    if others and not (which.says_nothing() and not chosen["sample"]):
        raise click.UsageError("--others excludes --sample and a choice of your texts")
    usual_name = kept.TASK if others else _SAMPLE if chosen["sample"] else _NAME
    adapter = kept.named(chosen["name"] or usual_name)
    extra()
    config = service_config(
        settings, server="", specialist=chosen["specialist"], lora=kept.OFF
    )
    usual = "float32" if settings.precision == "auto" else settings.precision
    plan = TrainingPlan(
        config.specialist,
        AdapterRecipe(
            rank=chosen["rank"],
            alpha=2.0 * chosen["rank"],
            passes=chosen["passes"],
            rate=chosen["rate"],
            seed=chosen["seed"],
            precision=chosen["precision"] or usual,
        ),
        chosen["reads"],
        without_adapter(chosen["personalisation"] or settings.personalisation),
        chosen["max_tokens"],
        chosen["device"] or settings.device,
        config.engine,
    )
    path = sample_store_path() if chosen["sample"] else store_path()
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        opened.enter_context(kept.training_alone(adapter))
        if chosen["fresh"]:
            adapter = adapter.emptied()
        elif adapter.usable:
            raise InvalidSettingsError(
                f"there is an adapter '{adapter.name}' already: --fresh trains it "
                "anew, --name gives another name"
            )
        counts, seed = (chosen["texts"], chosen["held_out"]), chosen["seed"]
        if others:
            texts = of_others(others, *counts, seed)
        else:
            store = opened.enter_context(options.opened_store(chosen["sample"]))
            only = None if which.says_nothing() else frozenset(which.find(store.db))
            texts = divided(store, only, *counts, chosen["by"], seed)
        if not others and is_encrypted(path):
            note(
                "your store is encrypted, an adapter is not: whoever can read its file "
                "may learn from it what your texts say"
            )
        try:
            with Progress("learning") as progress:
                adapter = train_adapter(
                    *(plan, texts, adapter, kept.OTHERS if others else path.name),
                    notice=note,
                    progress=progress.show,
                    stop=stop,
                )
        except StoppedError as error:
            note(str(error))
            sys.exit(STOPPED)
    _show(adapter)
    if others:
        lora = "" if adapter.name == kept.TASK else f" --lora {adapter.name}"
        note(f"'specsteer write --personalisation tam{lora}' uses it, or pad for tam")
        return
    note(
        f"'specsteer write --lora {adapter.name}' uses it; the line lora = "
        f'"{adapter.name}" in settings.toml makes that usual'
    )


@adapter_command.command("list")
@options.json_lines
def list_command(as_json: bool) -> None:
    """List your adapters, and trainings that are not finished."""
    found = kept.kept_adapters()
    for one in found:
        if as_json:
            terminal.echo_json(_as_object(one))
        else:
            click.echo(f"{one.name}: {_in_a_line(one)}")
    if not found and not as_json:
        note("there are none; 'specsteer lab adapter train' makes one")


@adapter_command.command("show")
@click.argument("name")
@options.as_json
def show_command(name: str, as_json: bool) -> None:
    """Show what an adapter was made of, and what it is worth."""
    adapter = _there(name)
    if as_json:
        terminal.echo_json(_as_object(adapter))
    else:
        _show(adapter)


@adapter_command.command("remove")
@click.argument("name")
@assume_yes
def remove_command(name: str, yes: bool) -> None:
    """Delete an adapter, or an unfinished training."""
    adapter = _there(name)
    confirmed(f"Delete the adapter '{adapter.name}'?", yes=yes)
    adapter.remove()
    note(f"the adapter '{adapter.name}' is deleted")
    if read_settings().lora == adapter.name:
        note(f'settings.toml still names it: set lora to "{kept.OFF}", or take it out')


def _there(name: str) -> KeptAdapter:
    adapter = kept.named(name)
    if not adapter.folder.is_dir():
        raise InvalidSettingsError(
            f"there is no adapter '{adapter.name}'; 'specsteer lab adapter list' shows "
            "yours"
        )
    return adapter


def _in_a_line(adapter: KeptAdapter) -> str:
    about = adapter.about
    if about is None:
        return "cannot be read; 'specsteer lab adapter remove' deletes it"
    texts = terminal.counted(about.trained_on, "text")
    words = f"{texts}, {about.created[:10]}, {one_line(about.specialist)}"
    if not about.finished:
        return f"not finished: {words}; 'specsteer lab adapter train' goes on with it"
    score = about.scores.get("passages") or about.scores.get("request")
    return words if score is None else f"{words}, {_change(score, about.held_out)}"


def _show(adapter: KeptAdapter) -> None:
    about = adapter.about
    click.echo(f"{adapter.name}: {_in_a_line(adapter)}")
    if about is None or not about.finished:
        return
    for name, score in about.scores.items():
        count = about.held_out if score.texts is None else score.texts
        click.echo(
            f"  {count} held-out texts, {_WHAT_IS_READ[name]}: "
            f"{score.before:.3f} nats a token before, {score.after:.3f} after, "
            f"{_change(score, count)}"
        )
    recipe = about.recipe
    click.echo(
        f"  trained for {about.seconds:,.0f} s; reads {about.reads}, rank "
        f"{recipe['rank']}, {recipe['passes']} passes; {adapter.weights}"
    )
    if about.store == kept.OTHERS:
        return
    samples = about.store == sample_store_path().name
    path, gone = sample_store_path() if samples else store_path(), about.trained_on
    if path.exists():
        with Store.open(path) as store:
            gone = about.forgotten + len(about.texts.keys() - store.kinds().keys())
    if gone:
        texts = "1 of its texts is" if gone == 1 else f"{gone} of its texts are"
        click.echo(
            f"  {texts} no longer in your store: train anew with --fresh, or remove it"
        )


def _change(score: Score, texts: int) -> str:
    """Such as: -12.3 % (-15.0 to -9.1)."""
    from edge_app.evaluation.figures import FEWEST_UNITS

    value = f"{100 * (score.after / score.before - 1):+.1f} %"
    if score.low is None or score.high is None:
        return value
    verdict = "" if score.low > 0 or score.high < 0 else ", which may be chance"
    if texts < FEWEST_UNITS:
        verdict = ", of too few texts to tell"
    return f"{value} ({100 * score.low:+.1f} to {100 * score.high:+.1f}){verdict}"


def _as_object(adapter: KeptAdapter) -> dict[str, Any]:
    """An adapter as JSON, without the hashes of its texts."""
    body: dict[str, Any] = {"name": adapter.name, "folder": str(adapter.folder)}
    if adapter.about is not None:
        about = asdict(adapter.about)
        del about["key"]
        body |= about | {"texts": sorted(adapter.about.texts)}
    return body
