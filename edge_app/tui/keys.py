"""Every action once: its key, its other keys, what it does, and where it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType

from models.prompts import TASKS


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the page; `id` is what a keymap names."""

    id: str
    action: str
    keys: str
    """The first is shown."""
    label: str
    does: str
    shown: bool = False
    """Whether the footer has it."""
    everywhere: bool = False
    """Whether it works above the drawers, too."""

    def binding(self) -> Binding:
        """As Textual wants it."""
        return Binding(
            self.keys,
            self.action,
            self.label,
            show=self.shown,
            tooltip=self.does,
            id=self.id,
        )


ACTIONS = (
    Action("draft", "draft", "ctrl+j,ctrl+enter,alt+enter,f5", "Draft",
           "write what the brief asks for", shown=True),
    Action("stop", "stop", "escape", "Stop",
           "stop writing; every settled word stays", shown=True),
    Action("again", "again", "ctrl+r,f6", "Again",
           "write another version, or what is selected anew; all are kept", shown=True),
    Action("go_on", "go_on", "ctrl+g", "Go on", "write on from the cursor"),
    Action("save", "save", "ctrl+s", "Save", "save the text to a file", shown=True),
    Action("help", "app.drawer('help')", "f1", "Help", "keys, and what the looks mean",
           shown=True, everywhere=True),
    Action("sources", "app.drawer('sources')", "f2,ctrl+f", "Sources",
           "which letters were read; leave some out",
           shown=True, everywhere=True),
    Action("sent", "app.drawer('sent')", "f3", "Sent",
           "what left this device, to the last byte", shown=True, everywhere=True),
    Action("numbers", "app.drawer('numbers')", "f4", "Numbers",
           "numbers, and how they are reckoned", everywhere=True),
    Action("compare", "app.drawer('compare')", "f9", "Compare",
           "two versions side by side; space takes a sentence",
           shown=True, everywhere=True),
    Action("earlier", "flip(-1)", "f7", "Earlier", "the version before this one"),
    Action("later", "flip(1)", "f8", "Later", "the version after this one"),
    Action("offline", "app.offline", "ctrl+t", "Offline",
           "write on this device alone, or with the checker again", everywhere=True),
    Action("import", "app.drawer('import')", "ctrl+o", "Your letters",
           "read your own letters into the store", everywhere=True),
    Action("new", "app.new", "ctrl+n", "New",
           "put this draft aside, and begin another"),
    Action("drafts", "app.drawer('drafts')", "ctrl+l", "Drafts",
           "your drafts: find one, go on with it, or throw it away", everywhere=True),
    Action("reply", "app.drawer('reply')", "alt+r", "Answer",
           "answer a letter that you received", everywhere=True),
    Action("style", "app.drawer('style')", "f12,alt+t", "Tone",
           "tone, and whether closer to you or to the checker", everywhere=True),
    *(Action(task, f"task('{task}')", f"alt+{at}", f"Write a {task}",
             f"ask for a text of the kind {task}") for at, task in enumerate(TASKS, 1)),
    Action("mailto", "mailto", "alt+m", "Mail link",
           "copy the text as a mailto: link"),
    Action("copy", "copy", "alt+c", "Copy", "copy the text, also over SSH"),
)  # fmt: skip

PAGE_BINDINGS: list[BindingType] = [action.binding() for action in ACTIONS]
DRAWER_BINDINGS: list[BindingType] = [
    action.binding() for action in ACTIONS if action.everywhere
]

_NAMED = {"escape": "Esc", "enter": "Enter", "delete": "Del"}


def show_key(key: str) -> str:
    """`ctrl+j` as `^J`, `f2` as `F2`, `delete` as `Del`."""
    if key in _NAMED:
        return _NAMED[key]
    return key.replace("ctrl+", "^").replace("alt+", "alt-").upper()
