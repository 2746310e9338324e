"""`python -m models.training STEP --scale full|tiny`: make the embedded pair again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click
import numpy as np

from decoding_core.errors import DecodingError, ModelNotFoundError
from models.training import config, data, tokenizer
from models.training.config import Recipe

STEPS = ("tokenizer", "data", "train", "export", "all", "evaluate")
MODELS = ("specialist", "generalist")  # the second may grow from the first


@click.command()
@click.argument("step", type=click.Choice(STEPS))
@click.option("--scale", type=click.Choice(("full", "tiny")), default="full")
@click.option(
    "--model", "only", type=click.Choice(MODELS), help="One model of the pair."
)
@click.option("--work", type=click.Path(path_type=Path), help="Folder of work files.")
@click.option(
    "--into", type=click.Path(path_type=Path), help="Folder of the GGUF files."
)
@click.option("--device", default="cpu", help="What torch computes on: cpu or cuda.")
def main(
    step: str,
    scale: str,
    only: str | None,
    work: Path | None,
    into: Path | None,
    device: str,
) -> None:
    """Make the embedded pair again, or one STEP of it.

    A step that was interrupted goes on where it was; delete the work folder to begin
    anew. At full scale the GGUF files replace those in models/embedded.
    """
    plans = [config.recipe(n, scale, work) for n in MODELS if only in (None, n)]
    target = into or (config.EMBEDDED if scale == "full" else plans[0].work)
    try:
        if step in ("tokenizer", "all"):
            make_tokenizer(plans[0])
        for plan in plans:
            if step in ("data", "all"):
                make_rows(plan)
            if step in ("train", "all"):
                make_weights(plan, device)
            if step in ("export", "all"):
                make_file(plan, target)
            if step == "evaluate":
                show_worth(plan)
    except DecodingError as error:
        raise click.ClickException(str(error)) from error


def vocabulary_file(plan: Recipe) -> Path:
    """Where the pair's one vocabulary is kept."""
    return plan.work / "tokenizer.json"


def make_tokenizer(plan: Recipe) -> None:
    """Learn the vocabulary, unless it is there: a new one would need new models."""
    path = vocabulary_file(plan)
    if not path.exists():
        shards = plan.mixture.shards
        tokenizer.train(_data(), path, plan.shape.vocabulary, shards)
    click.echo(f"vocabulary: {path}")


def make_rows(plan: Recipe) -> None:
    """Build the training rows, unless they are there."""
    if not plan.rows_file.exists():
        vocabulary = tokenizer.Vocabulary(_existing(vocabulary_file(plan)))
        rows, long_rows = data.build(_data(), vocabulary, plan.mixture)
        np.savez(plan.rows_file, rows=rows, long=long_rows)
    click.echo(f"rows: {plan.rows_file}")


def make_weights(plan: Recipe, device: str) -> None:
    """Train, from the last checkpoint if there is one."""
    from models.training.train import train

    _existing(plan.rows_file)
    click.echo(f"weights: {train(plan, device)}; losses: {plan.losses}")


def make_file(plan: Recipe, target: Path) -> None:
    """Export the latest checkpoint as a quantised GGUF file."""
    from models.training.export import export
    from models.training.train import load

    weights = load(_existing(plan.checkpoint))["network"]
    path = target / f"{plan.name}.gguf"
    export(plan.name, plan.shape, weights, vocabulary_file(plan), path)
    click.echo(f"model: {path}, {path.stat().st_size / 1e6:.1f} MB")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    click.echo(f"sha256 {checksum}: models/catalogue.toml must name it")


def show_worth(plan: Recipe) -> None:
    """Print what history is worth to a model: nats per byte without and with it."""
    from models.training.evaluate import report

    _existing(plan.checkpoint)
    vocabulary = tokenizer.Vocabulary(_existing(vocabulary_file(plan)))
    for line in report(plan, vocabulary, config.data_folder()):
        click.echo(line)


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
    main()
