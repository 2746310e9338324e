"""Your letters: which were read for this draft, and which shall not be read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Source
from edge_app.tui.keys import key_of
from edge_app.tui.letters import date, reason, subject
from edge_app.tui.screens.cards import whose
from edge_app.tui.screens.drawer import ListDrawer


class SourcesDrawer(ListDrawer):
    """Lists the letters that were read, and shows the text of the chosen one."""

    NAME = "sources"
    SEARCHES = "search your letters"
    AUTO_FOCUS = "#list"  # else the search field has the first keys
    BESIDE = True
    TITLE = "Letters that were read"
    FOOT = "x leaves out · / searches · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "exclude", "Leave out", show=False),
        Binding("slash", "search", "Search", show=False),
    ]

    _listed: Sequence[Source] = ()
    _query = _problem = ""

    def on_mount(self) -> None:
        """Show what the draft was written from."""
        self._list(self._of_draft())

    def _of_draft(self) -> list[Source]:
        variant = self.writing.variant
        found = list(variant.sources) if variant else []
        known = {source.record_id for source in found}
        left_out = self.writing.draft_state.excluded.values()
        return found + [source for source in left_out if source.record_id not in known]

    def _list(self, sources: Sequence[Source]) -> None:
        self._listed = sources
        lines = []
        variant = self.writing.variant
        request = self.writing.request if variant is None else variant.request.brief
        for source in sources:
            out = source.record_id in self.writing.draft_state.excluded
            line = Text(f"{'- ' if out else ''}{date(source):<9} {subject(source)}")
            line.stylize("strike" if out else "")
            if not self._query:
                line.append(f"\n{'':<10}{reason(source, request)}", "dim")
            lines.append(line)
        self.fill(lines, self._note())

    def _note(self) -> str:
        if self._problem:
            return f"cannot search: {self._problem}"
        if self._query and not (self._listed or self.writing.counts.get("own", 1)):
            return f"There is no letter of yours yet. {key_of('import')} imports some."
        if self._query:
            return f"{len(self._listed)} found for “{self._query}”"
        if not self._listed:
            return "No letter was read yet. Draft something, or search with /."
        name = whose(self.writing)
        return f"From {name}: read for this draft, on this device only."

    @on(OptionList.OptionHighlighted)
    def _read(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index >= len(self._listed):  # the list has changed meanwhile
            return
        source = self._listed[event.option_index]
        # Of a draft that was taken up again the texts are in the store alone.
        body = source.excerpt or "(its text is in the store; / finds it)"
        title = (one_line(source.title), "bold")
        self.read(Text.assemble(title, "\n\n", legible(body)))

    @on(OptionList.OptionSelected)
    def _into_text(self) -> None:
        self.query_one("#reader").focus()

    def action_exclude(self) -> None:
        """Leave the chosen source out, or take it in again."""
        at = self.query_one(OptionList).highlighted
        if at is None:
            return
        left_out = self.writing.exclude(self._listed[at])
        self.notify(
            "left out of the next draft" if left_out else "taken in again", timeout=2
        )
        self._list(self._listed)

    def action_search(self) -> None:
        """Focus the search field."""
        # At once: `focus` waits its turn, and the next key would go to the list.
        self.set_focus(self.query_one("#search"))

    def submitted(self, query: str) -> None:
        """Search for what was typed; for nothing, show what the draft was read for."""
        self._query, service = query, self.writing.service
        if query:
            self.writing.background.run(
                lambda: service.search(query),
                partial(self._found, query),
                lambda problem: self._found(query, [], problem),
            )
        else:
            self._found("", self._of_draft())
        self.query_one(OptionList).focus()

    def _found(self, query: str, sources: Sequence[Source], problem: str = "") -> None:
        if query == self._query and self.is_attached:  # no other was asked for since
            self._problem = problem
            self._list(sources)
