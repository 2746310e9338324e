"""`specsteer sent`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.vocabularies import detokenizers
from edge_app.config.settings import ledger_path, store_path
from edge_app.privacy.ledger import read_spent, spent_path
from edge_app.privacy.reading import (
    Sending,
    in_words,
    last_text,
    plain,
    sendings,
)
from models.lazy_commands import Command


@click.command("sent", cls=Command)
@click.option("--last", is_flag=True, help="Only the last text.")
@click.option("--brief", is_flag=True, help="A line for each message, without words.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--bytes", "with_bytes", is_flag=True, help="Show every byte, in hex.")
def command(last: bool, brief: bool, as_json: bool, with_bytes: bool) -> None:
    """Show what left this device: every message, counted where it met the socket.

    Below each stands what it said, decoded from its bytes with the words of the model
    that the text was begun with: your request, what was settled, and what was drafted,
    refused words too; then what the server decided, and what it cost of the privacy
    budget. A word that stands for one that was held back is told with its kind.

    \b
        specsteer sent --last
        specsteer sent --brief
        specsteer sent --last --bytes
    """
    found = sendings(ledger_path(), store_path())
    found = list(last_text(found)) if last else found
    wanted = {one.vocabulary_id for one in found if one.vocabulary_id}
    with detokenizers(() if brief else wanted) as known:
        for sending in found:
            detokenize = known.get(sending.vocabulary_id)
            if as_json:
                body = asdict(sending.entry) | {"payload": sending.entry.payload.hex()}
                del body["line"]
                click.echo(json.dumps(body | plain(sending, detokenize)))
                continue
            click.echo(_line(sending))
            if not brief and detokenize is not None:
                for name, words in in_words(sending, detokenize).items():
                    click.echo(f"    {name:12}  {one_line(_quoted(name, words))}")
            if with_bytes and sending.entry.payload:
                click.echo(sending.entry.payload.hex(" "))
    if not as_json:
        total = sum(sending.entry.size for sending in found)
        said = f"{len(found)} requests, {total:,} bytes in all"
        nats = [sending.nats for sending in found if sending.nats is not None]
        if nats:
            said += f", {sum(nats):.1f} nats of your history"
        click.echo(said, err=True)
        today = datetime.now().astimezone().date().isoformat()
        told = read_spent(spent_path(ledger_path())).get(today, {})
        for server, nats_today in told.items():
            line = f"told {server} today: {nats_today:.1f} nats of your history"
            click.echo(one_line(line), err=True)


def _line(sending: Sending) -> str:
    entry = sending.entry
    try:
        when = f"{datetime.fromtimestamp(entry.time).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        when = "at no known time   "  # somebody edited the ledger
    count = len(entry.token_ids)
    ids = f"{count} token id{'' if count == 1 else 's'}" if count else ""
    told = "" if sending.nats is None else f"  {sending.nats:.2f} nats"
    line = f"{when}  {entry.url}  {entry.what:7}{entry.size:7,} B  {ids}"
    return f"{line}{told}".rstrip()


def _quoted(name: str, words: str) -> str:
    """Words that were sent as they are, between quotes, with their line ends."""
    told = ("verdict", "padding", "redacted")
    return words if name in told else json.dumps(words, ensure_ascii=False)
