"""How further versions are written: tone, length, stars, and whose words win."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from decoding_core.foreign_text import legible, one_line
from edge_app.tui.draft import (
    LENGTHS,
    STRENGTH_WORDS,
    STRENGTHS,
    THRESHOLD_WORDS,
    THRESHOLDS,
    TONES,
    Style,
)
from edge_app.tui.keys import key_of
from edge_app.tui.screens.brief import STARS
from edge_app.tui.screens.compare import LOOKS, Change, differences
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.widgets import Steps
from edge_app.tui.variant import Variant
from edge_app.tui.writing import Writing
from models.prompts import Request

_ENDS = "closer to you", "closer to the checker"
_MOST_PRESETS = 6
_NOTE = "p writes the beginning in this way, and shows what it changes."


class StyleDrawer(Drawer):
    """Two sliders, a tone, a length, and stars for a review."""

    NAME = "style"
    AUTO_FOCUS = "#tone"
    TITLE = "How it is written"
    FOOT = "↑ ↓ which · ← → how · p previews · r as it was · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "Next", show=False),
        Binding("up", "app.focus_previous", "Previous", show=False),
        Binding("p,ctrl+j", "preview", "Preview", show=False, priority=True),
        Binding("r", "reset", "As it was", show=False),
    ]

    def __init__(
        self, writing: Writing, brief: Request, changed: Callable[[], None]
    ) -> None:
        super().__init__(writing)
        self._brief = brief
        self._changed = changed
        self._first = writing.style
        self._presets: list[tuple[str, Style]] = []
        self._preview: Variant | None = None
        self._seen = ""

    def contents(self) -> Iterable[Widget]:
        """The steps, and what the preview shows."""
        yield Steps("tone", "Tone", ["as you write", *TONES[1:]], 0)
        if self._brief.task == "review":
            yield Steps("stars", "Stars", ["none named", *STARS[1:]], 0)
        yield Steps("length", "Length", ["short", "as you write", "long"], 1)
        yield Steps("threshold", "What is kept", THRESHOLD_WORDS, 0, _ENDS)
        yield Steps("strength", "What is redrawn", STRENGTH_WORDS[::-1], 0, _ENDS)
        yield Steps("preset", "As with", ["nobody else"], 0)
        yield Static(classes="note", markup=False)
        yield VerticalScroll(Static(id="text", markup=False), id="reader")

    def on_mount(self) -> None:
        """Show the style of the draft, and look for those of earlier ones."""
        self._show(self.writing.style)
        self.query_one("#preset").display = False
        self.say(_NOTE, ".note")
        self.writing.background.run(self._find_presets, self._offer)

    def _find_presets(self) -> list[tuple[str, Style]]:
        """Styles of earlier drafts: first those for the same person."""
        folder = self.writing.journals
        kept = [] if folder is None else folder.kept()[0]
        whom = self._brief.recipient.casefold()
        drafts = [one.draft for one in kept]
        drafts.sort(key=lambda one: one.request.recipient.casefold() != whom)
        found: dict[str, Style] = {}
        for draft in drafts:
            name = one_line(draft.request.recipient)
            if name and draft.style.words() and name not in found:
                found[name] = replace(draft.style, stars=0)
        return list(found.items())[:_MOST_PRESETS]

    def _offer(self, presets: list[tuple[str, Style]]) -> None:
        self._presets = presets if self.is_attached else []
        if self._presets:
            words = [f"{name}: {style.words()}" for name, style in self._presets]
            steps = self.query_one("#preset", Steps)
            steps.choose_among(["nobody else", *words])
            steps.display = True

    def _show(self, style: Style) -> None:
        usual = self.writing.settings
        threshold = usual.threshold if style.threshold is None else style.threshold
        strength = usual.strength if style.strength is None else style.strength
        self.query_one("#tone", Steps).move_to(TONES.index(style.tone))
        self.query_one("#length", Steps).move_to(LENGTHS.index(style.length))
        for stars in self.query("#stars").results(Steps):
            stars.move_to(style.stars)
        number = 0.5 if threshold == "auto" else threshold
        self.query_one("#threshold", Steps).move_to(_nearest(THRESHOLDS, number))
        last = len(STRENGTHS) - 1
        self.query_one("#strength", Steps).move_to(last - _nearest(STRENGTHS, strength))

    @on(Steps.Moved)
    def _moved(self, event: Steps.Moved) -> None:
        event.stop()
        at, style = event.steps.at, self.writing.style
        match event.steps.id:
            case "tone":
                style = replace(style, tone=TONES[at])
            case "stars":
                style = replace(style, stars=at)
            case "length":
                style = replace(style, length=LENGTHS[at])
            case "threshold":
                style = replace(style, threshold=THRESHOLDS[at])
            case "strength":
                style = replace(style, strength=STRENGTHS[::-1][at])
            case "preset":
                chosen = self._presets[at - 1][1] if at else self._first
                style = replace(chosen, stars=style.stars)
        self._take(style)

    def action_reset(self) -> None:
        """The style that the draft had when this was opened."""
        self._take(self._first)

    def _take(self, style: Style) -> None:
        self.writing.restyle(style)
        self._show(style)
        self._changed()

    def action_preview(self) -> None:
        """Write the beginning in this style."""
        writing = self.writing
        if writing.service_busy or not writing.ready:
            self.say("the models are busy: wait a moment, or stop them", ".note")
        elif not self._brief.text.strip():
            self.say("say in the brief first what it should be about", ".note")
        else:
            self._preview = writing.preview(self._brief, writing.style)
            self._seen = "?"
            self.advance()

    def advance(self) -> None:
        """Show how far the preview is."""
        preview = self._preview
        if preview is None:
            return
        written = "".join(token.text for token in preview.settled)
        if written == self._seen and preview.writing:
            return
        self._seen = written
        shown = self.writing.variant
        stood = "" if shown is None else "".join(t.text for t in shown.settled)
        ended = preview.reason == "end"
        beginning = written if ended else _whole_words(written)
        cut = stood if ended else _whole_words(stood[: len(beginning)])
        changes = differences(cut, beginning)
        text = Text()
        last: Change = "same"
        for piece, change in changes:
            if (last, change) == ("gone", "new"):
                text.append(" ")
            text.append(legible(piece), LOOKS[change] if stood else "")
            last = change
        if not ended:
            text.append(" …")
        self.say(text, "#text")
        said = "writing the beginning…"
        if not preview.writing:
            self._preview = None
            alike = all(change == "same" for _, change in changes)
            said = "Struck: as it stands. Underlined: as it would be. "
            said += f"{key_of('again')} writes it all."
            if not written:
                said = "nothing was written"
            elif not stood:
                said = "This is how it would begin."
            elif alike:
                said = "The beginning would be the same."
        self.say(said, ".note")


def _whole_words(text: str) -> str:
    """What stands before the last gap: a word that is cut there says nothing."""
    words = text.rstrip()
    return words[: max(words.rfind(" "), words.rfind("\n"), 0)].rstrip()


def _nearest(steps: tuple[float, ...], number: float) -> int:
    return min(range(len(steps)), key=lambda at: abs(steps[at] - number))
