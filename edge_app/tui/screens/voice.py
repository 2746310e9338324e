"""The drawer of the voice: how the person writes, with the letters that show it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Source
from edge_app.tui.letters import date, subject
from edge_app.tui.screens.lists import ListDrawer
from edge_app.tui.text import counted
from edge_app.tui.writing import Writing
from models.prompts import Request

if TYPE_CHECKING:
    from edge_app.retrieval.voice import Line, Voice

_SHOWN = 12  # letters that are shown for a line
_LOOKS = {"struck": "strike", "set": "bold", "pinned": "bold"}


class VoiceDrawer(ListDrawer["Line"]):
    """Lists what is known of how the person writes; each line can be changed, pinned
    and struck out."""

    NAME = "voice"
    SEARCHES = "c changes the marked line: type here, enter sets it"
    NOTE = "counting…"
    AUTO_FOCUS = "#list"
    TITLE = "How you write"
    FOOT = "enter letters · c change · p pin · x strike · u undo · g everybody · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "change", "Change", show=False),
        Binding("p", "mark('pinned')", "Pin", show=False),
        Binding("x", "mark('struck')", "Strike out", show=False),
        Binding("u", "mark('')", "Undo", show=False),
        Binding("g", "everybody", "Everybody", show=False),
        Binding("down", "list", "List", show=False),
    ]

    def __init__(self, writing: Writing, brief: Request) -> None:
        super().__init__(writing)
        self._kind, self._whom = brief.task, brief.recipient
        self._to = self._whom

    def on_mount(self) -> None:
        """Count, in a thread: a long history takes a moment."""
        self._show_after(lambda: None)

    def _show_after(self, change: Callable[[], object]) -> None:
        """Change something in the store, then show the voice as it is."""
        service = self.writing.service

        def voice() -> Voice:
            change()
            return service.voice(self._kind, self._to)

        self.look(voice, self._list)

    def _list(self, voice: Voice | None) -> None:
        if voice is None:
            self.fill([], "There is no store here.")
            return
        note = one_line(f"Counted on this device from your {voice.whence}.")
        self.fill(list(voice.lines), note)

    def line(self, one: Line) -> Text:
        """Its name, what it says, and how sure that is."""
        said = Text(f"{one.name:<18}")
        said.append(one_line(one.value), _LOOKS.get(one.state, ""))
        said.append(f" → {one_line(one.into)}" if one.into else "")
        return said.append(f"  {' · '.join(one.why)}", "dim")

    def read(self, one: Line) -> None:
        """Say how many letters show it; Enter shows them."""
        letters = counted(len(one.records), "letter")
        self.say(f"{letters}: enter shows them" if one.records else "", "#text")

    def take(self, one: Line) -> None:
        """Show the letters that a line comes from."""
        service, ids = self.writing.service, one.records[:_SHOWN]

        def show(letters: list[Source]) -> None:
            if not (self.is_attached and self.marked is one):
                return
            text = Text()
            for letter in letters:
                text.append(f"{date(letter)}  {subject(letter)}\n", "bold")
                text.append(legible(letter.excerpt).strip() + "\n\n")
            self.show_text(text)
            self.query_one("#reader").focus()

        # Edits are learnt from drafts that are excluded as letters, too.
        self.writing.background.run(lambda: service.texts(ids, excluded=True), show)

    def action_change(self) -> None:
        """Put what the marked line says into the field above."""
        if self.marked is not None:
            field = self.query_one(Input)
            field.value = self.marked.value
            self.set_focus(field)

    def submitted(self, query: str) -> None:
        """Set the marked line to what was typed."""
        if self.marked is not None and query:
            self._mark_line(self.marked, "set", query)
        self.query_one(Input).value = ""
        self.query_one(OptionList).focus()

    def action_mark(self, state: str) -> None:
        """Pin the marked line, strike it out, or take back what was said of it."""
        if self.marked is not None and not self.query_one(Input).has_focus:
            self._mark_line(self.marked, state)

    def _mark_line(self, one: Line, state: str, value: str = "") -> None:
        change = self.writing.service.mark_voice
        many = one.name in ("phrase", "never")
        if many and state == "set":  # another phrase in the place of this one
            kept = partial(change, self._kind, self._to, one.name)

            def replace() -> None:
                kept("struck", one.value)
                kept("set", value)

            self._show_after(replace)
            return
        value = one.value if many else value
        self._show_after(partial(change, self._kind, self._to, one.name, state, value))

    def action_everybody(self) -> None:
        """Show how the person writes to everybody, or to the one of the brief again."""
        self._to = "" if self._to else self._whom
        self._show_after(lambda: None)
