"""The terminal app: a page, its drawers, and a clean way out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, TextIO, cast

from rich.console import Console
from textual import on
from textual.actions import SkipAction
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen

from decoding_core.foreign_text import legible
from decoding_core.gated_streams import GatedStream
from decoding_core.settings import MethodSettings
from edge_app.events import Emit
from edge_app.orders import Desk
from edge_app.tui.gate import ForeignText
from edge_app.tui.keys import ACTIONS, show_key
from edge_app.tui.screens.compare import CompareDrawer
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.help import HelpDrawer
from edge_app.tui.screens.import_letters import ImportDrawer
from edge_app.tui.screens.numbers import NumbersDrawer
from edge_app.tui.screens.page import Page
from edge_app.tui.screens.sent import SentDrawer
from edge_app.tui.screens.sources import SourcesDrawer
from edge_app.tui.widgets.title_line import TitleLine
from edge_app.tui.writing import Writing
from models.prompts import Request

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class SpecSteerApp(App[None]):
    """Paints at once; the models are loaded behind the page."""

    CSS_PATH = "app.tcss"
    TITLE = "SpecSteer"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-slim"),
        (60, "-narrow"),
        (100, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="quit"),
        Binding("ctrl+c", "leave", "Leave", show=False, priority=True, id="leave"),
    ]

    def __init__(
        self,
        desk: Desk,
        *,
        save_folder: Path,
        first_request: Request | None = None,
        defaults: MethodSettings | None = None,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`first_request` fills the brief where the store holds sample letters only;
        `ledger` is a further reader of the events, called from the desk's threads."""
        no_color = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if no_color else None)
        # Of an unexpected fault Textual prints what it holds: plain, through the gate.
        self.error_console = Console(
            file=cast(TextIO, GatedStream(sys.stderr)), color_system=None, markup=False
        )
        self._foreign_text = ForeignText()
        self.animation_level = "none"
        self.writing = Writing(desk, defaults or MethodSettings(), ledger, clock)
        self.page = Page(self.writing, first_request, save_folder)
        self._drawers: dict[str, Callable[[], Drawer]] = {
            "help": HelpDrawer,
            "sources": lambda: SourcesDrawer(self.writing),
            "sent": lambda: SentDrawer(self.writing, save_folder),
            "numbers": lambda: NumbersDrawer(self.writing),
            "compare": lambda: CompareDrawer(self.writing),
            "import": lambda: ImportDrawer(self.writing),
        }

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own, behind the gate for what is not ours."""
        return [self._foreign_text, *super().get_line_filters()]

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,  # noqa: ARG002 (a widget's `notify` always says True)
    ) -> None:
        """As Textual's, but what a message holds is never markup."""
        super().notify(
            legible(message),
            title=title,
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    def copy_to_clipboard(self, text: str) -> None:
        """As Textual's, by OSC 52; pasted into a shell it must not be a command."""
        super().copy_to_clipboard(legible(text))

    def get_default_screen(self) -> Screen[None]:
        """The page is the screen at the bottom."""
        return self.page

    def on_mount(self) -> None:
        """Load the models once the page has been painted."""
        if not self.is_headless:
            self._leave_on_signals()
        self.call_after_refresh(self.writing.prepare)

    def _leave_on_signals(self) -> None:
        """A closed window or `kill` restores the terminal and ends the server too."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, 128 + number)

    def _leave(self, code: int) -> None:
        self.writing.stop()
        self.exit(return_code=code)

    async def action_quit(self) -> None:
        """Leave."""
        self._leave(0)

    def action_leave(self) -> None:
        """Leave as Ctrl-C does everywhere else; but it copies what is selected."""
        selected = getattr(self.focused, "selected_text", "")
        if selected or self.screen.get_selected_text():
            raise SkipAction
        self._leave(INTERRUPTED)

    def action_drawer(self, name: str) -> None:
        """Open a drawer, change to it from another, or close it."""
        top = self.screen
        self.page.pane.keep_edits()
        if isinstance(top, Drawer):
            top.dismiss()
            if name == top.NAME:
                return
        self.push_screen(self._drawers[name]())

    def action_offline(self) -> None:
        """Write without the checker from the next draft on, or with it again."""
        self.writing.offline = not self.writing.offline
        where = "on this device alone" if self.writing.offline else "with the checker"
        self.notify(f"the next draft is written {where}")
        self.page.refresh_all()

    @on(TitleLine.Clicked)
    def _title_clicked(self) -> None:
        self.action_offline()

    def get_key_display(self, binding: Binding) -> str:
        """`^J` and `F2`."""
        return show_key(binding.key)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action has a line in the palette, whatever keys a terminal keeps."""
        yield from super().get_system_commands(screen)
        for action in ACTIONS:
            yield SystemCommand(action.label, action.does, self._runner(action.action))

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action, self.screen)

        return run


def run_app(app: SpecSteerApp) -> int:
    """Run until the person leaves; the exit code. The desk is closed in any case."""
    try:
        app.run()
    finally:
        app.writing.close()
    return app.return_code or 0
