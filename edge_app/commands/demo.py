"""`specsteer demo`."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace

import click

from decoding_core.foreign_text import one_line
from edge_app import sample
from edge_app.commands.output import Output
from edge_app.commands.stopping import stoppable
from edge_app.config.settings import read_settings
from edge_app.sample.filling import make_ready
from edge_app.service.requests import WriteRequest
from models.lazy_commands import Command
from models.prompts import Request
from personal_store import Store

_STOPPED = 130


@click.command("demo", cls=Command)
@click.option("--seed", type=int, default=4, show_default=True)
def command(seed: int) -> None:
    """Write a letter from sample letters, and say how it came about.

    The sample letters go into a store of their own. A server is started on loopback
    and ends with the command.
    """
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.commands.service_config import service_config
    from edge_app.service.service import WritingService

    settings = read_settings()
    request = WriteRequest(
        Request(sample.REQUEST, "email", sample.RECIPIENT),
        settings=replace(settings.method, seed=seed),
        max_tokens=200,
    )
    chosen = service_config(settings, server="", sample=True)
    with Store.open(chosen.store) as store:
        click.echo(f"sample letters: {make_ready(store)}")
    click.echo(f"request: to {sample.RECIPIENT}: {sample.REQUEST}\n")
    output = Output(request, as_json=False, plain=False, verbose=True, aside=False)
    with (
        stoppable() as stop,
        closing(WritingService(chosen)) as service,
        closing(output),
    ):
        service.write(request, output.add, stop)
    if stop.is_set():
        sys.exit(_STOPPED)
    click.echo("\nread for it, on this device alone:")
    for source in output.sources:
        click.echo(f"  {source.score:5.2f}  {one_line(source.title)}")
