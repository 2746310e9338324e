"""Every action: its keys, what it does, and where it is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from textual.binding import Binding
from textual.keys import Keys

from models.prompts import TASKS, with_article


def _action(
    name: str,
    action: str,
    keys: str,
    label: str,
    does: str,
    *,
    shown: bool = False,
    first: bool = False,
) -> Binding:
    """An action, which a keymap names by `name`; the first of its keys is shown."""
    return Binding(keys, action, label, shown, None, first, does, name)


ACTIONS = (
    _action("draft", "draft", "ctrl+j,ctrl+enter,alt+enter,f5", "Draft",
            "write what the brief asks for", shown=True),
    _action("stop", "stop", "escape", "Stop",
            "stop writing; every settled word stays", shown=True),
    _action("again", "again", "ctrl+r,f6", "Again",
            "write another version, or what is selected anew; all are kept",
            shown=True),
    _action("turn", "turn", "alt+i", "Change it",
            "say in a line what to change: shorter, drop the ferret, mention the tape"),
    _action("tries", "tries", "alt+x", "Best of four",
            "write four drafts at once, and show the best; all are kept"),
    _action("go_on", "go_on", "ctrl+g", "Go on", "write on from the cursor"),
    _action("save", "save", "ctrl+s", "Save", "save the text to a file", shown=True),
    _action("help", "app.drawer('help')", "f1", "Help",
            "all keys, and what the looks mean", shown=True),
    _action("sources", "app.drawer('sources')", "f2,ctrl+f", "Sources",
            "which letters were read; leave some out", shown=True),
    _action("sent", "app.drawer('sent')", "f3", "Sent",
            "what left this device, to the last byte", shown=True),
    _action("numbers", "app.drawer('numbers')", "f4", "Numbers",
            "numbers, and how they are reckoned"),
    _action("compare", "app.drawer('compare')", "f9", "Compare",
            "two versions side by side; space takes a sentence", shown=True),
    _action("earlier", "flip(-1)", "f7", "Earlier", "the version before this one"),
    _action("later", "flip(1)", "f8", "Later", "the version after this one"),
    _action("offline", "app.offline", "ctrl+t,alt+o", "Offline",
            "write on this device alone, or with the checker again"),
    _action("import", "app.drawer('import')", "ctrl+o", "Your letters",
            "read your own letters into the store"),
    _action("new", "app.new", "ctrl+n,alt+n", "New",
            "put this draft aside, and begin another"),
    _action("drafts", "app.drawer('drafts')", "ctrl+l", "Drafts",
            "your drafts: find one, go on with it, or throw it away"),
    _action("why", "why", "alt+w", "Why this word",
            "where the word at the cursor came from; so does Enter on a word"),
    _action("copy", "copy", "alt+c,f10", "Copy", "copy the text, also over SSH"),
    _action("editor", "editor", "alt+e", "Editor",
            "change the text in $EDITOR; what you leave as it is keeps its origin"),
    _action("settings", "app.drawer('settings')", "alt+s", "Settings",
            "all settings: what they are, and who says so"),
    _action("models", "app.drawer('models')", "alt+p", "Models",
            "get a pair of models for this machine, check it, and use it"),
    _action("keys", "app.drawer('keys')", "alt+k", "Other keys",
            "give actions other keys"),
    _action("reply", "app.drawer('reply')", "alt+r", "Answer",
            "answer a letter that you received"),
    _action("style", "app.drawer('style')", "f12,alt+t", "Tone",
            "tone, and whether closer to you or to the checker"),
    _action("voice", "app.drawer('voice')", "alt+v", "Voice",
            "how you write, as your letters show it; change what is wrong"),
    *(_action(task, f"task('{task}')", f"alt+{at}", f"Write {with_article(task)}",
             f"ask for {with_article(task)}") for at, task in enumerate(TASKS, 1)),
    _action("mailto", "mailto", "alt+m", "Mail",
            "open the text in your mail program, or copy it as a mailto: link"),
)  # fmt: skip

APP_ACTIONS = (
    _action("palette", "app.command_palette", "ctrl+p", "palette",
            "every action by name", first=True),
    _action("suspend", "app.suspend_process", "ctrl+z,alt+z", "Suspend",
            "go back to the shell; fg comes back (^Z undoes first, where it can)"),
    _action("quit", "app.quit", "ctrl+q", "Quit", "leave; the draft is kept",
           first=True),
    _action("leave", "app.leave", "ctrl+c", "Leave", "copy what is selected, or leave",
           first=True),
)  # fmt: skip
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
