"""The keys of all actions, each of which can have others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import legible
from edge_app.tui.keys import Action, keys_of, show_key
from edge_app.tui.saving import why_not
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.settings.keymap import EVERY, how_to_leave, why_no_key
from edge_app.tui.settings.preferences import Preferences
from personal_store.errors import StoreError


class KeyCatcher(Static, can_focus=True):
    """Takes the next key, whatever it does elsewhere."""

    TAKES_ALL_KEYS = True
    """Also those that come before whatever has the focus."""

    class Caught(Message):
        """A key was pressed."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_key(self, event: events.Key) -> None:
        """Post the key, and let nobody else have it."""
        event.stop()
        event.prevent_default()
        self.post_message(self.Caught(event.key))


class KeysDrawer(Drawer):
    """Lists all actions with their keys; Enter waits for another key."""

    NAME = "keys"
    TITLE = "Keys"
    AUTO_FOCUS = "#list"
    FOOT = "enter another key · + one more · del the usual · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "add", "One more", show=False),
        Binding("delete", "reset", "Usual", show=False),
    ]

    class Changed(Message):
        """An action has other keys now."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._adds = False

    def contents(self) -> Iterable[Widget]:
        """A line that says what to do, the list, what came of it."""
        yield KeyCatcher(classes="note", markup=False)
        yield OptionList(id="list")
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """List the actions, and say what of the file could not be."""
        self._list()
        self._say("; ".join(self._preferences.problems))

    def action_add(self) -> None:
        """Wait for one more key of the chosen action."""
        self._wait(adds=True)

    @on(OptionList.OptionSelected)
    def _select(self) -> None:
        self._wait(adds=False)

    def action_reset(self) -> None:
        """Give the chosen action its usual keys."""
        self._keep(None)

    def _wait(self, *, adds: bool) -> None:
        self._adds = adds
        self.query_one(KeyCatcher).update(
            f"press a key for {self._chosen().label}; esc keeps what it has"
        )
        self.query_one(KeyCatcher).focus()

    @on(KeyCatcher.Caught)
    def _caught(self, event: KeyCatcher.Caught) -> None:
        self.query_one(OptionList).focus()
        self.query_one(KeyCatcher).update("")
        action, key = self._chosen(), event.key
        if key == "escape" and action.id != "stop":
            return
        owner = next((one for one in EVERY.values() if key in keys_of(one)), action)
        problem = why_no_key(key)
        if not problem and owner is not action:
            problem = (
                f"{show_key(key)} is the key of {owner.label}: give that another first"
            )
        if problem:
            self._say(problem)
            return
        had = [one for one in keys_of(action) if one != key] if self._adds else []
        self._keep(",".join([*had, key]))

    def _keep(self, keys: str | None) -> None:
        action = self._chosen()
        try:
            news = self._preferences.keep_keys(action.id, keys)
        except (DecodingError, StoreError) as error:
            self._say(str(error))
            return
        except OSError as error:
            self._say(f"the settings cannot be written: {why_not(error)}")
            return
        self.post_message(self.Changed())
        shown = self._preferences.keymap.get(action.id, action.keys).split(",")
        have = " ".join(map(show_key, shown))
        said = [f"{action.label} has {have}", *news]
        if action.id in ("quit", "leave", "palette"):
            said.append(how_to_leave(self._preferences.keymap))
        self._say("; ".join(said))
        self.call_after_refresh(self._list)

    def _list(self) -> None:
        options = self.query_one(OptionList)
        at = options.highlighted or 0
        lines = []
        for action in EVERY.values():
            keys = self._preferences.keymap.get(action.id, action.keys).split(",")
            line = Text(f"{action.label:<16} {' '.join(map(show_key, keys)):<24} ")
            line.append(action.id, "dim")
            if action.id in self._preferences.keymap:
                line.append(" (yours)", "dim")
            lines.append(Option(line))
        options.clear_options()
        options.add_options(lines)
        options.highlighted = min(at, len(lines) - 1)

    def _chosen(self) -> Action:
        at = self.query_one(OptionList).highlighted or 0
        return list(EVERY.values())[at]

    def _say(self, sentence: str) -> None:
        self.query_one("#result", Static).update(legible(sentence))
