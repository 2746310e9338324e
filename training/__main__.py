"""`python -m training STEP --scale NAME`: make the embedded pair again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import click
import numpy as np

from decoding_core.errors import DecodingError, ModelNotFoundError, StoppedError
from decoding_core.foreign_text import gate_output
from training import config, parent, rows, tokenizer
from training.config import Recipe
from training.drafts import Drafter
from training.export import export
from training.learning import Machine
from training.run import load, train

STEPS = ("tokenizer", "data", "train", "export", "all")
MODELS = "generalist", "specialist"
"""In the order they are made: the first teaches the second."""
_INTERRUPTED = 130


@click.command()
@click.argument("step", type=click.Choice(STEPS))
@click.option("--scale", type=click.Choice(config.SCALES), default="full")
@click.option(
    "--model",
    "only",
    type=click.Choice(MODELS),
    help="One model, not all of them.",
)
@click.option("--work", type=click.Path(path_type=Path), help="Folder of work files.")
@click.option(
    "--into", type=click.Path(path_type=Path), help="Folder of the GGUF files."
)
@click.option("--device", default="cpu", help="What torch computes on: cpu or cuda.")
@click.option("--threads", default=0, help="Threads of a CPU; 0: torch's own choice.")
@click.option("--compile", "compiled", is_flag=True, help="Let torch compile first.")
def main(
    step: str,
    scale: str,
    only: str | None,
    work: Path | None,
    into: Path | None,
    device: str,
    threads: int,
    compiled: bool,
) -> None:
    """Make the embedded pair again, or one STEP of it.

    A step that was interrupted goes on where it was; delete the work folder to begin
    anew. At full scale the specialist goes on from what it was before, and the GGUF
    files replace those in models/embedded.

    `all` is the other steps, in their order.
    """
    try:
        plans = [
            config.recipe(name, scale, work) for name in MODELS if only in (None, name)
        ]
        target = into or (config.EMBEDDED if scale == "full" else plans[0].work)
        take(step, plans, target, Machine(device, threads, compiled))
    except StoppedError as error:
        click.echo(str(error), err=True)
        raise SystemExit(_INTERRUPTED) from error
    except DecodingError as error:
        raise click.ClickException(str(error)) from error


def take(step: str, plans: list[Recipe], target: Path, machine: Machine) -> None:
    """Take one step for each of these models, or all that make them."""
    if step in ("tokenizer", "all"):
        make_tokenizer(plans[0])
    for plan in plans:
        if step in ("data", "all"):
            make_rows(plan)
        if step in ("train", "all"):
            make_weights(plan, machine)
        if step in ("export", "all"):
            make_file(plan, target)


def make_tokenizer(plan: Recipe) -> None:
    """Take over the vocabulary of the pair as it was, or learn one, unless it is there:
    a new one would need new models."""
    if not plan.vocabulary.exists() and plan.scale == config.SCALES[0]:
        was = parent.read(parent.before(plan.work))
        tokenizer.save(was.tokens, was.merges, plan.vocabulary)
    elif not plan.vocabulary.exists():
        texts = tokenizer.texts_of(_data(), plan.mixture.shards)
        tokenizer.train_on(texts, plan.vocabulary, plan.shape.vocabulary)
    click.echo(f"vocabulary: {plan.vocabulary}")


def make_rows(plan: Recipe) -> None:
    """Build the training rows, unless they are there."""
    if not plan.rows_file.exists():
        vocabulary = tokenizer.Vocabulary(_existing(plan.vocabulary))
        drafter = None
        if plan.mixture.drafted:
            was = parent.before(plan.work)
            drafter = Drafter(was, vocabulary, plan.mixture.seed)
        made: dict[str, Any] = dict(
            rows.build(_data(), vocabulary, plan.mixture, drafter)
        )
        np.savez(plan.rows_file, **made)
    click.echo(f"rows: {plan.rows_file}")


def make_weights(plan: Recipe, machine: Machine) -> None:
    """Train, from the last checkpoint if there is one."""
    _existing(plan.vocabulary)
    _existing(plan.rows_file)
    weights = train(plan, machine)
    click.echo(f"weights: {weights}; losses: {plan.losses}")


def make_file(plan: Recipe, target: Path) -> None:
    """Export the latest checkpoint as a quantised GGUF file."""
    weights = load(_existing(plan.checkpoint))["network"]
    path = target / f"{plan.name}.gguf"
    export(plan, weights, path)
    click.echo(f"model: {path}, {path.stat().st_size / 1e6:.1f} MB")
    if target == config.EMBEDDED:
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        click.echo(f"sha256 {checksum}: models/catalogue.toml must name it")


def _data() -> Path:
    folder = config.data_folder()
    if not (folder / "train").is_dir():
        raise ModelNotFoundError(
            f"no training texts in {folder}: set SPECSTEER_DATA to their folder"
        )
    return folder


def _existing(path: Path) -> Path:
    if not path.exists():
        raise ModelNotFoundError(f"{path} is not there: run the steps before this one")
    return path


if __name__ == "__main__":
    gate_output()
    main()
