"""The settings as a list: what each is for, may be and is, and who says so.

It is read from the dataclasses of the settings: types give the values, the sentence
under a field its purpose.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from decoding_core.errors import InvalidSettingsError
from decoding_core.settings import MethodSettings
from edge_app.config.sealed import STORE_NAME, read_file
from edge_app.config.settings import (
    SETTINGS,
    TOKEN_VARIABLE,
    Settings,
    defaults,
    fits,
    in_words,
    read_paired,
    read_settings,
    settings_path,
)

Provenance = Literal["default", "file", "environment", "option", "pairing"]
SECRET = ("token", "certificate")  # never shown as they are
RESEARCH = "For researchers"  # the group of every setting that no other one names
_GROUPS = {
    "Writing": {
        "method.strength": "sounding like you",
        "method.threshold": "keeping your drafts",
        "method.temperature": "freedom of words",
        "personalisation": "your texts that are read",
        "lora": "personal adapter",
        "lora_scale": "weight of the adapter",
    },
    "What leaves this device": {
        "guard": "names and numbers",
        "guard_region": "country of phone numbers",
        "privacy_budget": "most told by a text",
        "privacy_budget_day": "most told in a day",
        "ledger_days": "days the ledger is kept",
    },
    "The checker": {
        "server": "address of the server",
        "also_at": "its other addresses",
        "token": "token of the server",
        "token_in_clear": "token without TLS",
        "certificate": "certificate it shows",
    },
    "Models": {
        "specialist": "model on this device",
        "generalist": "model of the checker",
        "threads": "threads of each model",
        "gpu_layers": "layers on a GPU",
    },
    "Looks": {"theme": "colours", "ascii": "plain lines and signs"},
}
"""A title for each setting, by group, in the order in which they are shown."""
_PLACES = {
    name: (group, title)
    for group, titles in _GROUPS.items()
    for name, title in titles.items()
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it stands."""

    name: str  # as in the file, with its table: `method.strength`
    help: str
    kind: Any
    value: Any
    default: Any
    said_by: Provenance

    @property
    def group(self) -> str:
        """What it belongs to, in a person's words."""
        return _PLACES.get(self.name, (RESEARCH, ""))[0]

    @property
    def title(self) -> str:
        """What a person would call it; the name in the file for researchers."""
        return _PLACES.get(self.name, ("", self.name))[1]

    @property
    def choices(self) -> tuple[str, ...]:
        """All values if these are few, else empty."""
        if self.kind is bool:
            return ("true", "false")
        return tuple(map(str, get_args(self.kind))) if _is_literal(self.kind) else ()

    @property
    def allowed(self) -> str:
        """Its possible values, in words."""
        kinds = [one for one in get_args(self.kind) if one is not NoneType]
        if not kinds or _is_literal(self.kind):
            kinds = [self.kind]
        return " or ".join(map(in_words, kinds))

    def shown(self, value: Any = ...) -> str:
        """A value of it as a person reads it, without `value` the present one."""
        value = self.value if value is ... else value
        if self.name in SECRET and value:
            return "(set)"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):
            return f"{value:g}"
        return "" if value is None else str(value)

    def parsed(self, typed: str) -> Any:
        """The typed value, None for nothing; raises InvalidSettingsError."""
        typed = typed.strip()
        if not typed:
            return None
        tried: list[Any] = [typed == "true"] if typed in ("true", "false") else []
        for number in (int, float):
            with suppress(ValueError):
                tried.append(number(typed))
        for value in (*tried, typed):
            if fits(value, self.kind):
                return value
        raise InvalidSettingsError(f"{self.name} must be {self.allowed}, not '{typed}'")


def list_settings(
    path: Path | None = None, options: Mapping[str, Any] | None = None
) -> list[Setting]:
    """All settings but the tables of keys: by group, those for researchers last and in
    the order of their classes. `options` are those of the command line. Raises as
    `read_settings` does."""
    path, options = path or settings_path(), options or {}
    now = read_settings(path)
    usual = defaults(own_models=bool(now.specialist or now.generalist))
    written: dict[str, Any] = {}
    if path.exists():
        store = path.with_name(STORE_NAME)
        written = tomllib.loads(read_file(path, SETTINGS, store).decode())
    paired = read_paired(path.parent)
    found = []
    for table, holder, plain in (
        ("", now, usual),
        ("method.", now.method, usual.method),
    ):
        kinds, sentences = get_type_hints(type(holder)), _sentences(type(holder))
        own = written.get("method", {}) if table else written
        for field in fields(holder):
            if field.name in ("method", "keys"):
                continue
            name = table + field.name
            value, default = getattr(holder, field.name), getattr(plain, field.name)
            by: Provenance = "file" if field.name in own else "default"
            if name == "token" and os.environ.get(TOKEN_VARIABLE):
                by = "environment"
            elif by == "default" and paired and value and name in ("server", *SECRET):
                by = "pairing"
            if name in options:
                value, by = options[name], "option"
            if name == "method.seed":
                default = None  # another one at each start
            help_ = sentences.get(field.name, "")
            found.append(Setting(name, help_, kinds[field.name], value, default, by))
    order = {name: at for at, name in enumerate(_PLACES)}
    return sorted(found, key=lambda one: order.get(one.name, len(order)))


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _sentences(holder: type[Settings | MethodSettings]) -> dict[str, str]:
    """The comment beside each field of a class, or the docstring below it."""
    source = textwrap.dedent(inspect.getsource(holder))
    tree: Any = ast.parse(source)
    found = {}
    for node, behind in pairwise([*tree.body[0].body, None]):
        if isinstance(node, ast.AnnAssign):
            beside = source.splitlines()[node.lineno - 1].partition("  # ")[2]
            said = f"{beside[:1].upper()}{beside[1:]}." if beside else ""
            if isinstance(behind, ast.Expr):
                said = ast.literal_eval(behind.value)
            found[ast.unparse(node.target)] = " ".join(said.split())
    return found
