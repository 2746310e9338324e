"""What a person likes of the app: its colours, its signs, its keys; kept in the
settings file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edge_app.config.settings import Settings
from edge_app.tui.settings.keymap import resolved


class Preferences:
    """What the settings say of the app; a change is written to the file at once."""

    def __init__(
        self,
        settings: Settings | None = None,
        path: Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`path` is the settings file, None: the usual one; `options` are settings that
        the command line gave in place of it."""
        settings = settings or Settings()
        self.path = path
        self.options = dict(options or {})
        self.theme = settings.theme
        self.ascii = settings.ascii
        self.keys = dict(settings.keys)
        self.keymap, self.problems = resolved(self.keys)

    def keep_theme(self, name: str) -> None:
        """Begin with this theme from now on; raises as `write_setting` does."""
        if name != self.theme:
            self.keep("theme", name)
            self.theme = name

    def keep_keys(self, action: str, keys: str | None) -> list[str]:
        """Give an action these keys, None for its usual ones; what changes besides, as
        sentences. Raises as `write_setting` does."""
        changed = {name: value for name, value in self.keys.items() if name != action}
        if keys is not None:
            changed[action] = keys
        known, (keymap, problems) = set(self.problems), resolved(changed)
        self.keep(f"keys.{action}", keys)
        self.keys, self.keymap, self.problems = changed, keymap, problems
        return [problem for problem in problems if problem not in known]

    def keep(self, name: str, value: Any) -> Path:
        """Write one setting, None for its default; the file.

        Raises:
            InvalidSettingsError: it cannot be this.
            StoreLockedError, OSError: the file cannot be written.
        """
        # tomlkit takes long to import, which the first paint does without.
        from edge_app.config.settings_file import write_setting

        return write_setting(name, value, self.path)
