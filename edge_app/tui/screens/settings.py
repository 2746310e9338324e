"""All settings: what each is for, what it is, and who says so; a change is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import legible, one_line
from edge_app.config.schema import SECRET, Setting, list_settings
from edge_app.config.settings import settings_path
from edge_app.tui.keys import EVERY, Action, how_to_leave, keys_of, show_key, why_no_key
from edge_app.tui.preferences import Preferences
from edge_app.tui.saving import why_not
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.widgets import LineInput
from personal_store.errors import StoreError

_NAMES = 24
_LONGEST = 30


class SettingsDrawer(Drawer):
    """Lists all settings; Enter changes one, Del takes it out of the file."""

    NAME = "settings"
    TITLE = "Settings"
    AUTO_FOCUS = "#list"
    FOOT = "enter changes · del takes the default · / searches · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", show=False),
        Binding("delete", "reset", "Default", show=False),
    ]

    class Changed(Message):
        """A setting was kept."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._every: list[Setting] = []
        self._listed: list[Setting | None] = []
        """What each line of the list is; None: the heading of a group."""
        self._query = ""
        self._changing: Setting | None = None

    def contents(self) -> Iterable[Widget]:
        """A line for a search or a value, the list, what the chosen one is for."""
        yield LineInput(name="search", placeholder="search the settings")
        yield Static(classes="note", markup=False)
        yield OptionList(id="list")
        yield Static(id="about", markup=False)
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """Read the settings and list them."""
        self._read()

    def action_search(self) -> None:
        """Focus the search field."""
        self._end_change()
        self.set_focus(self.query_one("#search"))

    def action_reset(self) -> None:
        """Take the chosen setting out of the file."""
        setting = self._chosen()
        if setting is not None:
            self._keep(setting, None)

    async def action_dismiss(self, result: None = None) -> None:
        """Leave the value alone that is being typed, else close."""
        if self._changing is not None:
            self._end_change()
            self.query_one(OptionList).focus()
            return
        await super().action_dismiss(result)

    @on(OptionList.OptionHighlighted)
    def _about(self) -> None:
        setting = self._chosen()
        if setting is None:
            return
        usual = setting.shown(setting.default) or "none"
        text = Text(f"{setting.help}\n" if setting.help else "")
        text.append(f"{setting.name}: {_said_by(setting)}", "dim")
        text.append(f"; {' or '.join(setting.choices) or setting.allowed}", "dim")
        text.append(f"; default {one_line(usual)}", "dim")
        self.query_one("#about", Static).update(text)

    @on(OptionList.OptionSelected)
    def _change(self) -> None:
        """Take the next of a few values; type any other."""
        setting = self._chosen()
        if setting is None:
            return
        if setting.choices:
            shown = setting.shown()
            at = setting.choices.index(shown) if shown in setting.choices else -1
            following = setting.choices[(at + 1) % len(setting.choices)]
            self._keep(setting, following)
            return
        self._changing = setting
        field = self.query_one("#search", LineInput)
        field.password = setting.name in SECRET
        field.value = "" if setting.name in SECRET else setting.shown()
        field.placeholder = f"{setting.name}: {setting.allowed}"
        self._say(f"{setting.name}: enter keeps it, esc leaves it as it is")
        field.focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if self._changing is not None:
            if self._keep(self._changing, event.value):
                self._end_change()
                self.query_one(OptionList).focus()
            return
        self._query = event.value.strip().casefold()
        self._list()
        self.query_one(OptionList).focus()

    def _keep(self, setting: Setting, typed: str | None) -> bool:
        """Write a value; whether it was kept."""
        try:
            value = None if typed is None else setting.parsed(typed)
            self._preferences.keep(setting.name, value)
        except (DecodingError, StoreError) as error:
            self._say(str(error))
            return False
        except OSError as error:
            self._say(f"the settings cannot be written: {why_not(error)}")
            return False
        self._read()
        now = next(one for one in self._every if one.name == setting.name)
        said = f"{now.name} is {now.shown() or 'none'}"
        if now.said_by in ("environment", "option", "pairing"):
            said += f" still: {_said_by(now)}"
        elif not takes_effect(now.name):
            said += ", from the next start on"
        self._say(said)
        self.post_message(self.Changed(setting.name))
        return True

    def _end_change(self) -> None:
        self._changing = None
        field = self.query_one("#search", LineInput)
        field.password, field.value = False, ""
        field.placeholder = "search the settings"

    def _read(self) -> None:
        preferences = self._preferences
        try:
            self._every = list_settings(preferences.path, preferences.options)
        except (DecodingError, StoreError) as error:
            self._say(str(error))
        where = preferences.path or settings_path()
        self.query_one(".note", Static).update(legible(f"kept in {where}"))
        self._list()

    def _list(self) -> None:
        options = self.query_one(OptionList)
        at = options.highlighted or 0
        lines: list[Option] = []
        self._listed, group = [], ""
        for one in self._every:
            searched = f"{one.group} {one.title} {one.name} {one.help}"
            if self._query not in searched.casefold():
                continue
            if one.group != group:
                group = one.group
                lines.append(Option(Text(group, "bold"), disabled=True))
                self._listed.append(None)
            value = one_line(one.shown())
            value = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
            line = Text(f"{one.title:<{_NAMES}} {value}")
            by = "" if one.said_by == "default" else f"  {one.said_by}"
            line.append(by, "dim")
            line.stylize("bold" if by else "", 0, _NAMES)
            lines.append(Option(line))
            self._listed.append(one)
        options.clear_options()
        options.add_options(lines)
        at = min(at, len(lines) - 1)
        if lines and self._listed[at] is None:  # a setting follows each heading
            at += 1
        options.highlighted = at if lines else None

    def _chosen(self) -> Setting | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None or at >= len(self._listed) else self._listed[at]

    def _say(self, sentence: str) -> None:
        self.query_one("#result", Static).update(legible(sentence))


def takes_effect(name: str) -> bool:
    """Whether the app does as this setting says at once."""
    return name in ("theme", "ascii") or name.startswith("method.")


def _said_by(setting: Setting) -> str:
    """Who says what a setting is, in words."""
    return {
        "default": "by default",
        "file": "said by the file",
        "environment": "said by an environment variable",
        "option": "said on the command line",
        "pairing": "said by pairing",
    }[setting.said_by]


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
