"""`specsteer search`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from edge_app.commands.output import may_style, printable
from edge_app.context import title
from edge_app.sample_store import fill
from edge_app.settings import sample_store_path, store_path
from personal_store import Store

_EXCERPT = 240


@click.command("search")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option("--kind", help="Rank email, review, post or note higher.")
@click.option("--to", "recipient", help="Rank texts to this person higher.")
@click.option("--sample", is_flag=True, help="Search the sample letters.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def command(
    query: str,
    limit: int,
    kind: str | None,
    recipient: str | None,
    sample: bool,
    as_json: bool,
) -> None:
    """Find your own texts that match QUERY, best first."""
    with Store.open(sample_store_path() if sample else store_path()) as store:
        if sample and not store.counts()["own"]:
            fill(store)
        found = store.search(query, limit=limit, kind=kind, recipient=recipient)
    for passage in found:
        if as_json:
            click.echo(json.dumps(asdict(passage), default=str))
            continue
        heading = f"{passage.score:6.2f}  {printable(title(passage))}"
        click.secho(heading, bold=may_style() or None)
        excerpt = " ".join(printable(passage.text).split())
        click.echo("        " + excerpt[:_EXCERPT])
    if not found:
        click.echo("nothing matches", err=True)
