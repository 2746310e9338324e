"""The page: the brief, the text, and the rail beside them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static, TextArea

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import legible
from edge_app.decoding.events import Source
from edge_app.service.requests import WriteRequest
from edge_app.tui.keys import ACTIONS, key_of
from edge_app.tui.letters import sender
from edge_app.tui.saving import propose
from edge_app.tui.screens import cards
from edge_app.tui.screens.brief import Brief
from edge_app.tui.screens.cards import KeyLine
from edge_app.tui.screens.drawer import Drawer, HeldBackQuestion, Turn, ask_held_back
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.widgets import Card, Saying, Steps
from edge_app.tui.text import Run
from edge_app.tui.writing import Writing
from models.prompts import Request

if TYPE_CHECKING:
    from edge_app.tui.screens.save import Piece


_LOOKS = " · [u]underlined[/u] redrawn · [i]slanted[/i] waiting · [s]struck[/s] refused"
LEGEND = Text.from_markup(f"plain kept{_LOOKS}")
LEGEND_HELD = Text.from_markup(f"[b]bold[/b] held back{_LOOKS}")
"""Where something was; as wide as the narrowest page with a legend has room for."""
FRAME_SECONDS = 1 / 15  # a frame takes the models some milliseconds of a core
PAUSE_SECONDS = 0.4
"""How long a brief stands unchanged before it is read: letters come faster."""
CARD_SECONDS = 0.25  # numbers change no faster than they can be read


class Page(Screen[None]):
    """The screen with the brief, the draft and the cards."""

    BINDINGS: ClassVar[list[BindingType]] = [*ACTIONS]
    AUTO_FOCUS = "#request"  # at once: each change of focus costs a paint

    def __init__(
        self, writing: Writing, save_folder: Path, *, practice_models: bool = False
    ) -> None:
        super().__init__()
        self._practice_models = practice_models
        self.save_folder = save_folder
        """Where texts and exports go unless the person says otherwise."""
        self.writing = writing
        self._cards_due = 0.0
        self._stale = True
        self._frame: asyncio.TimerHandle | None = None
        self._drawn = 0.0
        self._pause: asyncio.TimerHandle | None = None
        """When the brief is read, if it stays as it is until then."""
        self._to_read: WriteRequest | None = None

    def compose(self) -> ComposeResult:
        """Title, page and rail, one line for narrow screens, keys."""
        # Else the page is painted as for no size first, and then for that of now.
        points = self.app.HORIZONTAL_BREAKPOINTS, self.app.VERTICAL_BREAKPOINTS
        for size, classes in zip(self.app.size, points, strict=True):
            found = self._get_breakpoint_classes(size, classes or [])
            self.add_class(*found, update=False)
        with Horizontal(id="title"):
            yield Saying(id="what")
            yield Saying(id="server")
        with Horizontal():
            with Vertical(id="page"), Vertical(id="sheet"):
                yield Brief(self.writing.request)
                yield DraftEditor(self.writing.edit)
                yield Static(id="facts", markup=False)
                yield Static(id="reason", markup=False)
                yield Saying(id="hint")
                yield Saying(id="legend")
            with VerticalScroll(id="rail", can_focus=False):
                yield Card("sources", "")
                yield Card("sent", "Left this device")
                yield Card("numbers", "This draft")
        yield Saying(id="strip")
        yield KeyLine()

    def on_mount(self) -> None:
        """The cursor waits in the brief."""
        self.query_one(Brief).focus_text()
        self.refresh_all()
        # A message of the page, as it comes from any thread.
        self.writing.background.wake = lambda: self.call_later(self.frame_soon)
        self.frame_soon()

    def on_resize(self) -> None:
        """Cards have lines of another width now."""
        self._cards_due = 0.0
        self.stale()

    def stale(self) -> None:
        """Have the cards and the title say what is so now."""
        self._stale = True
        self.frame_soon()

    def show_draft(self) -> None:
        """Show another draft than before, its brief too."""
        self.brief.request = self.writing.request
        self.refresh_all()

    @property
    def brief(self) -> Brief:
        """The brief's widget."""
        return self.query_one(Brief)

    @property
    def editor(self) -> DraftEditor:
        """The draft's widget."""
        return self.query_one(DraftEditor)

    def refresh_all(self) -> None:
        """Update the draft and the cards, whether these are due or not."""
        self._cards_due = 0.0
        self.advance()

    def advance(self) -> None:
        """Draw a frame: the draft always, the cards if they are due."""
        now = self.writing.clock()
        self.editor.show(self.writing.variant, now)
        hint = next_step(self.writing)
        self.query_one("#hint", Saying).say(Text(hint))
        # Why there is no new text, for as long as nothing else is done.
        reason = self.query_one("#reason", Static)
        if self.writing.reason != reason.content:
            reason.update(self.writing.reason)
            reason.display = bool(self.writing.reason)
        self._check_facts()
        held = self.writing.variant is not None and self.writing.variant.held
        self.query_one("#legend", Saying).say(LEGEND_HELD if held else LEGEND)
        self._stale = True
        self._refresh_cards()

    @on(TextArea.Changed, "DraftEditor")
    def _check_facts(self) -> None:
        """Mark facts that are not from the person, and say what is missing."""
        report = self.writing.report()
        self.editor.mark([one.span for one in report.invented] if report else [])
        said = legible(" · ".join(report.in_words())) if report else ""
        facts = self.query_one("#facts", Static)
        if said != facts.content:
            facts.update(said)
            facts.display = bool(said)

    def _refresh_cards(self) -> None:
        writing, now = self.writing, self.writing.clock()
        if now < self._cards_due:
            return
        self._cards_due, self._stale = now + CARD_SECONDS, False
        self._look_ahead()
        request = self.brief.request
        self.brief.show_style(writing.style, writing.reply_to)
        self.brief.propose(writing.people)
        hint = starting(writing)
        if writing.variant is None:
            practice = self._practice_models
            hint = welcome(samples=writing.samples, practice_models=practice)
        self.editor.placeholder = Content(hint)
        whose = cards.whose(writing)
        sources, sent, figures = self.query(Card)
        sources.title = "From your letters" if whose == cards.OWN else whose
        self.query_one("#what", Saying).say(cards.title(writing, request))
        self.query_one("#server", Saying).say(cards.server(writing))
        sources.say(cards.sources_card(writing, sources.width))
        sent.say(cards.sent_card(writing, sent.width))
        figures.say(cards.numbers_card(writing))
        self.query_one("#strip", Saying).say(cards.strip_line(writing))

    def frame_soon(self) -> None:
        """Draw a frame when the one before has been seen long enough."""
        self._tick_in(self._drawn + FRAME_SECONDS - time.monotonic())

    def _tick_in(self, seconds: float) -> None:
        """Draw a frame in `seconds`, unless one is due before."""
        if self._frame is not None:
            due = asyncio.get_running_loop().time() + max(0.0, seconds)
            if self._frame.when() <= due:
                return
            self._frame.cancel()
        self._frame = self._call_in(seconds, self.tick)

    def _call_in(
        self, seconds: float, call: Callable[[], object]
    ) -> asyncio.TimerHandle:
        """Call in `seconds`, as a message of the page: a one-shot timer of Textual that
        is looked at too late never calls."""
        loop = asyncio.get_running_loop()
        return loop.call_later(max(0.0, seconds), self.call_later, call)

    def tick(self) -> None:
        """Apply what came from the service's threads, and draw it."""
        if self._frame is not None:
            self._frame.cancel()
        self._frame, self._drawn = None, time.monotonic()
        if not self.query(DraftEditor):
            return  # the app is leaving, and its widgets are gone
        writing, shown = self.writing, self.writing.draft_state
        came = writing.background.apply()
        if writing.draft_state is not shown:
            self.show_draft()
        self.say_news()
        asked, writing.asked = writing.asked, None
        if asked is not None:
            ask_held_back(self.app, asked)
        struck = writing.variant is not None and writing.variant.struck
        if came or struck:
            self.advance()
            top = self.app.screen  # one that is not mounted yet shows what is so then
            if isinstance(top, Drawer | HeldBackQuestion) and top.is_mounted:
                top.advance()
        elif self._stale:
            self._refresh_cards()
        if struck:
            self.frame_soon()
        elif self._stale:
            self._tick_in(CARD_SECONDS)

    def say_news(self) -> None:
        """Show what there is to be said."""
        news, self.writing.news = self.writing.news, []
        for sentence, severity in news:
            self.notify(sentence, severity=severity)

    def _look_ahead(self) -> None:
        """Have the brief read once the person pauses in typing it."""
        request = self.writing.to_read_ahead()
        if request == self._to_read:
            return
        self._to_read = request
        if self._pause is not None:
            self._pause.cancel()
        if request is not None:
            read = partial(self.writing.read_ahead, request)
            self._pause = self._call_in(PAUSE_SECONDS, read)

    def action_draft(self) -> None:
        """Write what the brief asks for."""
        variant, editor = self.writing.variant, self.editor
        begin, end = editor.selected_letters()
        whole = variant is None or (variant.edited is None and end == len(variant.text))
        same = variant is not None and (
            self.writing.style.request(self.brief.request) == variant.request.brief
        )
        within = editor.editing and editor.has_focus and begin == end
        if within and same and not whole:
            self.action_go_on()
        else:
            self._write(self.writing.draft)

    def action_go_on(self) -> None:
        """Write on from the cursor."""
        _, at = self.editor.selected_letters()
        self._write(lambda request: self.writing.go_on(request, at))

    def action_again(self) -> None:
        """Write another version, of what is selected in the text or of all of it."""
        begin, end = self.editor.selected_letters()
        if begin < end and self.editor.has_focus:
            self._write(lambda request: self.writing.redraw(request, begin, end))
        else:
            self._write(self.writing.again)

    def action_tries(self) -> None:
        """Write four versions at once; the best is shown."""
        self._write(self.writing.several)

    def action_turn(self) -> None:
        """Ask in a line for what is to change, and change that."""
        if self.writing.variant is None or not self.writing.variant.text.strip():
            self.notify("there is no text to change yet", severity="warning")
            return

        def changed(instruction: str | None) -> None:
            try:
                if instruction and instruction.strip():
                    self.notify(self.writing.turn(instruction))
            except InvalidSettingsError as error:
                self.notify(str(error), severity="warning")
            self.show_draft()

        self._take_brief()
        self.app.push_screen(Turn(), changed)

    def _write(self, write: Callable[[Request], None]) -> None:
        request = self._take_brief()
        if not request.text.strip():
            self.notify("say in the brief what it should be about", severity="warning")
            self.brief.focus_text()
            return
        write(request)
        self.refresh_all()
        self.editor.focus()

    def answer(self, letter: Source | None) -> None:
        """Answer a letter, in a draft of its own; None: this draft answers none any
        more."""
        writing, before = self.writing, self.writing.reply_to
        if letter is None:
            writing.answer(None)
        elif before is None or before.record_id != letter.record_id:
            self._take_brief()
            if writing.unsaved() and writing.unkept:
                self.notify(
                    f"this draft is not kept: {writing.unkept}; "
                    f"{key_of('save')} saves it first",
                    severity="warning",
                )
                return
            if writing.kept_in is not None:
                self.notify(
                    f"the draft before is among your drafts, {key_of('drafts')}"
                )
            writing.begin_anew()
            writing.ask(Request("", "email", sender(letter)))
            writing.answer(letter)
            self.brief.request = writing.request
        self.refresh_all()
        self.brief.focus_text()

    def action_task(self, task: str) -> None:
        """Write a text of another kind."""
        self.brief.take_task(task)

    @on(Steps.Moved)
    def _starred(self, event: Steps.Moved) -> None:
        event.stop()
        self.writing.restyle(replace(self.writing.style, stars=event.steps.at))
        self.stale()

    def put(self, at: int, removed: int, runs: list[Run]) -> None:
        """Put `runs` in the place of letters of the version on screen."""
        if self.editor.editing:
            self.editor.put(at, removed, runs)
        elif self.writing.variant is not None:
            self.writing.edit(self.writing.variant, at, removed, runs)
        self.refresh_all()

    def action_stop(self) -> None:
        """Stop writing; what is settled stays."""
        self.tick()
        self.writing.stop()
        self.refresh_all()

    def action_flip(self, step: int) -> None:
        """Show an earlier or later version."""
        if not self.writing.flip(step):
            self.notify("no earlier version" if step < 0 else "no later version")
        self.refresh_all()

    def action_copy(self) -> None:
        """Copy the text; OSC 52 reaches the clipboard over SSH too."""
        piece = self._piece("copy")
        if piece is not None and self.writing.variant is not None:
            self.app.copy_to_clipboard(piece.text)
            self.writing.finished(self.writing.variant, piece.text)
            self.notify("copied")

    def action_editor(self) -> None:
        """Let the person change the text in an editor of their own."""
        from edge_app.tui import outside

        editor = self.editor
        if not editor.editing:
            self.notify("write something first, or let it be written to its end")
            return
        before = editor.text
        try:
            words = outside.editor_command()
            with self.app.suspend():
                after = outside.edited(before, words)
        except outside.EditorError as error:
            self.notify(str(error), severity="warning")
            return
        except SuspendNotSupported:
            self.notify("there is no editor to be had here", severity="warning")
            return
        for start, end, text in outside.changes(before, after):
            editor.put(start, end - start, [(text, "typed")])
        self.refresh_all()

    def action_mailto(self) -> None:
        """Open the text in the person's mail program, or copy a link that does."""
        from edge_app.tui import outside

        piece = self._piece("mail")
        variant = self.writing.variant
        if piece is None or variant is None:
            return
        mail = "" if piece.answers is None else piece.as_file(".eml")
        said = "opened in your mail program"
        try:
            if not outside.open_outside(link := piece.link(), mail):
                self.app.copy_to_clipboard(link)
                said = "copied a mailto: link; open it in a browser or with xdg-open"
        except (ValueError, OSError) as error:
            self.notify(str(error), severity="warning")
            return
        self.writing.finished(variant, piece.text)
        self.notify(said)

    def _piece(self, use: str) -> Piece | None:
        """The text on screen with what is known of it; None, which is said: no text."""
        from edge_app.tui.screens.save import Piece

        variant = self.writing.variant
        if variant is None or not variant.text:
            self.notify(f"there is no text to {use} yet", severity="warning")
            return None
        return Piece.of(self.writing, variant)

    def action_save(self, then: Callable[[], None] | None = None) -> None:
        """Ask for a path, save the text there, and call `then`."""
        piece, variant = self._piece("save"), self.writing.variant
        if piece is None or variant is None:
            return
        from edge_app.tui.screens.save import SaveDialog

        def saved(path: Path | None) -> None:
            if path is not None:
                self.writing.saved(variant, piece.text)
                self.notify(f"saved to {path}")
                if then is not None:
                    then()

        path = propose(self.save_folder, piece.brief)
        self.app.push_screen(SaveDialog(path, piece, variant), saved)

    @on(DraftEditor.Asked)
    def action_why(self) -> None:
        """Explain why the word at the cursor stands there."""
        from edge_app.tui.screens.why import WhyDrawer

        if self.writing.variant is None:
            self.notify("there is no word yet", severity="warning")
            return
        editor = self.editor

        def unmark(_: None) -> None:
            if editor.editing:
                editor.move_cursor(editor.selection.start)

        self.app.push_screen(WhyDrawer(self.writing, editor), unmark)

    @on(DraftEditor.Typed)
    def _edit(self, event: DraftEditor.Typed) -> None:
        """The first typed letter ends the writing and goes into the text."""
        if self.writing.variant is None:
            self.brief.type(event.text)
            return
        self.tick()
        self.writing.stop(keep_empty=True)
        self.refresh_all()
        if self.editor.editing:
            self.editor.insert_as("pasted" if event.pasted else "typed", event.text)

    def on_key(self, event: events.Key) -> None:
        """Take what is typed where nothing takes it into the brief."""
        if event.is_printable and event.character and self.writing.variant is None:
            event.stop()
            self.brief.type(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """So is what is pasted."""
        if event.text and self.writing.variant is None:
            event.stop()
            self.brief.type(event.text)

    @on(Brief.Changed)
    def _brief_changed(self) -> None:
        self._take_brief()
        self._look_ahead()
        self.stale()

    def _take_brief(self) -> Request:
        """The brief as it stands, which the draft now has too."""
        self.writing.ask(self.brief.request)
        return self.writing.request


def next_step(writing: Writing) -> str:
    """A hint at the keys that are of use in the present state."""
    variant = writing.variant
    if writing.problem:
        return "cannot write yet"
    if variant is not None and variant.writing:
        # Stays the same while words come.
        return starting(writing) or "writing and checking… esc stops"
    if variant is None or not variant.text:
        drafts = f"{key_of('draft')} drafts it"
        return drafts if writing.ready else "loading the models…"
    if variant.unfinished:
        return f"not finished: it was cut off · {key_of('draft')} goes on with it"
    if len(writing.variants) > 1:
        flip = f"{key_of('earlier')}/{key_of('later')} flip versions"
        return f"{flip} · {key_of('compare')} compares · {key_of('sent')} what left"
    then = f"{key_of('save')} save"
    if writing.samples:
        then = f"{key_of('import')} your letters"
    return f"edit anything · {key_of('again')} again · {then}"


def starting(writing: Writing) -> str:
    """What is done until the first word is there; empty from then on."""
    variant = writing.variant
    if variant is None or not variant.writing or variant.settled or variant.waiting:
        return ""
    if not writing.ready:
        return "loading the models… the draft begins by itself"
    if not variant.sources and variant.opened is None:
        return "looking for letters that fit…"
    reading = f"reading {cards.letters_read(variant)}…"
    if variant.request.offline or variant.opened is not None:
        return reading
    return f"{reading} asking the checker…"


def welcome(*, samples: bool, practice_models: bool) -> str:
    """What the empty page says of the letters and models at hand."""
    reads = f"{key_of('import')} reads your own."
    finds = f"{key_of('models')} gets ones that write well."
    lines = [f"These are Tess's sample letters. {reads}"] * samples
    practice = ["These are practice models: plain words, little of your voice.", finds]
    lines += practice * practice_models
    return "\n".join(lines)
