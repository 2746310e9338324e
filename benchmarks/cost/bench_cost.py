"""The command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.cost import report
from benchmarks.cost.acceptance import measured
from benchmarks.cost.operations import Text
from benchmarks.cost.shapes import ShapedPair, published, shape_of
from benchmarks.cost.traffic import Written, traffic
from benchmarks.options import NEW_FILE
from decoding_core.errors import DecodingError, InvalidSettingsError
from decoding_core.settings import MethodSettings
from edge_app.commands.progress import Progress
from models.files import find, locate
from models.lazy_commands import Command
from models.running.settings import usable_cores

_HISTORIES = "0,500,1000,2000,5000,10000"
_THRESHOLDS = "1,0.5,0.1,0.01"
_PATH = click.Path(path_type=Path)


Callback = Callable[[click.Context, click.Parameter, str | None], Any]


def _numbers(kind: type[int] | type[float]) -> Callback:
    """Reads numbers from 0 on, with commas between them."""

    def read(_: click.Context, __: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            numbers = tuple(kind(word) for word in value.split(","))
        except ValueError as error:
            raise click.BadParameter(
                f"'{value}' is no list of numbers such as 1,10"
            ) from error
        if not all(0 <= number < float("inf") for number in numbers):
            raise click.BadParameter("numbers count from 0")
        return numbers

    return read


@click.command("cost", cls=Command)
@click.option(
    "--pair", type=click.Choice(sorted(published())), help="Published shapes."
)
@click.option(
    "--specialist", type=_PATH, help="A GGUF file; default: the embedded one."
)
@click.option(
    "--generalist", type=_PATH, help="A GGUF file; default: the embedded one."
)
@click.option(
    "--history",
    "histories",
    callback=_numbers(int),
    default=_HISTORIES,
    show_default=True,
    help="Tokens of history.",
)
@click.option(
    "--tokens",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Tokens written.",
)
@click.option(
    "--request",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Tokens of the public prompt.",
)
@click.option(
    "--draft-length",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="Tokens drafted at a time.",
)
@click.option(
    "--candidates", type=click.IntRange(1), default=100, show_default=True, help="K."
)
@click.option(
    "--base",
    type=click.Choice(["cloud", "edge"]),
    default="cloud",
    show_default=True,
    help="Where the base runs.",
)
@click.option(
    "--threshold",
    "thresholds",
    callback=_numbers(float),
    default=_THRESHOLDS,
    show_default=True,
    help="Thresholds of steering.",
)
@click.option(
    "--accepted",
    callback=_numbers(float),
    help="Shares of drafts kept, one for each threshold; default: those published, or "
    "measured with the models.",
)
@click.option(
    "--writers",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Requests that are written to measure the shares.",
)
@click.option(
    "--count",
    type=click.Choice(["tokens", "passes", "published"]),
    default="tokens",
    show_default=True,
    help="Every token that is read, prompts too; or one token's work for each pass; or "
    "that as the paper's table has it, with its bonus.",
)
@click.option(
    "--threads", type=click.IntRange(1), default=usable_cores(), help="Of each model."
)
@click.option("--markdown", is_flag=True, help="Tables in Markdown.")
@click.option("--json", "json_file", type=NEW_FILE, help="Write all figures there too.")
@click.option(
    "--plot", "picture", type=NEW_FILE, help="Draw the operations, .svg or .png."
)
def command(**options: Any) -> None:
    """Count what a text costs: operations and bytes.

    Operations of both models for 100 tokens, against the length of the history: of the
    large model that reads the history, and of steering, where the small one does. Then
    the bytes that each method sends and receives for a token.

    Shapes are read from the files, or are published ones:

    \b
        specsteer lab bench cost --pair qwen3-0.6b/32b
        specsteer lab bench cost --threshold 1,0.5 --accepted 0.4,0.6
    """
    try:
        _run(options)
    except DecodingError as error:
        raise click.ClickException(str(error)) from error


def _run(options: dict[str, Any]) -> None:
    text = Text(
        options["tokens"],
        options["request"],
        options["draft_length"],
        options["count"],
        bonus=options["count"] == "published",
    )
    given = options["specialist"], options["generalist"]
    files = None
    if options["pair"]:
        if any(given):
            raise InvalidSettingsError("--pair names shapes; leave the files out")
        pair = published()[options["pair"]]
    else:
        small = find(given[0]) if given[0] else locate("specialist")
        large = find(given[1]) if given[1] else locate("generalist")
        files, name = (small, large), f"{small.name}/{large.name}"
        pair = ShapedPair(name, "the files", shape_of(small), shape_of(large), {})
    accepted = _accepted(options, pair, files)
    found = report.lines(pair, text, options["histories"], accepted)

    settings = MethodSettings(candidates=options["candidates"], base=options["base"])
    usual = settings.threshold
    share = accepted[float(usual if usual in accepted else next(iter(accepted)))]
    history = max(options["histories"])
    written = Written(text, history, share, pair.generalist.vocabulary)
    sent = traffic(settings, written)

    form = report.markdown if options["markdown"] else report.plain
    click.echo(form(report.operations_table(found, accepted)) + "\n")
    click.echo(form(report.traffic_table(sent, text.tokens)))
    counted = {
        "tokens": "Every token that a model reads is counted, prompts and refused "
        "drafts too.",
        "passes": "Prompts are not counted, and a pass over a block counts as one "
        "token.",
        "published": "Prompts are not counted, a pass over a block counts as one "
        "token, and a weight as one operation; a full block is followed by a bonus.",
    }[text.count]
    legend = (
        f"{text.tokens} tokens, {text.request} of request, {text.draft_length} "
        f"drafted at a time. {counted} Steering is what device and server do "
        f"together. Bytes: with {share:.0%} of drafts kept by every method, and "
        "without what HTTP and WebSocket add; the opening carries the request, "
        f"and for generalist_with_history {history} tokens of history."
    )
    click.echo("\n" + click.wrap_text(legend, 80), err=True)
    if options["json_file"]:
        asked = {"candidates": options["candidates"], "base": options["base"]}
        asked |= {"share in bytes": share, "history in bytes": history}
        body = report.as_json(pair, text, accepted, found, sent, asked)
        options["json_file"].write_text(json.dumps(body, indent=1) + "\n")
    if options["picture"]:
        from benchmarks.cost.plot import plot

        plot(found, f"{pair.name}, {text.tokens} tokens", options["picture"])


def _accepted(
    options: dict[str, Any], pair: ShapedPair, files: tuple[Path, Path] | None
) -> Mapping[float, float]:
    """Share of drafted tokens kept, by threshold: given, published or measured."""
    thresholds, given = options["thresholds"], options["accepted"]
    if given is not None:
        if len(given) != len(thresholds) or max(given) > 1.0:
            raise InvalidSettingsError(
                "--accepted takes a share from 0 to 1 for each of --threshold"
            )
        return dict(zip(thresholds, given, strict=True))
    if files is None:
        unknown = [limit for limit in thresholds if limit not in pair.accepted]
        if unknown:
            raise InvalidSettingsError(
                f"no share of drafts kept is published for {pair.name} at "
                f"{unknown[0]:g}; give the shares with --accepted"
            )
        return {limit: pair.accepted[limit] for limit in thresholds}
    with Progress("measuring the share of drafts kept") as progress:
        return measured(
            *files,
            thresholds,
            writers=options["writers"],
            tokens=options["tokens"],
            draft_length=options["draft_length"],
            threads=options["threads"],
            told=progress.show,
        )
