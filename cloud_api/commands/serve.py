"""`specsteer-cloud serve`, and `init`, which writes its first settings.

Every option can be a line of `cloud.toml` in the state folder, by the option's name
with `_` for `-`, and a variable, as `SPECSTEER_CLOUD_PORT` for `--port`. What is typed
counts before the environment, and that before the file.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from base.addresses import is_loopback
from base.owner_only import write_whole
from cloud_api.announcing import PORT
from cloud_api.auth import check_token
from cloud_api.engine.models import ModelOptions, StockAddress
from decoding_core.errors import InvalidSettingsError
from models.command_line import Command
from models.files import find, locate
from models.folders import state_folder
from models.running.settings import DEVICES, PRECISIONS, EngineSettings

FILE_NAME = "cloud.toml"
_LONGEST_FILE, _LONGEST_TOKEN = 1 << 20, 4096
_OF_ONE_START = {
    *("address_file", "exit_with_stdin", "print_settings", "token_from_stdin")
}
"""Options of one start, which are no settings."""
_KINDS = {bool: "true or false", int: "a whole number", str: "a text"}
_ORIGINS: dict[ParameterSource | None, str] = {
    ParameterSource.COMMANDLINE: "typed",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}
KEYS = "SPECSTEER_GENERALIST_KEY", "SPECSTEER_BASE_KEY"
"""Variables with the keys of stock servers."""
FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


class Serve(Command):
    """Takes its options from the environment and from `cloud.toml`, too; but for the
    server that another program starts for itself, which says all it means."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """As click does it; an invalid file is one sentence."""
        if not {"--exit-with-stdin", "--help", "-h", "--help-all"} & {*args}:
            extra.setdefault("auto_envvar_prefix", "SPECSTEER_CLOUD")
            extra.setdefault("default_map", self.read_file(state_folder() / FILE_NAME))
        return super().make_context(info_name, args, parent, **extra)

    @property
    def settings(self) -> dict[str, click.Option]:
        """The options that can be lines of the file, by their names in it."""
        options = [one for one in self.params if isinstance(one, click.Option)]
        named = {one.name or "": one for one in options}
        return {name: named[name] for name in named if name not in _OF_ONE_START}

    def read_file(self, path: Path) -> dict[str, Any]:
        """The settings in the file; empty if there is none. Paths are relative to the
        file's folder. Raises InvalidSettingsError if the file cannot be read, or a
        setting is unknown or invalid."""
        if not path.exists():
            return {}
        try:
            with path.open("rb") as file:
                data = file.read(_LONGEST_FILE + 1)
            if len(data) > _LONGEST_FILE:
                raise ValueError("it is too large")
            body = tomllib.loads(data.decode("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
        unknown = [name for name in body if name not in self.settings]
        if unknown:
            known = ", ".join(sorted(self.settings))
            raise InvalidSettingsError(
                f"{path}: there is no setting '{unknown[0]}'; known are: {known}"
            )
        return {name: _checked(self.settings[name], body[name], path) for name in body}

    def print_settings(self, context: click.Context) -> None:
        """Print the settings of a start with these options as lines of TOML, with the
        origin of each and without secrets."""
        for name in self.settings:
            value = context.params[name]
            shown = as_toml("(set)" if name == "token" and value else value)
            origin = _ORIGINS.get(context.get_parameter_source(name), "default")
            is_set = f"{name} = {shown}  # {origin}"
            click.echo(is_set if shown else f"# {name} is not set")
        for key in KEYS:
            state = "set" if key in os.environ else "not set"
            click.echo(f"# the variable {key} is {state}")


def _checked(option: click.Option, value: Any, path: Path) -> Any:
    """A value of the file as the option takes it."""
    whole = isinstance(option.type, click.types.IntParamType)
    kind: type = bool if option.is_flag else int if whole else str
    try:
        if type(value) is not kind:
            raise ValueError(f"must be {_KINDS[kind]}, not {value!r}")
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


_PATH = click.Path(path_type=Path)
_PORT = click.IntRange(0, 65535)


def _option(name: str, about: str, **more: Any) -> Callable[[FC], FC]:
    """An option, which shows its default if it has one."""
    return click.option(name, help=about, show_default="default" in more, **more)


def _flag(name: str, about: str) -> Callable[[FC], FC]:
    return click.option(name, is_flag=True, help=about)


_generalist_option = _option(
    "--generalist",
    "GGUF file or folder of the large model; default: the embedded one.",
    type=_PATH,
)


@click.command("serve", cls=Serve)
@_option("--host", "Where to listen.", default="127.0.0.1")
@_option("--port", "0: any free port.", default=PORT, type=_PORT)
@_generalist_option
@_option(
    "--base",
    "The same of the small model, without history; default: the embedded one with the "
    "embedded generalist, else none.",
    type=_PATH,
)
@_flag(
    "--allow-remote",
    "Answer other machines also without TLS, in a network that is trusted.",
)
@_flag("--openai", "Let other programs write with the generalist alone, at /openai/v1.")
@_option(
    "--threads",
    "Threads per model; default: measured once on this machine.",
    type=click.IntRange(1),
)
@_flag(
    "--print-settings",
    "Print what a start like this would be set to, secrets left out, and end.",
)
@_option(
    "--generalist-url",
    "A vLLM server or llama-server that runs the large model, such as "
    "http://127.0.0.1:8000; its key, if it wants one, in SPECSTEER_GENERALIST_KEY.",
    metavar="URL",
)
@_option(
    "--generalist-model",
    "Which of that server's models, where it serves several.",
    metavar="NAME",
)
@_option(
    "--generalist-tokenizer",
    "GGUF file, or folder with a tokenizer.json, that has that model's tokens; "
    "default: those of the base, or the file of a llama-server on this machine.",
    type=_PATH,
)
@_option(
    "--base-url",
    "A second vLLM server, which nobody else may ask, that runs the base; its key in "
    "SPECSTEER_BASE_KEY.",
    metavar="URL",
)
@_option(
    "--base-model", "Which of its models, where it serves several.", metavar="NAME"
)
@_flag(
    "--no-base", "Load no base: serve devices that run it themselves, with --base edge."
)
@_option(
    "--sessions",
    "Texts whose caches are kept in memory at once.",
    default=4,
    type=click.IntRange(1, 255),
)
@_option(
    "--context",
    "Tokens per text; default: what both models were trained for, up to 8192.",
    type=click.IntRange(128),
)
@_option(
    "--kv-tokens",
    "The most tokens that the caches of all texts hold together: a long text may take "
    "what short ones leave, and one that nobody writes at is read anew when its next "
    "block comes; default: --context for each of --sessions.",
    type=click.IntRange(1024),
)
@_option(
    "--token",
    "The bearer token; default: one made once and kept in a file.",
    envvar="SPECSTEER_CLOUD_TOKEN",
    show_envvar=True,
)
@_flag("--token-from-stdin", "Read the token from the first line of standard input.")
@_option(
    "--engine",
    "What runs the models: llama_cpp, transformers; auto: a GGUF file by the first, a "
    "folder by the second.",
    default="auto",
)
@_option(
    "--device",
    "Where transformers computes.",
    default="auto",
    type=click.Choice(DEVICES),
)
@_option(
    "--precision",
    "In which numbers transformers computes; auto: float32 on a CPU.",
    default="auto",
    type=click.Choice(PRECISIONS),
)
@_option(
    "--gpu-layers",
    "Layers that llama.cpp runs on Metal or CUDA, -1 for all; default: all where it "
    "was built for such a device and finds one.",
    type=click.IntRange(-1),
)
@_flag(
    "--flash-attention", "Use it, as the devices then must too; on CPUs it is slower."
)
@_flag(
    "--exact",
    "Give single tokens the same figures as blocks, so that a seed repeats a text of a "
    "method that drafts nothing too, however often it is read anew; slower, for F16, "
    "Q8_0, Q5_0 and Q4_0 on x86 CPUs and with --sessions 1.",
)
@_flag(
    "--announce",
    "Tell whoever asks the network for a household server this machine's name and the "
    "port, so that 'specsteer pair' finds it by a code alone.",
)
@_option(
    "--address-file",
    "Also write the line with the address to this file.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@_option(
    "--tls-certificate",
    "PEM file of a certificate to show; default: one made at the first start.",
    type=_PATH,
)
@_option(
    "--tls-key",
    "PEM file of its key, without a passphrase; default: the same file.",
    type=_PATH,
)
@_flag(
    "--exit-with-stdin",
    "End when standard input ends: with the program that started this one.",
)
@_option(
    "--unload-after",
    "Free the models' memory when nobody has asked for so long; 0: never.",
    default=0,
    type=click.IntRange(0, 10_000),
    metavar="MINUTES",
)
@click.pass_context
def serve(ctx: click.Context, /, **options: Any) -> None:
    """Verify drafts until stopped.

    Prints one line of JSON with the address to standard output. Options can also be
    lines of cloud.toml, which 'specsteer-cloud init' writes, or variables such as
    SPECSTEER_CLOUD_PORT.
    """
    if options["print_settings"]:
        serve.print_settings(ctx)
        return
    # FastAPI costs half a second to import; --help does without.
    from cloud_api import run
    from cloud_api.admission import admission

    wanted = models_wanted(options)
    token, folder = options["token"], state_folder()
    if options["token_from_stdin"]:
        token = _token_of_stdin()
    with ExitStack() as before_leaving:
        if token is None:
            gateway = isinstance(wanted.generalist, StockAddress)
            before_leaving.enter_context(run.state_lock(folder, shared=gateway))
        admitted = before_leaving.enter_context(
            admission(
                folder,
                token,
                remote=not is_loopback(options["host"]),
                certificate_file=options["tls_certificate"],
                key_file=options["tls_key"],
            )
        )
        names = "host", "port", "allow_remote", "announce", "address_file", "openai"
        where = {name: options[name] for name in (*names, "exit_with_stdin")}
        ended = run.serve(wanted, admitted, **where)
    if not ended:
        # The engine is still inside llama.cpp; unloading it now could crash.
        sys.stderr.flush()
        os._exit(0)


def models_wanted(options: Mapping[str, Any]) -> ModelOptions:
    """The models that a start with these options serves. Raises UsageError for options
    that exclude each other, ModelError for a file that is missing or no model, and
    InvalidSettingsError for an invalid address."""
    url, base_url = options["generalist_url"], options["base_url"]
    generalist, base, no_base = (
        options[name] for name in ("generalist", "base", "no_base")
    )
    of_url = options["generalist_model"] or options["generalist_tokenizer"] or base_url
    wrong = {
        "--generalist-model, --generalist-tokenizer and --base-url go with "
        "--generalist-url": of_url and not url,
        "--base-model goes with --base-url": options["base_model"] and not base_url,
        "--generalist and --generalist-url exclude each other": url and generalist,
        "--kv-tokens is for models that run here; a vLLM server has its own budget": url
        and options["kv_tokens"],
        "--base-url excludes --base and --no-base": base_url and (base or no_base),
        "--base and --no-base exclude each other": base and no_base,
    }
    for sentence, is_so in wrong.items():
        if is_so:
            raise click.UsageError(sentence)
    large: Path | StockAddress
    small: Path | StockAddress | None = None
    if url:
        large = _stock(url, options["generalist_model"], KEYS[0])
    else:
        large = find(generalist) if generalist else locate("generalist")
    if base_url:
        small = _stock(base_url, options["base_model"], KEYS[1])
    elif base:
        small = find(base)
    elif no_base or generalist or url:
        said = "no base is loaded: devices run it themselves, with --base edge"
        click.echo(said, err=True)
    else:
        small = locate("specialist")
    names = ("engine", "device", "precision", "threads")
    more = ("gpu_layers", "flash_attention", "exact")
    minutes = options["unload_after"]
    return ModelOptions(
        large,
        small,
        options["sessions"],
        options["context"],
        EngineSettings(**{name: options[name] for name in (*names, *more)}),
        options["generalist_tokenizer"],
        options["kv_tokens"],
        unload_seconds=60.0 * minutes if minutes else None,
    )


def _stock(url: str, model: str | None, key: str) -> StockAddress:
    """A server of another kind. Its key comes from the environment, as arguments can be
    read by others. Raises InvalidSettingsError."""
    # An HTTP client comes with it, which a server without these options never loads.
    from cloud_api.engine.stock_client import checked_url

    checked_url(url)
    return StockAddress(url, model or "", os.environ.get(key, ""))


def _token_of_stdin() -> str:
    """The token from the first line of standard input, where other programs cannot read
    it as they can arguments and the environment; raises InvalidSettingsError."""
    line = sys.stdin.buffer.readline(_LONGEST_TOKEN + 1) if sys.stdin else b""
    if len(line) > _LONGEST_TOKEN:
        raise InvalidSettingsError("the first line of standard input is no token")
    return check_token(line.decode("utf-8", "replace").strip())


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
# Tell the local network where the server is: a code alone pairs a device then.
# announce = false

# Texts whose caches are kept in memory at once.
# sessions = 4
# Minutes after which the models' memory is given back when nobody has asked; 0: never.
# unload_after = 0
# Let other programs of the house write with the large model alone, at /openai/v1.
# openai = false
"""
_NEXT = """\
The settings are in {path}.
Next:
  specsteer-cloud doctor       look whether all is in place
  specsteer-cloud serve        run the server; Ctrl-C stops it
  specsteer-cloud pair NAME    let a device in, from a second terminal"""


@click.command("init", cls=Command)
@_generalist_option
@_option("--base", "The same of the small model that the devices use.", type=_PATH)
@_option("--host", "Where to listen; default: this machine alone.")
@_option("--port", f"Default: {PORT}.", type=_PORT)
@_flag("--allow-remote", "Listen on an address that others reach.")
@_flag("--force", "Replace the file that is there.")
def init(force: bool, **given: Any) -> None:
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
        "port": PORT,
        "allow_remote": False,
    }
    lines = {
        name: f"{'' if given[name] else '# '}{name} = {as_toml(given[name] or usual)}"
        for name, usual in defaults.items()
    }
    write_whole(path, _FILE.format_map(lines).encode())
    click.echo(_NEXT.format(path=path))
