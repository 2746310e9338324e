"""What a person has set once: `settings.toml` in the state folder."""

from __future__ import annotations

import json
import math
import os
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from decoding_core.errors import InvalidSettingsError
from decoding_core.settings import MethodSettings
from edge_app.config.sealed import STORE_NAME, read_file, write_file
from models.folders import state_folder
from models.running.settings import EngineSettings

if TYPE_CHECKING:
    from decoding_core.verifier import VerifierRole

_SEEDS = 1 << 53  # nobody can guess one (docs/privacy.md); JSON keeps 53 bits
SETTINGS, ALLOWED, PAIRED = "settings", "list of allowed phrases", "paired server"
"""What these files are called in their seals."""
PAIRED_NAME = "paired-server.json"
TOKEN_VARIABLE = "SPECSTEER_TOKEN"  # noqa: S105 (a name, no secret)
GuardMode = Literal["placeholder", "local", "ask", "off"]
"""What becomes of private words: a stand-in of their kind is sent; a neutral one is;
the person is asked whether they may leave; nothing is looked at."""


@dataclass(frozen=True, slots=True)
class PrivacyLimits:
    """How many nats may be told of the history; None: any number."""

    text: float | None = None  # by what leaves for one text
    day: float | None = None  # by what leaves for one server on one day
    mixture: float | None = None
    """By one draw without a limit, or once it is spent; None: 0 with a limit."""

    def __post_init__(self) -> None:
        named = ("budget", self.text), ("budget of a day", self.day)
        for name, nats in (*named, ("mixture", self.mixture)):
            if nats is not None and not 0.0 <= nats < math.inf:
                raise InvalidSettingsError(
                    f"the privacy {name} must be a number of nats from 0, not {nats:g}"
                )

    @property
    def binds(self) -> bool:
        """Whether there is any limit."""
        return not (self.text is self.day is self.mixture is None)

    def check(self, role: VerifierRole) -> None:
        """Raise InvalidSettingsError if no limit can be kept."""
        if not self.binds or not role.uses_generalist:
            return
        if role.terms.temperature == 0.0:
            raise InvalidSettingsError(
                "a privacy budget needs a temperature above 0: at 0 nothing is drawn, "
                "so what a token tells has no bound"
            )
        if role.draws_bonus:
            raise InvalidSettingsError(
                'a privacy budget needs bonus_from = "none": whether a bonus is drawn '
                "depends on your history"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """The device's settings; every field can be a line of `settings.toml`."""

    server: str = ""  # address of a verifier server; empty: one is started here
    also_at: str = ""  # further https addresses of its household, tried in turn
    token: str = field(default="", repr=False)  # what `server` asks for
    token_in_clear: bool = False  # send the token also if the address is not encrypted
    certificate: str = field(default="", repr=False)
    """The only certificate, as PEM, that is taken at `server`; `specsteer pair` keeps
    that of the paired server by itself."""
    specialist: str = ""  # path of a GGUF file or folder; empty: the embedded model
    generalist: str = ""  # the same for the server that is started on this machine
    engine: str = "auto"  # what runs models: llama_cpp, transformers; auto: by file
    device: str = "auto"  # where transformers computes: cpu, cuda, mps; auto: fastest
    precision: str = "auto"  # of transformers: float32, bfloat16; auto: either
    threads: int | None = None  # None: measured once on this machine
    gpu_layers: int | None = None  # of llama.cpp; None: all if there is a GPU
    flash_attention: bool = False  # as on the server; slower on CPUs
    exact: bool = False  # blocks and single steps give the same bits; slower
    personalisation: str = "bm25"  # what of the history the specialist reads
    reranker: str = ""  # path of a GGUF that chooses among texts; empty: none
    lora: str = ""  # name or path of a LoRA of the specialist; empty or "off": none
    lora_scale: float = 1.0  # how strongly it counts
    ledger_days: float = 90.0  # how long sent messages are kept; 0: for ever
    cadence: float = 0.0  # milliseconds between two rounds to the server; 0: none
    privacy_budget: float | None = None  # nats that a text may tell; None: any number
    privacy_budget_day: float | None = None  # nats that a day may tell a server
    privacy_mixture: float | None = None  # nats a token may tell if no budget is left
    guard: GuardMode = "placeholder"  # what becomes of names, numbers and phrases
    guard_region: str = ""  # country of national phone numbers; empty: of the texts
    theme: str = ""  # colours of the app; empty: what fits the terminal
    ascii: bool = False  # draw borders and signs with letters that every terminal has
    keys: dict[str, str] = field(default_factory=dict)
    """Table `[keys]`: keys of the app's actions, such as `draft = "ctrl+j,f5"`."""
    method: MethodSettings = field(
        default_factory=lambda: MethodSettings(
            temperature=0.4, top_p=0.95, seed=secrets.randbelow(_SEEDS)
        )
    )
    """Table `[method]`: threshold, strength, draft_length, temperature and so on."""

    def engine_settings(self) -> EngineSettings:
        """How the specialist is run."""
        names = [one.name for one in fields(EngineSettings) if hasattr(self, one.name)]
        return EngineSettings(**{name: getattr(self, name) for name in names})


def defaults(*, own_models: bool) -> Settings:
    """What nobody has set. At the temperature for models of one's own one draft in
    eight of the practice pair holds words that nobody would send."""
    settings = Settings()
    if own_models:
        method = replace(settings.method, temperature=0.7)
        settings = replace(settings, method=method)
    return settings


_Table = TypeVar("_Table", Settings, MethodSettings)
_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


def settings_path() -> Path:
    """The settings file."""
    return state_folder() / "settings.toml"


def store_path() -> Path:
    """The file of the history."""
    return state_folder() / STORE_NAME


def sample_store_path() -> Path:
    """The file of the sample history, which never mixes with the person's own."""
    return state_folder() / "sample.db"


def expanded(words: str) -> Path:
    """A path with `~`; raises InvalidSettingsError if there is no such home folder."""
    try:
        return Path(words).expanduser()
    except RuntimeError as error:
        raise InvalidSettingsError(f"there is no such home folder: {words}") from error


def allowed_path() -> Path:
    """The file of the phrases that the guard lets leave."""
    return state_folder() / "allowed.txt"


def read_allowed() -> tuple[str, ...]:
    """The phrases that the guard lets leave, in order; raises StoreLockedError."""
    path = allowed_path()
    if not path.exists():
        return ()
    lines = read_file(path, ALLOWED, store_path()).decode("utf-8", "replace")
    return tuple(line for line in map(str.strip, lines.splitlines()) if line)


def keep_allowed(phrases: tuple[str, ...]) -> None:
    """Keep these phrases and no others; sealed with the store."""
    data = "".join(f"{phrase}\n" for phrase in phrases).encode()
    write_file(allowed_path(), data, ALLOWED, store_path())


def ledger_path() -> Path:
    """The file of the ledger."""
    return state_folder() / "ledger.jsonl"


def read_settings(path: Path | None = None) -> Settings:
    """The settings, or the defaults without a file. Raises InvalidSettingsError, and
    StoreLockedError if it is sealed with a key that cannot be had."""
    path, settings = path or settings_path(), Settings()
    if path.exists():
        try:
            text = read_file(path, SETTINGS, path.with_name(STORE_NAME)).decode()
        except (OSError, ValueError) as error:
            raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
        settings = check_settings(text, path)
    paired = read_paired(path.parent)
    if paired is not None and settings.server.rstrip("/") in ("", paired.server):
        settings = replace(
            settings,
            server=paired.server,
            token=settings.token or paired.token,
            certificate=settings.certificate or paired.certificate,
        )
    return replace(settings, token=os.environ.get(TOKEN_VARIABLE) or settings.token)


def write_settings(
    changes: Mapping[str, str | float | bool | None], path: Path | None = None
) -> Path:
    """Set values such as `server` or `method.strength`, whole or not at all; None takes
    a line out, and all other lines and comments stay. Returns the file. Raises
    InvalidSettingsError if the file or a value is invalid."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import InlineTable, Table

    path = (path or settings_path()).resolve()
    store = path.with_name(STORE_NAME)
    # As bytes: line ends stay.
    before = read_file(path, SETTINGS, store).decode() if path.exists() else ""
    try:
        body = tomlkit.parse(before)
        for name, value in changes.items():
            table, _, own = name.rpartition(".")
            within: Any = body.setdefault(table, tomlkit.table()) if table else body
            if not isinstance(within, tomlkit.TOMLDocument | Table | InlineTable):
                raise InvalidSettingsError(
                    f"{path}: [{table}] is a table, not {within!r}"
                )
            if value is None:
                within.pop(own, None)
            else:
                within[own] = value
    except TOMLKitError as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
    text = tomlkit.dumps(body)
    check_settings(text, path)  # nothing is kept that could not be read again
    # The file may hold a token: nobody else can read it, whoever could before.
    write_file(path, text.encode(), SETTINGS, store)
    return path


def check_settings(text: str, path: Path) -> Settings:
    """The settings in a text; raises InvalidSettingsError that names `path`."""
    try:
        body = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
    table, keys = body.pop("method", {}), body.pop("keys", {})
    for name, given in (("method", table), ("keys", keys)):
        if not isinstance(given, dict):
            raise InvalidSettingsError(f"{path}: [{name}] is a table, not {given!r}")
    for name, value in keys.items():
        if not isinstance(value, str):
            raise InvalidSettingsError(f"{path}: the keys of {name} are a text")
    try:
        own_models = bool(body.get("specialist") or body.get("generalist"))
        method = _replaced(defaults(own_models=own_models).method, table)
        settings = _replaced(Settings(method=method, keys=keys), body)
        settings.engine_settings()  # checks what it is made of
    except InvalidSettingsError as error:
        raise InvalidSettingsError(f"{path}: {error}") from error
    return settings


def _replaced(defaults: _Table, changes: dict[str, Any]) -> _Table:
    kinds = get_type_hints(type(defaults))
    for name, value in changes.items():
        if name not in kinds:
            raise InvalidSettingsError(
                f"there is no setting '{name}'; known are: {', '.join(sorted(kinds))}"
            )
        if not fits(value, kinds[name]):
            raise InvalidSettingsError(
                f"{name} must be {in_words(kinds[name])}, not {value!r}"
            )
    return replace(defaults, **changes)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value of TOML is of a setting's type."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_args(kind):
        return any(fits(value, one) for one in get_args(kind))
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def in_words(kind: Any) -> str:
    """What a value of a setting's type is called."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if get_args(kind):
        return in_words(get_args(kind)[0])
    return _WORDS[kind]


@dataclass(frozen=True, slots=True)
class PairedServer:
    """The server that this device was paired with."""

    server: str  # its address
    token: str = field(repr=False)
    certificate: str = field(repr=False)
    """The only accepted certificate, as PEM; empty: an authority vouches for it."""
    user: str  # whose device the server takes this one for
    name: str  # what the server calls it


def read_paired(folder: Path) -> PairedServer | None:
    """The paired server, if any; raises InvalidSettingsError and StoreLockedError."""
    path = folder / PAIRED_NAME
    if not path.is_file():
        return None
    try:
        said = json.loads(read_file(path, PAIRED, folder / STORE_NAME))
        values = {one.name: said[one.name] for one in fields(PairedServer)}
        if not all(isinstance(value, str) for value in values.values()):
            raise TypeError
        return PairedServer(**values)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidSettingsError(
            f"{path} cannot be read: remove it ('specsteer unpair'), and pair again"
        ) from error


def write_paired(folder: Path, paired: PairedServer) -> None:
    """Keep a paired server in place of the one before; sealed with the store."""
    data = f"{json.dumps(asdict(paired))}\n".encode()
    write_file(folder / PAIRED_NAME, data, PAIRED, folder / STORE_NAME)
