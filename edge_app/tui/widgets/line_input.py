"""A compact input whose cursor does not blink."""

from __future__ import annotations

from textual.suggester import Suggester
from textual.widgets import Input


class LineInput(Input):
    """One line of text."""

    def __init__(
        self,
        value: str = "",
        *,
        name: str,
        placeholder: str = "",
        suggester: Suggester | None = None,
    ) -> None:
        super().__init__(
            value,
            placeholder=placeholder,
            suggester=suggester,
            id=name,
            compact=True,
            select_on_focus=False,
        )
        self.cursor_blink = False
