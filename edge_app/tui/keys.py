"""Every action: its keys, what it does, and where it is shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from textual.binding import Binding
from textual.keys import Keys

from models.prompts import TASKS, with_article

_TABLE = tomllib.loads(Path(__file__).with_name("keys.toml").read_text("utf-8"))


def _bindings(rows: Iterable[Sequence[str]]) -> Iterator[Binding]:
    shown, first = _TABLE["shown"].split(), _TABLE["first"].split()
    for name, action, keys, label, does in rows:
        more = name in shown, None, name in first, does, name
        yield Binding(keys, action, label, *more)


_TO_WRITE = [
    (task, f"task('{task}')", f"alt+{at}", f"Write {one}", f"ask for {one}")
    for at, (task, one) in enumerate(((t, with_article(t)) for t in TASKS), 1)
]
ACTIONS = (*_bindings(_TABLE["actions"]), *_bindings(_TO_WRITE))
APP_ACTIONS = (*_bindings(_TABLE["everywhere"]),)
"""Those that work on every screen, whatever has the focus."""

DRAWER_BINDINGS = [
    one for one in ACTIONS if one.action.startswith(("app.drawer", "app.offline"))
]
"""Those that work above the drawers, too."""

IN_BROWSER = {"offline": "alt+o,ctrl+t", "new": "alt+n,ctrl+n"}
"""Keys that a browser leaves to a page come first there: ^T, ^N and ^W are its own."""
UNBOUND = "unbound"
"""The key of an action that has lost its own to another: no terminal sends it."""
_NAMED = {"escape": "Esc", "enter": "Enter", "delete": "Del"}


EVERY = {one.id or "": one for one in (*ACTIONS, *APP_ACTIONS)}
"""All actions by the names that `[keys]` has for them."""
_used: dict[str, str] = {}


def use_keymap(keymap: Mapping[str, str]) -> None:
    """The actions that `keymap` names have its keys from now on."""
    _used.clear()
    _used.update(keymap)


def keys_of(name: str) -> list[str]:
    """The keys of an action that are in use; the first is shown."""
    return _used.get(name, EVERY[name].key).split(",")


def key_of(name: str) -> str:
    """The key of the action `name`, as it is shown."""
    return show_key(keys_of(name)[0])


def show_key(key: str) -> str:
    """`ctrl+j` as `^J`, `f2` as `F2`, `delete` as `Del`."""
    if key in _NAMED:
        return _NAMED[key]
    if key == UNBOUND:
        return "(no key)"
    return key.replace("ctrl+", "^").replace("alt+", "alt-").upper()


_MODIFIED = re.compile(r"(?:(?:ctrl|alt|shift|super|meta|hyper)\+)+(?P<key>.+)")
_KNOWN = {key.value for key in Keys if not key.value.startswith("<")}
_WRITING = {
    *("enter", "tab", "space", "backspace", "delete", "insert", "home", "end"),
    *("up", "down", "left", "right", "pageup", "pagedown", "shift+tab"),
}
_WAY_OUT = "ctrl+q"  # every terminal sends it, so it stays a key of Quit


def why_no_key(key: str) -> str:
    """Why an action cannot have this key; empty if it can."""
    if key in _WRITING:
        return f"{show_key(key)} is needed for writing"
    found = _MODIFIED.fullmatch(key)
    bare = found["key"] if found else key
    if found is None and len(key) == 1:
        return (
            f"{key} is a letter of a text: take one with ctrl or alt, or a function key"
        )
    if not (bare in _KNOWN or (found and len(bare) == 1 and bare.isprintable())):
        return f"there is no key '{key}'"
    return ""


def resolved(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap of the actions that `[keys]` gives other keys, and a sentence for each
    thing that cannot be as it says. A key goes to the first action that asks for it;
    Quit keeps its own beside others."""
    problems = [
        f"[keys] names no action '{name}'; known are: {', '.join(EVERY)}"
        for name in wanted
        if name not in EVERY
    ]
    taken = {_WAY_OUT: "quit"}
    asked: dict[str, list[str]] = {}
    for name in (name for name in EVERY if name in wanted):
        for key in filter(None, (one.strip() for one in wanted[name].split(","))):
            problem = why_no_key(key)
            if not problem and taken.setdefault(key, name) != name:
                other = EVERY[taken[key]].description
                problem = f"{show_key(key)} is already the key of {other}"
            if problem:
                problems.append(f"{EVERY[name].description}: {problem}")
            else:
                asked.setdefault(name, []).append(key)
    keymap = {}
    for name, action in EVERY.items():
        usual = action.key.split(",")
        keys = asked.get(name) or [key for key in usual if taken.get(key, name) == name]
        for key in usual if name not in asked else ():
            if key not in keys:
                none = "" if keys else f"; {action.description} has none"
                owner = EVERY[taken[key]].description
                problems.append(f"{show_key(key)} is the key of {owner} now{none}")
        if name == "quit" and _WAY_OUT not in keys:
            keys.append(_WAY_OUT)
        if keys != usual:
            keymap[name] = ",".join(keys) or UNBOUND
    return keymap, problems
