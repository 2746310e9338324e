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


_SENT = re.compile(r"(ctrl|alt)\+[a-z]|f([1-9]|1[0-2])")
"""Keys that every terminal sends."""


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


def ways_out(keymap: Mapping[str, str]) -> list[str]:
    """The keys that leave the app with this keymap and that every terminal sends."""
    ending = (EVERY["leave"], EVERY["quit"])
    keys = ",".join(keymap.get(one.id, one.keys) for one in ending).split(",")
    return [key for key in keys if _SENT.fullmatch(key)]


def how_to_leave(keymap: Mapping[str, str]) -> str:
    """The keys that leave the app, and the other way, in a sentence."""
    palette = keymap.get("palette", EVERY["palette"].keys).split(",")[0]
    by_name = "" if palette == UNBOUND else f", and Quit in {show_key(palette)} does"
    return f"{' or '.join(map(show_key, ways_out(keymap)))} leaves{by_name}"


def resolved(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap that `[keys]` makes, by action, with the actions alone whose keys are
    other than usual; and a sentence for each thing that could not be as it says.

    A key that was asked for goes to who asked, and first to the action that stands
    first in the list; an action that loses all its keys has none. Where no key would
    leave the app that every terminal sends, the usual one does.
    """
    keymap, problems = _as_wanted(wanted)
    if ways_out(keymap):
        return keymap, problems
    leave, usual = EVERY["quit"], EVERY["quit"].keys
    others = {
        name: ",".join(key for key in keys.split(",") if key.strip() != usual)
        for name, keys in wanted.items()
    }
    asked = others.get(leave.id, "")
    others[leave.id] = f"{asked},{usual}" if asked else usual
    keymap, problems = _as_wanted(others)
    stays = f"{show_key(usual)} stays a key of {leave.label}"
    return keymap, [*problems, f"{stays}: else no key of every terminal would leave"]


def _as_wanted(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
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
