"""`specsteer-cloud init`: the first settings of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from base.owner_only import write_whole
from cloud_api.settings_file import FILE_NAME, read_file
from decoding_core.errors import InvalidSettingsError
from models.files import find
from models.folders import state_folder
from models.lazy_commands import Command

_FILE = """\
# Settings of `specsteer-cloud serve`; docs/household-server.md has them all.
# A variable such as SPECSTEER_CLOUD_PORT counts before a line of this file, and an
# option that is typed before both. `specsteer-cloud serve --print-settings` shows what
# counts. Paths that are not whole begin at this file's folder.

# The large model that helps to write, and the small one that the devices use, too.
# Without both, the pair that comes with SpecSteer is served.
{generalist}
{base}

# Where to listen. Other machines reach the server at an address that is theirs to
# reach, such as 0.0.0.0, and only if that is allowed.
{host}
{port}
{allow_remote}

# Texts whose caches are kept in memory at once.
# sessions = 4
# Minutes after which the models' memory is given back when nobody has asked; 0: never.
# unload_after = 0
# Let other programs of the house write with the large model alone, at /openai/v1.
# openai = false
"""


@click.command("init", cls=Command)
@click.option(
    "--generalist",
    type=click.Path(path_type=Path),
    help="GGUF file or folder of the large model; default: the embedded one.",
)
@click.option(
    "--base",
    type=click.Path(path_type=Path),
    help="The same of the small model that the devices use.",
)
@click.option("--host", help="Where to listen; default: this machine alone.")
@click.option("--port", type=click.IntRange(0, 65535), help="Default: 8765.")
@click.option(
    "--allow-remote", is_flag=True, help="Listen on an address that others reach."
)
@click.option("--force", is_flag=True, help="Replace the file that is there.")
def command(force: bool, **given: Any) -> None:
    """Write the settings of this machine's server, and say what to do next.

    \b
        specsteer-cloud init
        specsteer-cloud init --generalist large.gguf --base small.gguf
    """
    path = state_folder() / FILE_NAME
    if path.exists() and not force:
        raise InvalidSettingsError(f"{path} is there already; --force replaces it")
    for role in ("generalist", "base"):
        if given[role] is not None:
            given[role] = str(find(given[role]).absolute())
    defaults = {
        "generalist": "large.gguf",
        "base": "small.gguf",
        "host": "127.0.0.1",
        "port": 8765,
        "allow_remote": False,
    }
    lines = {
        name: _line(name, given[name] or usual, is_set=bool(given[name]))
        for name, usual in defaults.items()
    }
    before = path.read_bytes() if path.exists() else None
    write_whole(path, _FILE.format_map(lines).encode())
    from cloud_api.commands.serve import command as serve

    try:
        read_file(path, serve)
    except InvalidSettingsError:
        path.unlink()
        if before is not None:
            write_whole(path, before)
        raise
    click.echo(f"The settings are in {path}.")
    click.echo("Next:")
    click.echo("  specsteer-cloud doctor       look whether all is in place")
    click.echo("  specsteer-cloud serve        run the server; Ctrl-C stops it")
    click.echo("  specsteer-cloud pair NAME    let a device in, from a second terminal")


def _line(name: str, value: Any, *, is_set: bool) -> str:
    if isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, int):
        shown = str(value)
    else:
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        shown = f'"{escaped}"'
    return f"{'' if is_set else '# '}{name} = {shown}"
