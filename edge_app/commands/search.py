"""`specsteer search`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.output import heading
from edge_app.commands.progress import Progress
from edge_app.commands.selecting import condition, filtering
from edge_app.config.settings import sample_store_path, store_path
from edge_app.retrieval.context import title
from edge_app.sample.filling import make_ready
from models.lazy_commands import Command
from personal_store import Passage, Store

_EMPTY = {
    False: "there is no text of yours in the store yet: 'specsteer import --help' says "
    "how to give it some, and --sample searches the sample letters",
    True: "there is no text by others in the store: they come with the mail you import",
}
_EXCERPT = 240
_INDENT = " " * 8


@click.command("search", cls=Command)
@click.argument("query")
@click.option("--received", is_flag=True, help="Search what others wrote to you.")
@click.option("--sample", is_flag=True, help="Search the sample letters.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@filtering
@click.option("--to", "recipient", help="Rank texts to this person higher.")
@click.option("--explain", is_flag=True, help="Show what each score consists of.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def command(explain: bool, as_json: bool, **options: Any) -> None:
    """Find your own texts that match QUERY, best first.

    Words are compared as they are, in any case: "boat" does not find "boats". What
    stands in quotes is found as a phrase, and no text with a -word is shown. Texts that
    say nearly the same are shown once. With --received, what others wrote is searched
    instead; it is never imitated, but can be answered:

    \b
        specsteer search 'boat -harbour "next summer"'
        specsteer search --person Ana --since 2024-01-01 "the boat"
        specsteer search --received "invitation"
        specsteer write --reply-to 812 "Say yes, gladly"
    """
    found, held = _found(**options)
    for passage in found:
        if as_json:
            click.echo(json.dumps(asdict(passage), default=str))
        else:
            _show(passage, explain)
    if not found:
        click.echo("nothing matches" if held else _EMPTY[options["received"]], err=True)


def _found(
    query: str,
    limit: int,
    recipient: str | None,
    received: bool,
    sample: bool,
    **options: Any,
) -> tuple[list[Passage], int]:
    """The texts, and among how many was looked."""
    if received and recipient:
        raise click.UsageError("--to is for texts of yours: use --person")
    with (
        Store.open(sample_store_path() if sample else store_path()) as store,
        Progress("reading received texts") as progress,
    ):
        if sample:
            make_ready(store)
        found = store.find(
            query,
            limit=limit,
            recipient=recipient,
            which=condition(options),
            received_ones=received,
            progress=progress.show,
        )
        return found, store.counts()["received" if received else "own"]


def _show(passage: Passage, explain: bool) -> None:
    sender = f" from {passage.sender}" if passage.sender and not passage.own else ""
    named = f"{passage.score:6.2f}  {passage.record_id}  {title(passage)}{sender}"
    heading(one_line(named))
    excerpt = " ".join(one_line(passage.text).split())
    click.echo(_INDENT + excerpt[:_EXCERPT])
    if explain:  # the sum that the score is: words 5.10 (pier 3.40, photos 1.70) + ...
        words = ", ".join(f"{term} {part:.2f}" for term, part in passage.terms.items())
        parts = [
            f"words {score:.2f} ({words})"
            if name == "bm25"
            else f"{name.replace('_', ' ')} {score:.2f}"
            for name, score in passage.score_parts.items()
            if score
        ]
        click.echo(_INDENT + one_line(" + ".join(parts)))
