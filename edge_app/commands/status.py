"""`specsteer status`."""

from __future__ import annotations

import click

from edge_app.privacy.ledger import read_ledger
from edge_app.settings import ledger_path, read_settings, settings_path, store_path
from models.folders import state_folder
from personal_store import Store


@click.command("status")
def command() -> None:
    """Show what is on this device: texts, settings, ledger."""
    settings = read_settings()
    with Store.open(store_path()) as store:
        counts, addresses = store.counts(), store.identities()
    click.echo(f"folder      {state_folder()}")
    click.echo(f"your texts  {_texts(counts)}")
    click.echo(f"you         {', '.join(addresses) or 'no address known yet'}")
    click.echo(f"server      {settings.server or 'started on this machine'}")
    click.echo(f"specialist  {settings.specialist or 'embedded'}")
    click.echo(f"generalist  {settings.generalist or 'embedded'}")
    click.echo(f"settings    {settings_path() if settings_path().exists() else 'none'}")
    entries = list(read_ledger(ledger_path()))
    total = sum(entry.size for entry in entries)
    click.echo(f"ledger      {len(entries)} requests, {total:,} bytes left")


def _texts(counts: dict[str, int]) -> str:
    totals = ("own", "received", "words")
    held = [f"{n} {kind}s" for kind, n in counts.items() if kind not in totals]
    if not held:
        return "none; 'specsteer import --help' says how"
    return f"{', '.join(held)}; {counts['words']:,} words"
