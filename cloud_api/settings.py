"""The settings of `specsteer-cloud serve` by file and by environment.

Every option of the command can be a line of `cloud.toml` in the state folder, by the
option's name with `_` for `-`, and a variable, as `SPECSTEER_CLOUD_PORT` for `--port`.
What is typed counts before the environment, and that before the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from decoding_core.errors import InvalidSettingsError


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how long they may take."""

    connections: int = 2048
    """The household's and strangers' together."""
    reserve: int = 16
    """How many of these are left to strangers, so that health checks are answered
    however many the household has."""
    header_seconds: float = 10.0
    """From accepting a connection, or the first byte of a later request, to the end of
    the request's header."""
    body_seconds: float = 60.0
    """From the end of the header to the end of the body."""
    unread_seconds: float = 30.0
    """How long an answer may wait for a client that does not read."""
    unread_bytes: int = 32 << 20
    """Answers that one user's clients, or strangers from one network, have not read;
    beyond it the connection that holds the most is closed."""

    @property
    def known(self) -> int:
        """The most of the household's."""
        return self.connections - min(self.reserve, self.connections // 4)

    @property
    def known_per_user(self) -> int:
        """The most of one user."""
        return max(1, self.known // 2)

    @property
    def strangers(self) -> int:
        """The most strangers."""
        return max(1, self.connections // 2)

    @property
    def strangers_per_network(self) -> int:
        """The most strangers of one address, or of one IPv6 network."""
        return max(1, self.connections // 8)


@dataclass(frozen=True, slots=True)
class UserLimits:
    """What one user may have at once, on all devices together."""

    sessions: int = 128
    """Sessions remembered; beyond it the user's own longest unused is forgotten."""
    streams: int = 128
    """Open streams; beyond it the user's own oldest is ended."""
    prompt_tokens: int = 1 << 17
    """Tokens of texts of which no block was answered yet; beyond it the user's own
    oldest of them is forgotten."""
    openings: int = 64
    """Texts begun at once; more are asked to come back."""
    openings_per_second: float = 8.0
    """Texts begun in the long run."""
    unread_bytes: int = 32 << 20
    """Answers on streams that the devices have not read; beyond it the stream that
    holds the most is ended."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the service; those of the models belong to who loads them."""

    known_sessions: int = 256
    """Sessions remembered at once, their caches in memory or not."""
    idle_seconds: float = 600.0
    """A session that nobody used for so long is forgotten."""
    answer_bytes: int = 4 << 20
    """The largest answer; a session whose frames would be larger is refused."""
    kept_answer_bytes: int = 64 << 20
    """Answers kept for retries, of all sessions together; beyond it the oldest of the
    user who has the most are dropped."""
    body_bytes: int = 2 << 20
    """The largest body of a request."""
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections there may be, and how long they may take."""
    user: UserLimits = field(default_factory=UserLimits)
    """What one user may have at once."""
    openai: bool = False
    """Whether other programs may write with the generalist alone."""
    stop_seconds: float = 1.0
    """How long a stop waits for the rounds that are being verified."""


FILE_NAME = "cloud.toml"
PREFIX = "SPECSTEER_CLOUD"
OF_ONE_START = frozenset(
    {"announce", "exit_with_stdin", "print_settings", "token_from_stdin"}
)
"""Options of one start, which are no settings."""
SECRET = frozenset({"token"})
_LONGEST = 1 << 20
_WORDS = {bool: "true or false", int: "a whole number", str: "a text"}
_ORIGINS: dict[ParameterSource | None, str] = {
    ParameterSource.COMMANDLINE: "typed",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}


def read_file(path: Path, command: click.Command) -> dict[str, Any]:
    """The settings in the file, for the command's `default_map`; empty if there is no
    file. Paths are relative to the file's folder.

    Raises:
        InvalidSettingsError: the file cannot be read, or a setting is unknown or
            invalid.
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
    """The settings of a start with these options, as lines of TOML with the origin of
    each; secrets are not shown. `secrets` holds variables without an option, and
    whether each is set."""
    lines = []
    for option in settings_of(context.command):
        name = option.name or ""
        value, source = context.params[name], context.get_parameter_source(name)
        origin = _ORIGINS.get(source, "default")
        shown = as_toml("(set)" if name in SECRET and value else value)
        line = f"{name} = {shown}" if shown else f"# {name} is not set"
        lines.append(f"{line}  # {origin}" if shown else line)
    for name, is_set in secrets.items():
        lines.append(f"# the variable {name} is {'set' if is_set else 'not set'}")
    return "\n".join(lines)


def _checked(option: click.Option, value: Any, path: Path) -> Any:
    """A value of the file as the option takes it."""
    whole = isinstance(option.type, click.types.IntParamType)
    kind: type = bool if option.is_flag else int if whole else str
    try:
        if type(value) is not kind:
            raise ValueError(f"must be {_WORDS[kind]}, not {value!r}")
        if isinstance(option.type, click.Path):
            value = path.parent / Path(str(value)).expanduser()
        return option.type.convert(value, option, None)
    except click.UsageError as error:
        why = f": {error.message}"
    except (ValueError, RuntimeError) as error:
        why = f" {error}"
    raise InvalidSettingsError(f"{path}: {option.name}{why}")


def as_toml(value: Any) -> str:
    """A value as TOML, without the name and password of an address; empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    words = re.sub(r"//[^/@]*@", "//(set)@", str(value))
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
