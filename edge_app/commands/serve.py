"""`specsteer serve`."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from base.extras import how_to_add
from base.owner_only import close_to_others
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from decoding_core.methods import build
from edge_app.commands import options
from edge_app.commands.service_config import config_of
from edge_app.commands.terminal import note, stoppable
from edge_app.config.sealed import read_file, write_file
from edge_app.config.settings import read_settings, store_path
from edge_app.service.requests import WriteRequest
from models.command_line import Command
from models.folders import state_folder
from models.prompts import TASKS, Request

PORT = 8777
KEY = "key of 'specsteer serve'"  # what the file is called in its seal
_KEY_BYTES = 32
_KEY = re.compile(rb"[\w-]{32,}\n?", re.ASCII)
_ORIGIN = re.compile(
    r"(?!http://.*:80$|https://.*:443$)"
    r"[a-z][a-z\d+.-]*://([a-z\d._-]+|\[[a-f\d:.]+\])(:\d{1,5})?"
)
"""As a browser writes it: scheme, host in small letters, and a port that is not the
scheme's usual one."""


def _origins(_: object, __: object, given: tuple[str, ...]) -> frozenset[str]:
    for origin in given:
        if not _ORIGIN.fullmatch(origin):
            raise click.UsageError(
                f"{one_line(origin)} is no origin: name a page as its browser does, "
                "with scheme, host and port alone, such as http://localhost:3000"
            )
    return frozenset(given)


@click.command("serve", cls=Command)
@options.shown_option(
    "--port",
    default=PORT,
    type=click.IntRange(0, 65535),
    help="Where to listen on this machine; 0: any free port.",
)
@options.shown_option(
    "--task",
    type=click.Choice(TASKS),
    default="email",
    help="What the model 'specsteer' writes; 'specsteer-review' and so on name others.",
)
@options.length
@options.server
@options.offline
@options.sample
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    callback=_origins,
    help="Also answer pages of this exact origin in a browser, such as "
    "http://localhost:3000, if they have the key; may be given several times. none",
)
@click.option(
    "--web",
    is_flag=True,
    help="Show the app to a browser of this machine instead (extra 'web').",
)
@click.option(
    "--new-key", is_flag=True, help="Make another key; programs need it from now on."
)
@options.shown_option(
    "--max-tokens",
    type=click.IntRange(1),
    default=300,
    help="How long a text may get if a program does not say.",
)
@click.option("--method", help="How to decode, as for 'specsteer write'. steering")
@options.specialist
@options.generalist
@options.guard
@options.no_offline
@options.lora
@options.no_history
@click.pass_context
def serve_command(ctx: click.Context, /, **chosen: Any) -> None:
    """Let other programs of this machine write in your voice.

    Listens on loopback alone, as OpenAI's API, until Ctrl-C. One line of JSON on
    stdout says the address and a key: give both to your editor or mail client. Whoever
    has the key can ask for texts; it stays the same until --new-key makes another.

    \b
        specsteer serve
        specsteer serve --new-key
        curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8777/v1/models

    With --web the app opens in a browser: the line of JSON holds a link that works
    once. The app follows your settings, so --port is the only other option then.
    """
    if chosen["web"]:
        for name in chosen:
            given = ctx.get_parameter_source(name)
            if name not in ("web", "port") and given is ParameterSource.COMMANDLINE:
                raise click.UsageError(
                    "--web takes --port alone: the app follows your settings"
                )
        _serve_browser(chosen["port"])
    else:
        options.check_exclusive(chosen)
        _serve_programs(chosen)


def _serve_programs(chosen: dict[str, Any]) -> None:
    settings = read_settings()
    method = settings.method
    if chosen["method"]:
        method = replace(method, method=chosen["method"])
    build(method)  # an unknown method is refused before any model is loaded
    # These take half a second to load, which --help does without.
    from edge_app.endpoint.app import EndpointServer, create_endpoint
    from edge_app.service.service import WritingService

    template = WriteRequest(
        Request("", chosen["task"]),
        settings=method,
        max_tokens=chosen["max_tokens"],
        use_history=not chosen["no_history"],
        offline=chosen["offline"],
        may_go_offline=not chosen["no_offline"],
        guard=chosen["guard"],
        length=chosen["length"],
    )
    key = kept_key(key_path(), new=chosen["new_key"])

    def listening(url: str) -> None:
        click.echo(json.dumps({"base_url": url, "api_key": key}))
        note(f"writing for other programs at {url}; Ctrl-C ends it")

    with closing(WritingService(config_of(settings, chosen))) as service:
        with stoppable() as stop:
            note("loading the models ...")
            service.prepare(offline=chosen["offline"], stop=stop)
        endpoint = create_endpoint(
            *(service, template, key, chosen["origins"]),
            say=lambda words: note(one_line(words)),
        )
        EndpointServer(endpoint, chosen["port"], listening).listen()


def key_path() -> Path:
    """The file of the key that programs ask with."""
    return state_folder() / "serve-key"


def kept_key(path: Path, *, new: bool) -> str:
    """The key of the last start, or a new one, which is kept for the next. Raises
    InvalidSettingsError if the file holds no key, and StoreLockedError if it is sealed
    with a key that cannot be had."""
    if new or not path.exists():
        key = secrets.token_urlsafe(_KEY_BYTES)
        write_file(path, f"{key}\n".encode(), KEY, store_path())
        return key
    close_to_others(path)
    kept = read_file(path, KEY, store_path())
    if not _KEY.fullmatch(kept):
        raise InvalidSettingsError(
            f"{path} holds no key: 'specsteer serve --new-key' makes another"
        )
    return kept.decode().strip()


def _serve_browser(port: int) -> None:
    try:
        from edge_app.endpoint.browser import BrowserServer, app_command
    except ImportError as error:
        how = f"install it with: {how_to_add('web')}"
        wrong = f"the app in a browser needs an extra; {how}"
        raise InvalidSettingsError(wrong) from error

    def listening(link: str) -> None:
        click.echo(json.dumps({"link": link}))
        note(f"the app is at {link} (opens once); Ctrl-C ends it")
        sys.stdout.flush()
        sys.stdout = sys.stderr  # where the app's last words go

    asyncio.run(BrowserServer(app_command(), port, listening).listen())
