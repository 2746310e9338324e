"""`specsteer privacy`: what the guard would do, and what it may let leave."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.settings import (
    allowed_path,
    read_settings,
    sample_store_path,
    store_path,
)
from edge_app.privacy.guard.gate import Report, check, keep_allowed, read_allowed
from edge_app.privacy.guard.history import index_of_store
from models.lazy_commands import Group
from models.prompts import Request
from personal_store import Store

_TEXTS = 50
"""Texts of the store that a text is compared with: those that share words with it."""


@click.group("privacy", cls=Group)
def command() -> None:
    """See what the guard keeps on this device, and allow what it need not.

    \b
        specsteer privacy check "Call Zoltan at 0176 5512334"
        specsteer privacy check --request "Tell Ben who has the keys" - < draft.txt
        specsteer privacy allow "the pier photos"
    """


@command.command("check")
@click.argument("text")
@click.option(
    "--request",
    default="",
    help="What would be asked for: what it says, the server reads anyway.",
)
@click.option("--to", "recipient", default="", help="Whom the text would be for.")
@click.option("--sample", is_flag=True, help="With the sample letters, not yours.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def check_text(
    text: str, request: str, recipient: str, sample: bool, as_json: bool
) -> None:
    """Say what the guard would keep from a server if TEXT were drafted ('-' reads it
    from the standard input), and what would be sent in its place. Nothing is sent."""
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            wrong = "what is piped in is not text in UTF-8"
            raise InvalidSettingsError(wrong) from error
    settings = read_settings()
    with Store.open(sample_store_path() if sample else store_path()) as store:
        found = store.search(text, limit=_TEXTS)
        found += store.search(f"{recipient} {request}", limit=5)
        index = index_of_store(
            store,
            {passage.record_id: passage for passage in found}.values(),
            Request(request, recipient=recipient),
            allowed=read_allowed(allowed_path(), store_path()),
            region=settings.guard_region,
        )
    report = check(text, index, typed=settings.guard != "local")
    if as_json:
        click.echo(json.dumps({"guard": settings.guard, **asdict(report)}))
    else:
        _tell(report)


def _tell(report: Report) -> None:
    """One line for each span, then the text as a server would read it."""
    for one in report.found:
        click.echo(
            f"{one.kind}: {one_line(one.text)} -> {one_line(one.stand_in)} "
            f"({one.reason})"
        )
    if report.found:
        click.echo()
    click.echo(report.public)
    click.echo(
        f"{report.held_back} of {report.words} words are held back, in "
        f"{len(report.found)} spans · {report.block_ms:.2f} ms a block of 8 words, "
        f"{report.slowest_ms:.2f} at most",
        err=True,
    )


@command.command("allow")
@click.argument("phrase", required=False)
@click.option("--undo", is_flag=True, help="Keep it on this device again.")
def allow(phrase: str | None, undo: bool) -> None:
    """Let PHRASE leave in every text from now on: a name, or words that you often use.
    Without one, show what may leave."""
    allowed = read_allowed(allowed_path(), store_path())
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
    keep_allowed(allowed_path(), kept if undo else (*kept, words), store_path())
    click.echo("it stays on this device again" if undo else "it may leave from now on")
