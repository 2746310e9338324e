"""The terminal app: a page, its drawers, and a way out on which nothing is lost."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO, cast

from rich.console import Console, RenderableType
from textual import events, on
from textual.actions import SkipAction
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.filter import LineFilter
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Input, OptionList

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import GatedStream, legible
from decoding_core.settings import MethodSettings
from edge_app.config.settings import read_settings
from edge_app.decoding.events import Event
from edge_app.service.tape import RecordedService
from edge_app.tui.journal import JournalFolder
from edge_app.tui.keys import (
    APP_ACTIONS,
    EVERY,
    IN_BROWSER,
    key_of,
    show_key,
    use_keymap,
)
from edge_app.tui.preferences import DARK, LIGHT, Preferences, fitting
from edge_app.tui.screens.drawer import Drawer, LeaveQuestion
from edge_app.tui.screens.page import Page
from edge_app.tui.terminal import (
    WORD_KEYS,
    ForeignText,
    KeyQueue,
    PlainSigns,
    put_right,
)
from edge_app.tui.writing import Writing
from models.prompts import Request
from personal_store.errors import StoreError

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
    from edge_app.service.tape import Tape

INTERRUPTED = 130  # exit code after Ctrl-C
SYNC_SECONDS = 1.0  # at most so much typing is lost where the whole machine ends


class SpecSteerApp(App[None]):
    """The app; it paints the page at once and loads the models in a thread."""

    CSS_PATH = Path(__file__).with_name("app.tcss")  # of a subclass elsewhere, too
    TITLE = "SpecSteer"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-slim"),
        (60, "-narrow"),
        (80, "-mid"),
        (100, "-wide"),
        (120, "-broad"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012 - the same
    BINDINGS: ClassVar[list[BindingType]] = [*APP_ACTIONS]

    def __init__(
        self,
        service: WritingService,
        *,
        save_folder: Path,
        first_request: Request | None = None,
        defaults: MethodSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        journals: JournalFolder | None = None,
        practice_models: bool = False,
        preferences: Preferences | None = None,
    ) -> None:
        """`first_request` fills the brief if the store holds sample letters only;
        without `journals` no draft is kept; `practice_models`: the embedded pair
        writes."""
        put_right()
        self.preferences = preferences or Preferences()
        use_keymap(self.preferences.keymap)
        self._signs = PlainSigns()
        no_color = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if no_color else None)
        # Of an unexpected fault Textual prints what it holds: plain, through the gate.
        self.error_console = Console(
            file=cast("TextIO", GatedStream(sys.stderr)),
            color_system=None,
            markup=False,
        )
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        if not no_color:  # else the terminal's own
            liked = self.preferences.theme
            self.theme = liked if liked in self.available_themes else fitting()
        self._foreign_text = ForeignText()
        self._keys = KeyQueue(self, self._hand_on)
        self.animation_level = "none"
        self.writing = Writing(
            service,
            defaults or MethodSettings(),
            clock,
            first=first_request,
            journals=journals,
        )
        self.page = Page(self.writing, save_folder, practice_models=practice_models)
        self.last_words = ""
        """What is said on the terminal when the app has left it."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, with the gate for foreign text in front of them."""
        signs = [self._signs] if self.preferences.ascii else []
        return [self._foreign_text, *signs, *super().get_line_filters()]

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
        """Copy `text` everywhere, without characters that a shell would obey."""
        # Subprocesses take a hundredth of a second to import.
        from edge_app.tui.outside import hand_to_programs, osc52, programs

        self._clipboard = text = legible(text)
        if self._driver is not None:
            self._driver.write(osc52(text))
        if not self.is_headless and not self.is_web:
            hand_to_programs(text, programs())

    def get_default_screen(self) -> Screen[None]:
        """The page, which lies below all drawers."""
        return self.page

    async def on_event(self, event: events.Event) -> None:
        """Let keys do their work one after the other."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._keys.take(event)
        else:
            await super().on_event(event)

    async def _hand_on(self, event: events.Event) -> None:
        """Give a screen that waits for any key just that one; else go Textual's way."""
        if getattr(self.screen, "takes_all_keys", False):
            self.screen.post_message(event)
            return
        if (
            isinstance(event, events.Key)
            and event.key in WORD_KEYS
            and event.key not in self.active_bindings
        ):
            event = events.Key(WORD_KEYS[event.key], None)
        await super().on_event(event)

    def on_mount(self) -> None:
        """Load the models once the page has been painted."""
        if not self.is_headless:
            self.call_after_refresh(_collect_again)
        if not self.is_headless and sys.platform != "win32":
            # A closed window or `kill` restores the terminal and ends the server too.
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._leave_unasked, 128 + number)
        self._use_keys()
        for problem in self.preferences.problems:
            self.notify(f"settings: {problem}", severity="warning")
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self.app_resume_signal.subscribe(self, self._repaint)
        self.call_after_refresh(self.writing.prepare)
        self.call_after_refresh(self._take_up)
        self.set_interval(SYNC_SECONDS, self._sync)

    def _keep_theme(self, theme: Theme) -> None:
        """Begin with the theme that the person chose from now on."""
        try:
            self.preferences.keep_theme(theme.name)
        except (DecodingError, StoreError, OSError) as error:
            self.notify(f"the theme cannot be kept: {error}", severity="warning")

    def _repaint(self, _: object = None) -> None:
        """Paint every cell: what the shell or an editor wrote stands on the screen."""
        self.screen.refresh(repaint=True, layout=True)
        self.refresh(repaint=True, layout=True)

    def use_settings(self) -> None:
        """Do as the settings say now, as far as the app is concerned."""
        settings = read_settings(self.preferences.path)
        seed = self.writing.settings.seed
        self.writing.settings = replace(settings.method, seed=seed)
        self.preferences.ascii = settings.ascii
        if settings.theme in self.available_themes:
            self.preferences.theme = self.theme = settings.theme
        self._repaint()
        self.page.stale()

    def use_keys(self) -> None:
        """Have the keys as they are now, and name them so."""
        self._use_keys()
        self.page.refresh_all()

    def _use_keys(self) -> None:
        keymap = {**(IN_BROWSER if self.is_web else {}), **self.preferences.keymap}
        use_keymap(keymap)
        self.set_keymap(keymap)
        palette = self.preferences.keymap.get("palette", "ctrl+p").split(",")[0]
        self.COMMAND_PALETTE_BINDING = palette  # type: ignore[misc] # of this app

    def _take_up(self) -> None:
        """Go on with the draft of the last sitting."""
        if self.writing.take_up():
            self.page.show_draft()
        self.page.say_news()

    def _sync(self) -> None:
        """Have the disk hold what was written since, and say where it does not."""
        self.writing.retry()
        self.writing.sync()
        self.writing.look_at_checker()
        self.page.say_news()
        self.page.stale()

    def _leave_unasked(self, code: int) -> None:
        self.keep_draft()
        self._leave(code, cut=True)

    def _leave(self, code: int, *, cut: bool = False) -> None:
        self.writing.stop(cut=cut)
        if self.writing.variants and not self.writing.unsaved():
            self.writing.put_aside()
        self.exit(return_code=code)

    async def action_quit(self) -> None:
        """Leave the app; the draft is there at the next start."""
        self._ask_to_leave(0)

    def action_leave(self) -> None:
        """Leave the app on Ctrl-C; where text is selected, Ctrl-C copies it instead."""
        selected = getattr(self.focused, "selected_text", "")
        if selected or self.screen.get_selected_text():
            raise SkipAction
        self._ask_to_leave(INTERRUPTED)

    def _ask_to_leave(self, code: int) -> None:
        """Leave; ask first where words would be lost, as no journal has them."""
        if isinstance(self.screen, LeaveQuestion):
            return
        self.page.tick()
        self.writing.retry()
        unsaved = self.writing.unsaved()
        if not unsaved or (self.writing.kept_in and not self.writing.unkept):
            if unsaved:
                self.keep_draft()
            self._leave(code)
            return

        def answered(answer: str | None) -> None:
            if answer == "save":
                self.page.action_save(then=lambda: self._ask_to_leave(code))
            elif answer == "discard":
                self._leave(code)

        self.push_screen(LeaveQuestion(self.writing.unkept), answered)

    def keep_draft(self) -> None:
        """Sync the draft; `last_words` says where it is, or why it is not. Raises
        nothing."""
        writing = self.writing
        with suppress(Exception):  # what broke may break this, too
            writing.background.apply()
        writing.retry()
        if writing.kept_in is not None and not writing.unkept:
            writing.sync()
            self.last_words = (
                f"Your draft is kept in {writing.kept_in}; start specsteer again and "
                "it is there."
            )
            return
        with suppress(Exception):
            text = "" if writing.variant is None else writing.variant.text
            if text.strip():
                why = writing.unkept or "there is no folder for it"
                self.last_words = f"The draft could not be kept: {why}. It reads:"
                self.last_words += f"\n\n{legible(text)}"

    def panic(self, *renderables: RenderableType) -> None:
        """Keep the draft before Textual ends on an error outside the message loop."""
        self.keep_draft()
        super().panic(*renderables)

    def _fatal_error(self) -> None:
        """Show the traceback without local variables, which hold the person's text."""
        # It brings the highlighting of code, which takes 20 ms to import.
        import rich
        from rich.traceback import Traceback

        self.panic(Traceback(show_locals=False, width=None, suppress=[rich]))

    def action_drawer(self, name: str) -> None:
        """Open the drawer `name` in place of an open one; close it if it is open."""
        top = self.screen
        if isinstance(top, Drawer):
            top.dismiss()
            if name == top.NAME:
                return
        address, *given = DRAWERS[name]
        module, _, class_name = address.partition(":")
        found = import_module(f"edge_app.tui.screens.{module}")
        arguments = (attrgetter(path)(self) for path in given)
        self.push_screen(getattr(found, class_name)(self.writing, *arguments))

    def action_new(self) -> None:
        """Put the draft aside, and begin another on an empty page."""
        self.writing.begin_anew()
        self.page.show_draft()
        self.page.brief.focus_text()
        self.notify(
            f"a new draft; the one before it is among your drafts, {key_of('drafts')}"
        )

    def go_on_with(self, path: Path) -> None:
        """Go on with the draft that is kept there."""
        self.writing.take_up(path)
        self.page.say_news()
        self.page.show_draft()

    def action_offline(self) -> None:
        """Switch the checker off or on for the next draft."""
        self.writing.offline = not self.writing.offline
        where = "on this device alone" if self.writing.offline else "with the checker"
        self.notify(f"the next draft is written {where}")
        self.page.refresh_all()

    def get_key_display(self, binding: Binding) -> str:
        """The key as the footer shows it, such as `^J`."""
        return show_key(binding.key)

    def action_command_palette(self) -> None:
        """Show every action by its name, if that is not shown already."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action as a palette command, since a terminal may keep its key."""
        del screen
        yield SystemCommand("Theme", "other colours", self.action_change_theme)
        for name, action in EVERY.items():
            if name != "palette":  # it is here
                does = f"{key_of(name)}: {action.tooltip}"
                run = partial(self._run, action.action)
                yield SystemCommand(action.description, does, run)

    def _run(self, action: str) -> None:
        self.call_later(self.run_action, action, self.screen)


def _collect_again() -> None:
    """Free cycles again, but never look at what was there at the start."""
    gc.freeze()
    gc.enable()


DRAWERS = {
    "compare": ("compare:CompareDrawer", "page.put"),
    "drafts": ("lists:DraftsDrawer", "go_on_with"),
    "help": ("tables:HelpDrawer",),
    "import": ("import_letters:ImportDrawer",),
    "keys": ("settings:KeysDrawer", "preferences", "use_keys"),
    "models": ("models:ModelsDrawer", "preferences", "page.stale"),
    "numbers": ("tables:NumbersDrawer",),
    "reply": ("lists:ReplyDrawer", "page.answer"),
    "sent": ("sent:SentDrawer", "page.save_folder"),
    "settings": ("settings:SettingsDrawer", "preferences", "use_settings"),
    "sources": ("lists:SourcesDrawer",),
    "style": ("style:StyleDrawer", "page.brief.request", "page.stale"),
    "voice": ("voice:VoiceDrawer", "page.brief.request"),
}
"""For each drawer its class, which is imported when it is first opened, and the
attributes of the app that it is given."""


def run_app(app: SpecSteerApp) -> int:
    """Run until the person leaves; the exit code. The process ends here if a thread
    cannot be ended: Python's own way out would pull libraries away from under it. No
    mail that a mail program was given stays, nor one that a killed run has left."""
    from edge_app.tui.outside import drop_mails

    drop_mails()
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
        drop_mails()
    code = app.return_code or 0
    if not ended:
        os._exit(code)
    return code


_LONGEST_WAIT = 3.0  # seconds; a tape of a machine that slept does not sleep again


def at_its_own_speed(tape: Tape, speed: float = 1.0) -> Callable[[Event], None]:
    """Waits before each event of `tape` as long as it took to come."""
    waits: dict[int, float] = {}
    for run in tape.runs():
        before = run[0].at
        for one in run:
            waits[id(one.event)] = min(_LONGEST_WAIT, max(0.0, one.at - before)) / speed
            before = one.at
    return lambda event: time.sleep(waits.get(id(event), 0.0))


class ReplayApp(SpecSteerApp):
    """Plays the first text at once and the others as further versions; keeps no
    draft."""

    def __init__(self, tape: Tape, speed: float = 1.0) -> None:
        from edge_app.service.tape import events_of

        service = RecordedService(
            [events_of(run) for run in tape.runs()],
            pace=at_its_own_speed(tape, speed),
            server="recorded run",
        )
        asked = replace(tape.request, text=tape.request.text or "(a recorded run)")
        super().__init__(service, save_folder=Path.cwd(), first_request=asked)
        self.writing.samples = tape.samples

    def on_mount(self) -> None:
        """Begin without a key."""
        self.call_after_refresh(self.page.action_draft)


class Palette(CommandPalette):
    """Runs one command: a second Enter or Esc of the same moment would end the app."""

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _is_over(self, event: Message) -> None:
        if self.app.screen is not self:
            event.stop()
            event.prevent_default()
