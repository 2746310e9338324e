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
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from base.owner_only import close_to_others
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from decoding_core.methods import build
from edge_app.commands import options
from edge_app.commands.terminal import note, stoppable
from edge_app.config.sealed import read_file, write_file
from edge_app.config.settings import Settings, read_settings, store_path
from edge_app.service.requests import WriteRequest
from models.command_line import Command
from models.folders import state_folder
from models.prompts import TASKS, Request

PORT = 8777
KEY = "key of 'specsteer serve'"
"""What the file is called in its seal."""
_KEY_BYTES = 32
_KEY = re.compile(rb"[\w-]{32,}\n?", re.ASCII)


@click.command("serve", cls=Command)
@click.option(
    "--port",
    default=PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Where to listen on this machine; 0: any free port.",
)
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="email",
    show_default=True,
    help="What the model 'specsteer' writes; 'specsteer-review' and so on name others.",
)
@options.server
@options.offline
@options.sample
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
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
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=300,
    show_default=True,
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
        origins = frozenset(map(_checked_origin, chosen["origins"]))
        _serve_programs(read_settings(), origins, chosen)


def _serve_programs(
    settings: Settings, origins: frozenset[str], chosen: dict[str, Any]
) -> None:
    method = settings.method
    if chosen["method"]:
        method = replace(method, method=chosen["method"])
    build(method)  # an unknown method is refused before any model is loaded
    # These take half a second to load, which --help does without.
    from edge_app.commands.service_config import config_of
    from edge_app.endpoint.app import EndpointConfig, EndpointServer, create_endpoint
    from edge_app.service.service import WritingService

    config = EndpointConfig(
        WriteRequest(
            Request("", chosen["task"]),
            settings=method,
            max_tokens=chosen["max_tokens"],
            use_history=not chosen["no_history"],
            personalisation=settings.personalisation,
            offline=chosen["offline"],
            may_go_offline=not chosen["no_offline"],
            guard=chosen["guard"] or settings.guard,
        ),
        kept_key(key_path(), new=chosen["new_key"]),
        origins,
    )

    def listening(url: str) -> None:
        click.echo(json.dumps({"base_url": url, "api_key": config.token}))
        note(f"writing for other programs at {url}; Ctrl-C ends it")

    def say(words: str) -> None:
        note(one_line(words))

    with closing(WritingService(config_of(settings, chosen))) as service:
        with stoppable() as stop:
            say("loading the models ...")
            service.prepare(offline=chosen["offline"], stop=stop)
        EndpointServer(
            create_endpoint(service, config, say), chosen["port"], listening
        ).listen()


def key_path() -> Path:
    """The file of the key that programs ask with."""
    return state_folder() / "serve-key"


def kept_key(path: Path, *, new: bool) -> str:
    """The key of the last start, or a new one, which is kept for the next. Raises
    InvalidSettingsError if the file holds no key and StoreLockedError if it is sealed,
    and the store's key is not to be had."""
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
    from edge_app.endpoint.browser import BrowserServer, app_command

    def listening(link: str) -> None:
        click.echo(json.dumps({"link": link}))
        note(f"the app is at {link} (opens once); Ctrl-C ends it")
        sys.stdout.flush()
        sys.stdout = sys.stderr  # where the app's last words go

    asyncio.run(BrowserServer(app_command(), port, listening).listen())


def _checked_origin(given: str) -> str:
    """An origin as a browser writes it: scheme, host in small letters, and the port
    if it is not the scheme's usual one."""
    try:
        parts = urlsplit(given)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    origin = f"{parts.scheme}://{host}{port}"
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme)
    if given != origin or not host.isascii() or "*" in host or port == usual:
        raise click.UsageError(
            f"{one_line(given)} is no origin: name a page as its browser does, with "
            "scheme, host and port alone, such as http://localhost:3000"
        )
    return origin
