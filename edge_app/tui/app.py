"""The terminal app: a page, its drawers, and a way out on which nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from typing import ClassVar, TextIO, cast

import rich
from rich.console import Console, RenderableType
from rich.traceback import Traceback
from textual import events, on
from textual.actions import SkipAction
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen

from decoding_core.foreign_text import GatedStream, legible
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Emit
from edge_app.service.requests import Service
from edge_app.tui.drafts import Writing
from edge_app.tui.gate import ForeignText
from edge_app.tui.keys import ACTIONS, show_key
from edge_app.tui.recovery import KeptSitting, RecoveryFolder
from edge_app.tui.saving import why_not
from edge_app.tui.screens.compare import CompareDrawer
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.help import HelpDrawer
from edge_app.tui.screens.import_letters import ImportDrawer
from edge_app.tui.screens.numbers import NumbersDrawer
from edge_app.tui.screens.page import Page
from edge_app.tui.screens.question import LeaveQuestion, RestoreQuestion
from edge_app.tui.screens.sent import SentDrawer
from edge_app.tui.screens.sources import SourcesDrawer
from edge_app.tui.terminal_input import put_right, without_letter
from edge_app.tui.widgets.title_line import TitleLine
from models.prompts import Request

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class SpecSteerApp(App[None]):
    """The app; it paints the page at once and loads the models in a thread."""

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
        service: Service,
        *,
        save_folder: Path,
        first_request: Request | None = None,
        defaults: MethodSettings | None = None,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
        recovery: RecoveryFolder | None = None,
    ) -> None:
        """`first_request` fills the brief where the store holds sample letters only;
        `ledger` is a further reader of the events, called from the service's threads;
        `recovery` is where drafts are kept that would be lost, None: nowhere."""
        put_right()
        no_color = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if no_color else None)
        # Of an unexpected fault Textual prints what it holds: plain, through the gate.
        self.error_console = Console(
            file=cast(TextIO, GatedStream(sys.stderr)), color_system=None, markup=False
        )
        self._foreign_text = ForeignText()
        self.animation_level = "none"
        self.writing = Writing(service, defaults or MethodSettings(), ledger, clock)
        self.page = Page(self.writing, first_request, save_folder)
        self._recovery = recovery
        self.last_words = ""
        """What is said on the terminal when the app has left it."""
        self._drawers: dict[str, Callable[[], Drawer]] = {
            "help": HelpDrawer,
            "sources": lambda: SourcesDrawer(self.writing),
            "sent": lambda: SentDrawer(self.writing, save_folder),
            "numbers": lambda: NumbersDrawer(self.writing),
            "compare": lambda: CompareDrawer(self.writing),
            "import": lambda: ImportDrawer(self.writing),
        }

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, with the gate for foreign text in front of them."""
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
        """Show a message as Textual does, but never read markup in it."""
        super().notify(
            legible(message),
            title=title,
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    def copy_to_clipboard(self, text: str) -> None:
        """Copy `text` by OSC 52, without characters that a shell would obey when the
        person pastes it."""
        super().copy_to_clipboard(legible(text))

    def get_default_screen(self) -> Screen[None]:
        """The page, which lies below all drawers."""
        return self.page

    async def on_event(self, event: events.Event) -> None:
        """Drop the letter of an Alt key before any widget reads the event."""
        if isinstance(event, events.Key):
            event = without_letter(event)
        await super().on_event(event)

    def on_mount(self) -> None:
        """Load the models once the page has been painted."""
        if not self.is_headless:
            # A closed window or `kill` restores the terminal and ends the server too.
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._leave_unasked, 128 + number)
        self.call_after_refresh(self.writing.prepare)
        self.call_after_refresh(self._offer_kept)

    def _leave_unasked(self, code: int) -> None:
        self.keep_draft()
        self._leave(code)

    def _leave(self, code: int) -> None:
        self.writing.stop()
        self.exit(return_code=code)

    async def action_quit(self) -> None:
        """Leave the app; ask first if unsaved words would be lost."""
        self._ask_to_leave(0)

    def action_leave(self) -> None:
        """Leave the app on Ctrl-C; where text is selected, Ctrl-C copies it instead."""
        selected = getattr(self.focused, "selected_text", "")
        if selected or self.screen.get_selected_text():
            raise SkipAction
        self._ask_to_leave(INTERRUPTED)

    def _ask_to_leave(self, code: int) -> None:
        if isinstance(self.screen, LeaveQuestion):
            self.screen.dismiss("keep")
            return
        self.page.pane.keep_edits()
        unsaved = self._unsaved()
        if not unsaved:
            self._forget_kept()
            self._leave(code)
            return

        def answered(answer: str | None) -> None:
            match answer:
                case "save":
                    self.page.action_save(then=lambda: self._ask_to_leave(code))
                case "keep":
                    if self.keep_draft():
                        self._leave(code)
                    else:
                        self.notify(self.last_words, severity="error", markup=False)
                        self.last_words = ""
                case "discard":
                    self._forget_kept()
                    self._leave(code)

        self.push_screen(LeaveQuestion(unsaved), answered)

    def _unsaved(self) -> str:
        """A sentence that names what is not saved; empty if all is saved."""
        numbers = [
            f"version {at}"
            for at, known in enumerate(self.writing.variants, 1)
            if any(known is unsaved for unsaved in self.writing.unsaved())
        ]
        if len(self.writing.variants) == 1 and numbers:
            numbers = ["the text"]
        if self.page.brief_alone():
            numbers.append("what you ask for")
        if not numbers:
            return ""
        verb = "is" if len(numbers) == 1 else "are"
        sentence = f"{', '.join(numbers)} {verb} not saved."
        return sentence[0].upper() + sentence[1:]

    def keep_draft(self) -> bool:
        """Keep what would be lost for the next start; `last_words` says where, or why
        it could not be. Asked for at any time, after any error, it raises nothing."""
        sitting = self.page.sitting()
        try:
            alone = self.page.brief_alone()
        except Exception:  # noqa: BLE001 - the page may be what broke
            alone = bool(sitting.request.text)
        if not alone and all(known.text == known.saved for known in sitting.variants):
            return True
        try:
            if self._recovery is None:
                raise OSError("there is no folder for it")
            path = self._recovery.keep(sitting)
        except Exception as error:  # noqa: BLE001 - nothing comes after this net
            why = why_not(error) if isinstance(error, OSError) else str(error)
            self.last_words = f"The draft could not be kept: {why}."
            if sitting.variants:
                text = sitting.variants[sitting.current].text
                self.last_words += f" It reads:\n\n{legible(text)}"
            return False
        self.last_words = (
            f"What was not saved is kept in {path}; specsteer offers it when it is "
            "started again."
        )
        return True

    def _forget_kept(self) -> None:
        """Delete the recovery file of this sitting: its text is saved or unwanted."""
        if self._recovery is not None:
            with suppress(OSError):
                self._recovery.clear()

    def _offer_kept(self) -> None:
        """Ask what to do with the latest sitting that has a recovery file."""
        recovery = self._recovery
        if recovery is None:
            return
        kept, damaged = recovery.kept()
        for path in damaged:
            self.notify(
                f"a kept draft cannot be read: {path}",
                severity="warning",
                markup=False,
            )
        if not kept:
            return

        def answered(answer: str | None) -> None:
            if answer is not None:
                recovery.go_on_from(kept[0])
            if answer == "back":
                self.page.bring_back(kept[0].sitting)
            if answer == "discard":
                self._forget_kept()
                self._offer_kept()

        self.push_screen(RestoreQuestion(_kept_in_words(kept)), answered)

    def panic(self, *renderables: RenderableType) -> None:
        """Keep the draft before Textual ends on an error outside the message loop."""
        self.keep_draft()
        super().panic(*renderables)

    def _handle_exception(self, error: Exception) -> None:
        """Keep the draft before Textual shows an error of the message loop."""
        self.keep_draft()
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Show the traceback without local variables, which hold the person's text."""
        self.panic(Traceback(show_locals=False, width=None, suppress=[rich]))

    def action_drawer(self, name: str) -> None:
        """Open the drawer `name` in place of an open one; close it if it is open."""
        top = self.screen
        self.page.pane.keep_edits()
        if isinstance(top, Drawer):
            top.dismiss()
            if name == top.NAME:
                return
        self.push_screen(self._drawers[name]())

    def action_offline(self) -> None:
        """Switch the checker off or on for the next draft."""
        self.writing.offline = not self.writing.offline
        where = "on this device alone" if self.writing.offline else "with the checker"
        self.notify(f"the next draft is written {where}")
        self.page.refresh_all()

    @on(TitleLine.Switched)
    def _switched(self) -> None:
        self.action_offline()

    def get_key_display(self, binding: Binding) -> str:
        """The key as the footer shows it, such as `^J`."""
        return show_key(binding.key)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action as a palette command, since a terminal may keep its key."""
        yield from super().get_system_commands(screen)
        for action in ACTIONS:
            yield SystemCommand(action.label, action.does, self._runner(action.action))

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action, self.screen)

        return run


def _kept_in_words(kept: list[KeptSitting]) -> str:
    """A sentence with the end and the first words of the latest kept sitting."""
    latest, sitting = kept[0], kept[0].sitting
    count = len(sitting.variants)
    what = "a brief" if not count else "a text" if count == 1 else f"{count} versions"
    words = sitting.variants[sitting.current].text if count else sitting.request.text
    more = f" {len(kept) - 1} older ones wait, too." if len(kept) > 1 else ""
    return (
        f"On {latest.ended:%Y-%m-%d at %H:%M} the app ended with {what} that no file "
        f"has: “{shorten(words, 60, placeholder='…')}”{more}"
    )


def run_app(app: SpecSteerApp) -> int:
    """Run until the person leaves; the exit code. The service is closed in any case.

    Where a thread cannot be ended, such as one that waits for a disk to give it a
    model, the process ends here: Python's own way out would pull the libraries away
    from under that thread.
    """
    try:
        app.run()
    except BaseException:
        app.keep_draft()
        raise
    finally:
        if app.last_words:
            with suppress(OSError):  # the terminal may be gone
                sys.stderr.write(app.last_words + "\n")
                sys.stderr.flush()
        ended = app.writing.close()
    code = app.return_code or 0
    if not ended:
        os._exit(code)
    return code
