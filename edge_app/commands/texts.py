"""`specsteer search`, `show`, `status` and `me`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import click

from base.extras import how_to_add
from decoding_core.foreign_text import legible, one_line
from edge_app.commands import options, terminal
from edge_app.commands.options import outline
from edge_app.commands.terminal import Progress, note
from edge_app.config.settings import (
    Settings,
    ledger_path,
    read_settings,
    settings_path,
    store_path,
)
from edge_app.privacy.ledger import read_ledger
from edge_app.retrieval.context import title
from models.command_line import Command, Group, confirm
from models.folders import state_folder
from personal_store import Passage, Store, StoreError
from personal_store.import_runs import in_words
from personal_store.lifecycle import identities
from personal_store.lifecycle.cleaning import clean_all_waiting
from personal_store.lifecycle.forgetting import UNTIDY
from personal_store.lifecycle.overview import Summary, outlines, summarise
from personal_store.lifecycle.writing import body_of

_EMPTY = {
    False: "there is no text of yours in the store yet: 'specsteer import --help' says "
    "how to give it some, and --sample searches the sample letters",
    True: "there is no text by others in the store: they come with the mail you import",
}
_EXCERPT, _INDENT, _REASONS = 240, " " * 8, 5
_NO_TEXTS = "none; 'specsteer import --help' says how"
_ADDRESS = click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS...")


@click.command("search", cls=Command)
@click.argument("query")
@click.option("--received", is_flag=True, help="Search what others wrote to you.")
@options.sample
@options.shown_option("--limit", type=click.IntRange(1, 1000), default=10)
@options.filtering
@click.option("--to", "recipient", help="Rank texts to this person higher.")
@click.option("--explain", is_flag=True, help="Show what each score consists of.")
@options.json_lines
def search_command(query: str, received: bool, **chosen: Any) -> None:
    """Find your own texts that match QUERY, best first.

    Words are compared as they are, in any case: "boat" does not find "boats". What
    stands in quotes is found as a phrase, and no text with a -word is shown. Texts that
    say nearly the same are shown once. With --received, what others wrote is searched
    instead; it is never imitated, but can be answered. For no words, it shows mails
    that wait for an answer of yours: those by people you write to first.

    \b
        specsteer search 'boat -harbour "next summer"'
        specsteer search --person Ana --since 2024-01-01 "the boat"
        specsteer search --received ""
        specsteer write --reply-to 812 "Say yes, gladly"
    """
    if received and chosen["recipient"]:
        raise click.UsageError("--to is for texts of yours: use --person")
    with (
        options.opened_store(chosen["sample"]) as store,
        Progress("reading received texts") as progress,
    ):
        found = store.find(
            query,
            limit=chosen["limit"],
            recipient=chosen["recipient"],
            which=options.condition(chosen),
            received_ones=received,
            progress=progress.show,
        )
        if received and not query.strip():
            found = store.waiting(chosen["limit"])
        held = store.counts()["received" if received else "own"]
    for passage in found:
        if chosen["as_json"]:
            terminal.echo_json(asdict(passage))
        else:
            _show_found(passage, chosen["explain"])
    if not found:
        note("nothing matches" if held else _EMPTY[received])


def _show_found(passage: Passage, explain: bool) -> None:
    sender = f" from {passage.sender}" if passage.sender and not passage.own else ""
    named = f"{passage.score:6.2f}  {passage.record_id}  {title(passage)}{sender}"
    terminal.heading(one_line(named))
    click.echo(_INDENT + " ".join(one_line(passage.text).split())[:_EXCERPT])
    if explain:  # the sum that the score is: words 5.10 (pier 3.40, photos 1.70) + ...
        parts = {name: part for name, part in passage.score_parts.items() if part}
        said = [f"{name.replace('_', ' ')} {part:.2f}" for name, part in parts.items()]
        if "bm25" in parts:
            words = (f"{term} {part:.2f}" for term, part in passage.terms.items())
            at = list(parts).index("bm25")
            said[at] = f"words {parts['bm25']:.2f} ({', '.join(words)})"
        click.echo(_INDENT + one_line(" + ".join(said)))


@click.command("show", cls=Command)
@click.argument("record_id", metavar="ID", type=click.IntRange(1))
@click.option("--raw", is_flag=True, help="What it was cleaned out of.")
@click.option("--clean", is_flag=True, help="The own words, as they are used (usual).")
def show_command(record_id: int, raw: bool, clean: bool) -> None:
    """Show one text: as it is used, or the raw body that it was cleaned out of.

    ID is what 'specsteer search --json' calls record_id. Of a message in HTML, --raw
    shows the markup too.

    \b
        specsteer show 17
        specsteer show 17 --raw
    """
    if raw and clean:
        raise click.UsageError("--raw or --clean, not both")
    with Store.open(store_path()) as store:
        if not raw:
            clean_all_waiting(store.db, [record_id])
        lines = outlines(store.db, [record_id])
        if not lines:
            raise StoreError(f"There is no text with the id {record_id}.")
        note(outline(lines[0]))
        if raw:
            body = body_of(store.db, record_id)
            if body is None:
                raise StoreError(
                    f"No raw body of {record_id} is kept: it is not yours, was not "
                    "cleaned out of anything, or was imported when raw bodies were not "
                    "kept."
                )
            both = f"{body.plain}\n\n{body.html}".lstrip()
            text = both if body.html else body.plain
        else:
            own = "SELECT body FROM record WHERE id = ?"
            text = str(store.db.execute(own, [record_id]).fetchone()[0])
    click.echo(legible(text))


@click.command("status", cls=Command)
@options.as_json
def status_command(as_json: bool) -> None:
    """Show what is on this device: texts, where they come from, settings, ledger.

    Charts count your own texts that can be found. What lies in the trash, is excluded
    or was written by others is counted apart.
    """
    settings = read_settings()
    with Store.open(store_path()) as store:
        summary, addresses = summarise(store.db, store.path), store.identities()
    entries = list(read_ledger(ledger_path()))
    if as_json:
        named = {
            name: getattr(settings, name)
            for name in ("server", "specialist", "generalist")
        }
        body = {"folder": str(state_folder()), "addresses": addresses, **named}
        terminal.echo_json(body | {"ledger": len(entries), "store": asdict(summary)})
        return
    sent = f"{len(entries)} requests, {sum(one.size for one in entries):,} bytes sent"
    for line in _status(summary, addresses, settings, sent):
        click.echo(one_line(line))
    charts: list[tuple[str, Mapping[str, int] | None]] = [
        ("by kind", summary.kinds),
        ("by source", summary.sources),
        ("by year", summary.years),
        ("by language, in a sample", summary.languages),
    ]
    for name, counts in charts:
        if counts:
            click.echo()
            terminal.heading(name)
            click.echo("\n".join(terminal.bars(counts)))
    if summary.languages is None and summary.usable:
        note(f"\nto count languages as well: {how_to_add('languages')}")


def _status(
    summary: Summary, addresses: list[str], settings: Settings, sent: str
) -> Iterator[str]:
    held = ", ".join(f"{number} {kind}s" for kind, number in summary.kinds.items())
    raw = f"{in_words(summary.raw_bytes)} of it raw bodies"
    kind = "encrypted" if summary.encrypted else "not encrypted"
    put_away = (
        (summary.excluded, "excluded"),
        (summary.trash, "in the trash"),
        (summary.forgotten, "forgotten"),
    )
    away = ", ".join(f"{number:,} {name}" for number, name in put_away if number)
    failed = sum(summary.failed.values())
    backup = f"{summary.backup}, {in_words(summary.backup_bytes)}"
    others = f"{summary.received:,}, never imitated"
    rows = {
        "folder": str(state_folder()),
        "your texts": f"{held}; {summary.words:,} words" if held else _NO_TEXTS,
        "you": ", ".join(addresses) or "no address known yet",
        "server": settings.server or "started on this machine",
        "specialist": settings.specialist or "embedded",
        "generalist": settings.generalist or "embedded",
        "settings": str(settings_path()) if settings_path().exists() else "none",
        "ledger": sent,
        "on disk": f"{in_words(summary.bytes)}, {raw}; {kind}",
        "backup": backup if summary.backup else "none",
        "by others": others if summary.received else "none",
        "put away": away or "none",
        "unreadable": f"{failed:,} in what was imported" if failed else "none",
    }
    yield from (f"{name:12}{words}" for name, words in rows.items())
    for reason, times in list(summary.failed.items())[:_REASONS]:
        yield f"            {times:,} x {reason}"
    if summary.behind:
        old = "mails were cleaned by older rules than those of this version"
        yield f"attention   {old}: run 'specsteer reclean'"
    if summary.untidy:
        yield f"attention   {UNTIDY}"


@click.group("me", cls=Group, invoke_without_command=True)
@click.pass_context
def me_command(ctx: click.Context) -> None:
    """Say which addresses are yours; stored texts change sides at once.

    Only what you sent is used as your writing. Mail of others is stored as theirs, so
    that it becomes yours when you add the address it came from, without a second
    import; and theirs again when you remove it.

    \b
        specsteer me
        specsteer me suggest
        specsteer me add sam@work.example
        specsteer me remove team@work.example
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_addresses)


@me_command.command("list")
def list_addresses() -> None:
    """Show your addresses, how many texts each sent, and why they count as yours."""
    with Store.open(store_path()) as store:
        found = identities.identities(store.db)
    for one in found:
        sure = one.why if one.confirmed else f"{one.why}; 'me add' confirms it"
        click.echo(f"{one_line(one.address)}  {one.texts:,} texts  ({sure})")
    if not found:
        note("no address known yet; 'specsteer me suggest' looks")


@me_command.command("add")
@_ADDRESS
def add(addresses: tuple[str, ...]) -> None:
    """Say that these addresses are yours (or names, where a chat knows only names)."""
    with Store.open(store_path()) as store:
        turned = identities.add_identities(store.db, addresses)
    click.echo(f"{turned:,} stored texts turn out to be yours")


@me_command.command("remove")
@_ADDRESS
def remove(addresses: tuple[str, ...]) -> None:
    """Say that these addresses are not yours; they are not suggested again."""
    with Store.open(store_path()) as store:
        turned = identities.remove_identities(store.db, addresses)
    click.echo(f"{turned:,} stored texts are others' again")


@me_command.command("suggest")
def suggest() -> None:
    """Look for more of your addresses, with the evidence; in a terminal, ask."""
    with Store.open(store_path()) as store:
        found = identities.suggestions(store.db)
        for one in found:
            click.echo(f"{one_line(one.address)}  {one.texts:,} texts  ({one.why})")
            if not sys.stdin.isatty():
                continue
            if confirm(f"Is {one.address} yours?"):
                turned = identities.add_identities(store.db, [one.address])
                note(f"{turned:,} stored texts turn out to be yours")
            else:
                identities.remove_identities(store.db, [one.address])
    if not found:
        note("no other address looks like yours")
