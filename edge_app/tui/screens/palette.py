"""Textual's palette, which takes what comes behind the end of it as if it were open."""

from __future__ import annotations

from textual import on
from textual.command import CommandPalette
from textual.message import Message
from textual.widgets import Input, OptionList


class Palette(CommandPalette):
    """A palette that runs one command: a second Enter, click or Esc of the same moment
    would close the screen below it, which ends the app where there is none."""

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _is_over(self, event: Message) -> None:
        if self.app.screen is not self:
            event.stop()
            event.prevent_default()
