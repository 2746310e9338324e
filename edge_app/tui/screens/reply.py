"""Which received letter is answered: search them, read the thread, take one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Source
from edge_app.service.requests import Letter
from edge_app.tui.keys import key_of
from edge_app.tui.letters import date, sender, subject
from edge_app.tui.screens.drawer import ListDrawer
from edge_app.tui.writing import Writing


class ReplyDrawer(ListDrawer):
    """Lists what others wrote, and shows the thread of the chosen letter."""

    NAME = "reply"
    SEARCHES = "search what others wrote to you"
    NOTE = "looking for letters…"
    AUTO_FOCUS = "#search"
    TITLE = "Answer a letter"
    FOOT = "enter answers it · del answers none · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "list", "List", show=False),
        Binding("delete", "none", "None", show=False),
    ]

    def __init__(
        self, writing: Writing, answer: Callable[[Source | None], None]
    ) -> None:
        super().__init__(writing)
        self._answer = answer
        self._listed: list[Source] = []
        self._asked = ""
        self._shown = 0
        """The record whose thread is to be shown."""

    def on_mount(self) -> None:
        """Show the newest letters."""
        self._look_for("")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self._look_for(event.value.strip())

    def _look_for(self, query: str) -> None:
        self._asked, service = query, self.writing.service
        self.writing.background.run(
            lambda: service.search_received(query),
            partial(self._list, query),
            lambda problem: self._list(query, [], problem),
        )

    def action_none(self) -> None:
        """Answer no letter any more."""
        self._answer(None)
        self.dismiss()

    def _list(self, query: str, letters: list[Letter], problem: str = "") -> None:
        if query != self._asked or not self.is_attached:
            return  # another was asked for since
        chosen = self.writing.reply_to
        self._listed = list(letters)
        if chosen is not None and not self._asked:
            others = [s for s in self._listed if s.record_id != chosen.record_id]
            self._listed = [chosen, *others]
        note = f"{len(self._listed)} letters, the best first."
        if problem:
            note = f"cannot search: {problem}"
        elif not self._listed:
            imports = f"{key_of('import')} imports your mail"
            note = f"No letter by others is here that fits; {imports}."
        elif chosen is not None:
            note = f"You answer {sender(chosen)}: {subject(chosen)}."
        lines = [
            Text.assemble((f"{date(one):<9}", "dim"), f"{sender(one)}  {subject(one)}")
            for one in self._listed
        ]
        self.fill(lines, note, at=0)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._listed):
            self._shown = self._listed[event.option_index].record_id
            self.writing.read_thread(self._shown, partial(self._read, self._shown))

    def _read(self, record_id: int, letters: list[Letter]) -> None:
        if record_id != self._shown or not self.is_attached:
            return
        text = Text()
        for one in letters:
            here = one.record_id == record_id
            text.append(
                one_line(one.title) + "\n", "bold underline" if here else "bold"
            )
            text.append(legible(one.excerpt).strip() + "\n\n")
        self.read(text)

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        self._answer(self._listed[event.option_index])
        self.dismiss()
