"""The settings of `specsteer-cloud serve` by file and by environment.

Every option of the command can be a line of `cloud.toml` in the state folder, by the
option's name with `_` for `-`, and a variable, as `SPECSTEER_CLOUD_PORT` for `--port`.
What is typed counts before the environment, and that before the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from decoding_core.errors import InvalidSettingsError

FILE_NAME = "cloud.toml"
PREFIX = "SPECSTEER_CLOUD"
OF_ONE_START = frozenset(
    {"announce", "exit_with_stdin", "print_settings", "token_from_stdin"}
)
"""Options that are no settings: they say how one start is made."""
SECRET = frozenset({"token"})
_LONGEST = 1 << 20
_WORDS = {bool: "true or false", int: "a whole number", str: "a text"}
_ORIGINS = {
    ParameterSource.COMMANDLINE: "typed",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}


def read_file(path: Path, command: click.Command) -> dict[str, Any]:
    """The settings that the file holds, for the command's `default_map`; none where
    there is no file. Paths are taken from the file's folder on.

    Raises:
        InvalidSettingsError: the file cannot be read, or says what nothing knows.
    """
    if not path.exists():
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise ValueError("it is too large")
        body = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
    options = {one.name or "": one for one in settings_of(command)}
    found = {}
    for name, value in body.items():
        if name not in options:
            known = ", ".join(sorted(options))
            raise InvalidSettingsError(
                f"{path}: there is no setting '{name}'; known are: {known}"
            )
        found[name] = _checked(options[name], value, path)
    return found


def settings_of(command: click.Command) -> Iterator[click.Option]:
    """The options of a command that are settings."""
    for one in command.params:
        if isinstance(one, click.Option) and one.name not in OF_ONE_START:
            yield one


def printed(context: click.Context, secrets: Mapping[str, bool]) -> str:
    """The settings that a start with these options has, as lines of TOML with where
    each comes from; secrets are not shown. `secrets` holds what only the environment
    says, and whether it does."""
    lines = []
    for option in settings_of(context.command):
        name = option.name or ""
        value, source = context.params[name], context.get_parameter_source(name)
        origin = _ORIGINS.get(source, "default") if source else "default"
        if name in SECRET:
            shown = '"(set)"' if value else ""
        else:
            shown = _as_toml(value)
        line = f"{name} = {shown}" if shown else f"# {name} is not set"
        lines.append(f"{line}  # {origin}" if shown else line)
    for name, is_set in secrets.items():
        lines.append(f"# the variable {name} is {'set' if is_set else 'not set'}")
    return "\n".join(lines)


def _checked(option: click.Option, given: Any, path: Path) -> Any:
    """A value of the file as the option takes it."""
    name = option.name
    kind: type = str
    if option.is_flag:
        kind = bool
    elif isinstance(option.type, click.types.IntParamType):
        kind = int
    value: Any = given
    if type(given) is not kind:
        raise InvalidSettingsError(
            f"{path}: {name} must be {_WORDS[kind]}, not {given!r}"
        )
    if kind is bool:
        return value
    if isinstance(option.type, click.Path):
        try:
            value = path.parent / Path(value).expanduser()
        except RuntimeError as error:
            raise InvalidSettingsError(f"{path}: {name}: {error}") from error
    try:
        return option.type.convert(value, option, None)
    except click.UsageError as error:
        raise InvalidSettingsError(f"{path}: {name}: {error.message}") from error


def _as_toml(value: Any) -> str:
    """A value as TOML has it, without what an address may carry of a name and a
    password; empty for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    words = re.sub(r"//[^/@]*@", "//(set)@", str(value))
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'
