"""`specsteer sent` and `privacy`: what left, and what the guard lets leave."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.commands import options
from edge_app.commands.terminal import counted, echo_json, note, read_stdin
from edge_app.config.settings import (
    keep_allowed,
    ledger_path,
    read_allowed,
    read_settings,
    store_path,
)
from edge_app.privacy.ledger import read_spent, spent_path
from edge_app.privacy.reading import (
    BYTES,
    Sending,
    in_words,
    last_text,
    plain,
    sendings,
)
from models.command_line import Command, Group
from models.prompts import Request

_OURS = ("verdict", "padding", "redacted")
"""Of what a message says, the words of ours; all others stand between quotes."""


@click.command("sent", cls=Command)
@click.option("--last", is_flag=True, help="Only the last text.")
@click.option("--brief", is_flag=True, help="A line for each message, without words.")
@options.json_lines
@click.option("--bytes", "with_bytes", is_flag=True, help="Show every byte, in hex.")
def sent_command(last: bool, brief: bool, as_json: bool, with_bytes: bool) -> None:
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
    # The settings of models, which --help does without.
    from edge_app.commands.service_config import detokenizers

    found = sendings(ledger_path(), store_path())
    found = list(last_text(found)) if last else found
    wanted = {one.vocabulary_id for one in found if one.vocabulary_id}
    with detokenizers(() if brief else wanted) as known:
        for sending in found:
            detokenize = known.get(sending.vocabulary_id)
            if as_json:
                body = asdict(sending.entry) | {"payload": sending.entry.payload.hex()}
                del body["line"]
                echo_json(body | plain(sending, detokenize))
                continue
            click.echo(_line(sending))
            if not brief:
                for name, words in in_words(sending, detokenize).items():
                    if name not in _OURS:
                        words = json.dumps(words, ensure_ascii=False)
                    click.echo(f"    {name:12}  {one_line(words)}")
            if with_bytes and sending.entry.payload:
                click.echo(sending.entry.payload.hex(" "))
    if as_json:
        return
    total = sum(sending.entry.size for sending in found)
    said = f"{len(found)} requests, {total:,} bytes in all"
    nats = [sending.nats for sending in found if sending.nats is not None]
    if nats:
        said += f", {sum(nats):.1f} nats of your history"
    note(said)
    today = datetime.now().astimezone().date().isoformat()
    for server, sum_of_day in (
        read_spent(spent_path(ledger_path())).get(today, {}).items()
    ):
        note(one_line(f"told {server} today: {sum_of_day:.1f} nats of your history"))


def _line(sending: Sending) -> str:
    entry = sending.entry
    try:
        when = f"{datetime.fromtimestamp(entry.time).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        when = "at no known time   "  # somebody edited the ledger
    count = len(entry.token_ids)
    kind = "text byte" if sending.vocabulary_id == BYTES else "token id"
    ids = counted(count, kind) if count else ""
    nats = "" if sending.nats is None else f"  {sending.nats:.2f} nats"
    line = f"{when}  {entry.url}  {entry.what:7}{entry.size:7,} B  {ids}"
    return f"{line}{nats}".rstrip()


_TEXTS = 50  # texts that share words, with which a text is compared


@click.group("privacy", cls=Group)
def privacy_command() -> None:
    """See what the guard keeps on this device, and allow what it need not.

    \b
        specsteer privacy check "Call Zoltan at 0176 5512334"
        specsteer privacy check --request "Tell Ben who has the keys" - < draft.txt
        specsteer privacy allow "the pier photos"
    """


@privacy_command.command("check")
@click.argument("text")
@click.option(
    "--request",
    default="",
    help="What would be asked for: what it says, the server reads anyway.",
)
@click.option("--to", "recipient", default="", help="Whom the text would be for.")
@options.sample
@options.as_json
def check_text(
    text: str, request: str, recipient: str, sample: bool, as_json: bool
) -> None:
    """Say what the guard would keep from a server if TEXT were drafted ('-' reads it
    from the standard input), and what would be sent in its place. Nothing is sent."""
    if text == "-":
        text = read_stdin()
    # The guard loads the store's rules, which 'sent' does without.
    from edge_app.privacy.guard.gate import check
    from edge_app.privacy.guard.history import index_of_store

    settings = read_settings()
    with options.opened_store(sample) as store:
        found = store.search(text, limit=_TEXTS)
        found += store.search(f"{recipient} {request}", limit=5)
        index = index_of_store(
            store,
            {passage.record_id: passage for passage in found}.values(),
            Request(request, recipient=recipient),
            allowed=read_allowed(),
            region=settings.guard_region,
        )
    report = check(text, index, typed=settings.guard != "local")
    if as_json:
        echo_json({"guard": settings.guard, **asdict(report)})
        return
    for one in report.found:
        words = f"{one.kind}: {one_line(one.text)} -> {one_line(one.stand_in)}"
        click.echo(f"{words} ({one.reason})")
    if report.found:
        click.echo()
    click.echo(report.public)
    note(
        f"{report.held_back} of {report.words} words are held back, in "
        f"{len(report.found)} spans · {report.block_ms:.2f} ms a block of 8 words, "
        f"{report.slowest_ms:.2f} at most"
    )


@privacy_command.command("allow")
@click.argument("phrase", required=False)
@click.option("--undo", is_flag=True, help="Keep it on this device again.")
def allow(phrase: str | None, undo: bool) -> None:
    """Let PHRASE leave in every text from now on: a name, or words that you often use.
    Without one, show what may leave."""
    allowed = read_allowed()
    if phrase is None:
        for one in allowed:
            click.echo(one)
        return
    words = " ".join(phrase.split())
    if not words:
        raise InvalidSettingsError("the phrase is empty; say what may leave")
    if undo and words not in allowed:
        raise InvalidSettingsError(
            "this phrase was not allowed; 'specsteer privacy allow' shows which are"
        )
    kept = tuple(one for one in allowed if one != words)
    keep_allowed(kept if undo else (*kept, words))
    click.echo("it stays on this device again" if undo else "it may leave from now on")
