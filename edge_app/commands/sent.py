"""`specsteer sent`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

import click

from decoding_core.foreign_text import one_line
from edge_app.config.settings import ledger_path
from edge_app.privacy.ledger import Entry, read_ledger
from edge_app.privacy.spent import read_spent, spent_path


@click.command("sent")
@click.option("--last", is_flag=True, help="Only the last text.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--bytes", "with_bytes", is_flag=True, help="Show every byte, in hex.")
def command(last: bool, as_json: bool, with_bytes: bool) -> None:
    """Show what left this device: every request, counted where it met the socket."""
    entries = list(read_ledger(ledger_path()))
    if last:
        opened = [at for at, entry in enumerate(entries) if entry.what == "open"]
        entries = entries[opened[-1] :] if opened else entries
    for entry in entries:
        if as_json:
            body = asdict(entry) | {"payload": entry.payload.hex()}
            if entry.nats is None:
                del body["nats"]
            click.echo(json.dumps(body))
        else:
            click.echo(_line(entry))
        if with_bytes and not as_json and entry.payload:
            click.echo(entry.payload.hex(" "))
    if not as_json:
        total = sum(entry.size for entry in entries)
        said = f"{len(entries)} requests, {total:,} bytes in all"
        nats = [entry.nats for entry in entries if entry.nats is not None]
        if nats:
            said += f", {sum(nats):.1f} nats of your history"
        click.echo(said, err=True)
        today = datetime.now().astimezone().date().isoformat()
        told = read_spent(spent_path(ledger_path())).get(today, {})
        for server, nats_today in told.items():
            line = f"told {server} today: {nats_today:.1f} nats of your history"
            click.echo(one_line(line), err=True)


def _line(entry: Entry) -> str:
    try:
        when = f"{datetime.fromtimestamp(entry.time).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        when = "at no known time   "  # somebody edited the ledger
    ids = f"{len(entry.token_ids)} token ids" if entry.token_ids else ""
    told = "" if entry.nats is None else f"  {entry.nats:.2f} nats"
    line = f"{when}  {entry.url}  {entry.what:7}{entry.size:7,} B  {ids}"
    return f"{line}{told}".rstrip()
