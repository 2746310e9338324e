"""Keys that a person gave actions: which can be keys, and whose they are where two
actions want the same."""

from __future__ import annotations

import re
from collections.abc import Mapping

from textual.keys import Keys

from edge_app.tui.keys import ACTIONS, APP_ACTIONS, UNBOUND, Action, show_key

EVERY: dict[str, Action] = {one.id: one for one in (*ACTIONS, *APP_ACTIONS)}
"""All actions by the names that `[keys]` has for them."""
_MODIFIED = re.compile(r"(?:(?:ctrl|alt|shift|super|meta|hyper)\+)+(?P<key>.+)")
_NAMED = {key.value for key in Keys if not key.value.startswith("<")}
_WRITING = {
    *("enter", "tab", "space", "backspace", "delete", "insert", "home", "end"),
    *("up", "down", "left", "right", "pageup", "pagedown", "shift+tab"),
}
"""Keys that a text needs."""


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
    if not (bare in _NAMED or (found and len(bare) == 1 and bare.isprintable())):
        return f"there is no key '{key}'"
    return ""


def resolved(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap that `[keys]` makes, by action, with the actions alone whose keys are
    other than usual; and a sentence for each thing that could not be as it says.

    A key that was asked for goes to who asked, and first to the action that stands
    first in the list; an action that loses all its keys has none.
    """
    problems = [
        f"[keys] names no action '{name}'; known are: {', '.join(EVERY)}"
        for name in wanted
        if name not in EVERY
    ]
    taken: dict[str, str] = {}
    asked: dict[str, list[str]] = {}
    for name in (name for name in EVERY if name in wanted):
        for key in filter(None, (one.strip() for one in wanted[name].split(","))):
            problem = why_no_key(key)
            if not problem and taken.get(key, name) != name:
                other = EVERY[taken[key]].label
                problem = f"{show_key(key)} is already the key of {other}"
            if problem:
                problems.append(f"{EVERY[name].label}: {problem}")
                continue
            taken[key] = name
            asked.setdefault(name, []).append(key)
    keymap = {}
    for name, action in EVERY.items():
        usual = action.keys.split(",")
        keys = asked.get(name) or [key for key in usual if taken.get(key, name) == name]
        if name not in asked and len(keys) < len(usual):
            lost = [key for key in usual if key not in keys]
            problems += [
                f"{show_key(key)} is the key of {EVERY[taken[key]].label} now"
                + ("" if keys else f"; {action.label} has none")
                for key in lost
            ]
        if keys != usual:
            keymap[name] = ",".join(keys) or UNBOUND
    return keymap, problems
