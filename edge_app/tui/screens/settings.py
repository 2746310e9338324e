"""All settings: what each is for, what it is, and who says so; a change is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import one_line
from edge_app.config.schema import SECRET, Setting, list_settings
from edge_app.config.settings import settings_path
from edge_app.tui.keys import EVERY, keys_of, show_key, why_no_key
from edge_app.tui.preferences import Preferences
from edge_app.tui.saving import why_not
from edge_app.tui.screens.drawer import Drawer, fill
from edge_app.tui.screens.widgets import LineInput
from edge_app.tui.writing import Writing
from personal_store.errors import StoreError

_NAMES = 24
_LONGEST = 30
_SEARCHES = "search the settings"
_SAID_BY = {
    "default": "by default",
    "file": "said by the file",
    "environment": "said by an environment variable",
    "option": "said on the command line",
    "pairing": "said by pairing",
}
"""Who says what a setting is, in words."""
_T = TypeVar("_T")


class PreferencesDrawer(Drawer):
    """A list whose lines are written to the settings file when they are changed."""

    AUTO_FOCUS = "#list"

    def __init__(
        self, writing: Writing, preferences: Preferences, changed: Callable[[], None]
    ) -> None:
        """`changed` is called when something was kept."""
        super().__init__(writing)
        self._preferences = preferences
        self._changed = changed

    def kept(self, keep: Callable[[], _T]) -> _T | None:
        """What `keep` returns; None if it fails, and why is said."""
        try:
            kept = keep()
        except (DecodingError, StoreError) as error:
            self.say(str(error))
        except OSError as error:
            self.say(f"the settings cannot be written: {why_not(error)}")
        else:
            self._changed()
            return kept
        return None


class SettingsDrawer(PreferencesDrawer):
    """Lists all settings; Enter changes one, Del takes it out of the file."""

    NAME = "settings"
    TITLE = "Settings"
    FOOT = "enter changes · del takes the default · / searches · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", show=False),
        Binding("delete", "reset", "Default", show=False),
    ]

    _every: Mapping[str, Setting] = MappingProxyType({})
    _query = ""
    _changing: Setting | None = None

    def contents(self) -> Iterable[Widget]:
        """A line for a search or a value, the list, what the chosen one is for."""
        yield LineInput(name="search", placeholder=_SEARCHES)
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
        text.append(f"{setting.name}: {_SAID_BY[setting.said_by]}", "dim")
        text.append(f"; {' or '.join(setting.choices) or setting.allowed}", "dim")
        text.append(f"; default {one_line(usual)}", "dim")
        self.say(text, "#about")

    @on(OptionList.OptionSelected)
    def _change(self) -> None:
        """Take the next of a few values; type any other."""
        setting = self._chosen()
        if setting is None:
            return
        if setting.choices:
            shown = setting.shown()
            at = setting.choices.index(shown) if shown in setting.choices else -1
            self._keep(setting, setting.choices[(at + 1) % len(setting.choices)])
            return
        self._changing, secret = setting, setting.name in SECRET
        field = self.query_one("#search", LineInput)
        field.password, field.value = secret, "" if secret else setting.shown()
        field.placeholder = f"{setting.name}: {setting.allowed}"
        self.say(f"{setting.name}: enter keeps it, esc leaves it as it is")
        field.focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if self._changing is None:
            self._query = event.value.strip().casefold()
            self._list()
        elif self._keep(self._changing, event.value):
            self._end_change()
        else:
            return
        self.query_one(OptionList).focus()

    def _keep(self, setting: Setting, typed: str | None) -> bool:
        """Write a value; whether it was kept."""

        def keep() -> bool:
            value = None if typed is None else setting.parsed(typed)
            self._preferences.keep(setting.name, value)
            return True

        if not self.kept(keep):
            return False
        self._read()
        now = self._every[setting.name]
        said = f"{now.name} is {now.shown() or 'none'}"
        if now.said_by in ("environment", "option", "pairing"):
            said += f" still: {_SAID_BY[now.said_by]}"
        elif now.name not in ("theme", "ascii") and now.name[:7] != "method.":
            said += ", from the next start on"
        self.say(said)
        return True

    def _end_change(self) -> None:
        self._changing = None
        field = self.query_one("#search", LineInput)
        field.password, field.value, field.placeholder = False, "", _SEARCHES

    def _read(self) -> None:
        preferences = self._preferences
        try:
            every = list_settings(preferences.path, preferences.options)
            self._every = {one.name: one for one in every}
        except (DecodingError, StoreError) as error:
            self.say(str(error))
        self.say(f"kept in {preferences.path or settings_path()}", ".note")
        self._list()

    def _list(self) -> None:
        lines: list[Option] = []
        group = ""
        for one in self._every.values():
            searched = f"{one.group} {one.title} {one.name} {one.help}"
            if self._query not in searched.casefold():
                continue
            if one.group != group:
                group = one.group
                lines.append(Option(Text(group, "bold"), disabled=True))
            value = one_line(one.shown())
            value = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
            by = "" if one.said_by == "default" else f"  {one.said_by}"
            name = (f"{one.title:<{_NAMES}}", "bold" if by else "")
            line = Text.assemble(name, f" {value}", (by, "dim"))
            lines.append(Option(line, id=one.name))
        fill(self.query_one(OptionList), lines)

    def _chosen(self) -> Setting | None:
        chosen = self.query_one(OptionList).highlighted_option
        return None if chosen is None else self._every.get(chosen.id or "")


class KeysDrawer(PreferencesDrawer):
    """Lists all actions with their keys; Enter waits for another key."""

    NAME = "keys"
    TITLE = "Keys"
    FOOT = "enter another key · + one more · del the usual · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "wait(True)", "One more", show=False),
        Binding("delete", "reset", "Usual", show=False),
    ]

    takes_all_keys = False  # whether the next key is taken, whatever it does elsewhere
    _adds = False

    def contents(self) -> Iterable[Widget]:
        """A line that says what to do, the list, what came of it."""
        yield Static(classes="note", markup=False)
        yield OptionList(id="list")
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """List the actions, and say what of the file could not be."""
        self._list()
        self.say("; ".join(self._preferences.problems))

    def action_wait(self, adds: bool) -> None:
        """Wait for another key of the chosen action, or for one more."""
        self._adds, self.takes_all_keys = adds, True
        label = EVERY[self._chosen()].description
        self.say(f"press a key for {label}; esc keeps what it has", ".note")

    @on(OptionList.OptionSelected)
    def _select(self) -> None:
        self.action_wait(adds=False)

    def action_reset(self) -> None:
        """Give the chosen action its usual keys."""
        self._keep(None)

    def on_key(self, event: events.Key) -> None:
        """Take the key that is waited for."""
        if not self.takes_all_keys:
            return
        event.stop()
        event.prevent_default()
        self.takes_all_keys = False
        self.say("", ".note")
        name, key = self._chosen(), event.key
        if key == "escape" and name != "stop":
            return
        owner = next((one for one in EVERY if key in keys_of(one)), name)
        problem = why_no_key(key)
        if not problem and owner != name:
            other = EVERY[owner].description
            problem = f"{show_key(key)} is the key of {other}: give that another first"
        if problem:
            self.say(problem)
            return
        had = [one for one in keys_of(name) if one != key] if self._adds else []
        self._keep(",".join([*had, key]))

    def _keep(self, keys: str | None) -> None:
        name, preferences = self._chosen(), self._preferences
        problems = self.kept(lambda: preferences.keep_keys(name, keys))
        if problems is None:
            return
        said = [f"{EVERY[name].description} has {self._keys_of(name)}", *problems]
        self.say("; ".join(said))
        self.call_after_refresh(self._list)

    def _keys_of(self, name: str) -> str:
        keys = self._preferences.keymap.get(name, EVERY[name].key).split(",")
        return " ".join(map(show_key, keys))

    def _list(self) -> None:
        lines = []
        for name, action in EVERY.items():
            yours = " (yours)" if name in self._preferences.keymap else ""
            line = Text(f"{action.description:<16} {self._keys_of(name):<24} ")
            line.append(name + yours, "dim")
            lines.append(Option(line, id=name))
        fill(self.query_one(OptionList), lines)

    def _chosen(self) -> str:
        chosen = self.query_one(OptionList).highlighted_option
        return (chosen and chosen.id) or "draft"
