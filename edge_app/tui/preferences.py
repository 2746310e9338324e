"""The app's settings, and its colours: entries of the 256-colour palette, as other
colours are mapped to the nearest entry, and a bluish grey becomes navy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.theme import Theme

from edge_app.config.settings import Settings
from edge_app.tui.keys import resolved

DARK = Theme(
    name="specsteer",
    dark=True,
    primary="#5fafd7",
    secondary="#87afaf",
    accent="#ffaf5f",
    warning="#d7af5f",
    error="#ff8787",
    success="#87af5f",
    foreground="#e4e4e4",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    variables={"footer-key-foreground": "#ffaf5f"},
)
LIGHT = Theme(
    name="specsteer-light",
    dark=False,
    primary="#005f87",
    secondary="#5f8787",
    accent="#af5f00",
    warning="#875f00",
    error="#af0000",
    success="#5f8700",
    foreground="#1c1c1c",
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    variables={"footer-key-foreground": "#af5f00"},
)


def fitting(environment: Mapping[str, str] = os.environ) -> str:
    """The theme for a terminal that says how light it is, such as `COLORFGBG=0;15`."""
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    light = ground.isdigit() and int(ground) in (7, *range(9, 16))
    return LIGHT.name if light else DARK.name


class Preferences:
    """What the settings say of the app; a change is written to the file at once."""

    def __init__(
        self,
        settings: Settings | None = None,
        path: Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`path`: the settings file, None: the usual one; `options`: from the command
        line."""
        settings = settings or Settings()
        self.path = path
        self.options = dict(options or {})
        self.theme = settings.theme
        self.ascii = settings.ascii
        self.keys = dict(settings.keys)
        self.keymap, self.problems = resolved(self.keys)

    def keep_theme(self, name: str) -> None:
        """Begin with this theme from now on; raises as `write_settings` does."""
        if name != self.theme:
            self.keep("theme", name)
            self.theme = name

    def keep_keys(self, action: str, keys: str | None) -> list[str]:
        """Give an action these keys, None: its usual ones; further changes in
        sentences."""
        changed = {name: value for name, value in self.keys.items() if name != action}
        if keys is not None:
            changed[action] = keys
        known, (keymap, problems) = set(self.problems), resolved(changed)
        self.keep(f"keys.{action}", keys)
        self.keys, self.keymap, self.problems = changed, keymap, problems
        return [problem for problem in problems if problem not in known]

    def keep(self, name: str, value: Any) -> Path:
        """Write one setting, None: its default; the file. Raises InvalidSettingsError,
        StoreLockedError or OSError."""
        # tomlkit takes long to import, which the first paint does without.
        from edge_app.config.settings import write_settings

        return write_settings({name: value}, self.path)
