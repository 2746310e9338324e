"""`specsteer status`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click

from decoding_core.foreign_text import one_line
from edge_app.commands.chart import bars
from edge_app.commands.output import heading
from edge_app.config.settings import (
    Settings,
    ledger_path,
    read_settings,
    settings_path,
    store_path,
)
from edge_app.privacy.ledger import read_ledger
from models.folders import state_folder
from models.lazy_commands import Command
from personal_store import Store
from personal_store.extras import how_to_add
from personal_store.ingest.guards import in_words
from personal_store.lifecycle.forgetting import UNTIDY
from personal_store.lifecycle.summary import Summary, summarise

_REASONS = 5
_NO_TEXTS = "none; 'specsteer import --help' says how"


@click.command("status", cls=Command)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> None:
    """Show what is on this device: texts, where they come from, settings, ledger.

    Charts count your own texts that can be found. What lies in the trash, is excluded
    or was written by others is counted apart.
    """
    settings = read_settings()
    with Store.open(store_path()) as store:
        summary, addresses = summarise(store.db, store.path), store.identities()
    if as_json:
        click.echo(json.dumps(_plain(summary, addresses, settings)))
        return
    for line in (*_head(summary, addresses, settings), *_store(summary)):
        click.echo(one_line(line))
    charts: dict[str, Mapping[str, int]] = {
        "by kind": summary.kinds,
        "by source": summary.sources,
        "by year": summary.years,
        "by language, in a sample": summary.languages or {},
    }
    for title, counts in charts.items():
        if counts:
            click.echo()
            heading(title)
            click.echo("\n".join(bars(counts)))
    if summary.languages is None and summary.usable:
        click.echo(f"\nto count languages as well: {how_to_add('languages')}", err=True)


def _head(summary: Summary, addresses: list[str], settings: Settings) -> Iterator[str]:
    yield f"folder      {state_folder()}"
    held = ", ".join(f"{number} {kind}s" for kind, number in summary.kinds.items())
    texts = f"{held}; {summary.words:,} words"
    yield f"your texts  {texts if held else _NO_TEXTS}"
    yield f"you         {', '.join(addresses) or 'no address known yet'}"
    yield f"server      {settings.server or 'started on this machine'}"
    yield f"specialist  {settings.specialist or 'embedded'}"
    yield f"generalist  {settings.generalist or 'embedded'}"
    yield f"settings    {settings_path() if settings_path().exists() else 'none'}"
    entries = list(read_ledger(ledger_path()))
    total = sum(entry.size for entry in entries)
    yield f"ledger      {len(entries)} requests, {total:,} bytes sent"


def _store(summary: Summary) -> Iterator[str]:
    raw = f"{in_words(summary.raw_bytes)} of it raw bodies"
    kind = "encrypted" if summary.encrypted else "not encrypted"
    yield f"on disk     {in_words(summary.bytes)}, {raw}; {kind}"
    backup = f"{summary.backup}, {in_words(summary.backup_bytes)}"
    yield f"backup      {backup if summary.backup else 'none'}"
    others = f"{summary.received:,}, never imitated"
    yield f"by others   {others if summary.received else 'none'}"
    put_away = {
        "excluded": summary.excluded,
        "in the trash": summary.trash,
        "forgotten": summary.forgotten,
    }
    named = (f"{number:,} {name}" for name, number in put_away.items() if number)
    yield f"put away    {', '.join(named) or 'none'}"
    failed = sum(summary.failed.values())
    yield f"unreadable  {f'{failed:,} in what was imported' if failed else 'none'}"
    for reason, times in list(summary.failed.items())[:_REASONS]:
        yield f"            {times:,} x {reason}"
    if summary.behind:
        yield (
            "attention   mails were cleaned by older rules than those of this version: "
            "run 'specsteer reclean'"
        )
    if summary.untidy:
        yield f"attention   {UNTIDY}"


def _plain(
    summary: Summary, addresses: list[str], settings: Settings
) -> dict[str, object]:
    return {
        "folder": str(state_folder()),
        "addresses": addresses,
        "server": settings.server,
        "specialist": settings.specialist,
        "generalist": settings.generalist,
        "ledger": len(list(read_ledger(ledger_path()))),
        "store": asdict(summary),
    }
