"""Earlier drafts: go on with one, or throw it away."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import shorten
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.foreign_text import legible, one_line
from edge_app.tui.drafts import Writing
from edge_app.tui.journal.draft import Draft
from edge_app.tui.journal.files import JournalError, Kept
from edge_app.tui.screens.drawer import Drawer

_TITLE = 60


class DraftsDrawer(Drawer):
    """Lists the drafts that are kept, and shows the text of the chosen one."""

    NAME = "drafts"
    TITLE = "Your drafts"
    FOOT = "enter goes on with one · del throws it away · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete", "discard", "Throw away", show=False)
    ]

    class Chosen(Message):
        """The person goes on with another draft."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    def __init__(self, writing: Writing) -> None:
        super().__init__()
        self.writing = writing
        self._listed: list[Kept] = []
        self._doomed: Path | None = None
        """What a second Del throws away."""

    def contents(self) -> Iterable[Widget]:
        """A line on what this is, the list, the text."""
        yield Static(classes="note", markup=False)
        yield OptionList(id="list")
        yield VerticalScroll(Static(id="text", markup=False), id="reader")

    def on_mount(self) -> None:
        """Read the folder."""
        self._list()
        self.query_one(OptionList).focus()

    def _list(self) -> None:
        folder = self.writing.journals
        kept, problems = ([], []) if folder is None else folder.kept()
        self._listed = kept
        options = self.query_one(OptionList)
        at = options.highlighted or 0
        options.clear_options()
        options.add_options(
            Option(
                Text.assemble(
                    (f"{one.changed:%Y-%m-%d %H:%M}  ", "dim"), title_of(one.draft)
                )
            )
            for one in kept
        )
        options.highlighted = min(at, len(kept) - 1) if kept else None
        note = "Kept on this device as you write, under the store's key if it has one."
        if not kept:
            note = "There is no draft yet."
            self.query_one("#text", Static).update("")
        self.query_one(".note", Static).update(legible("\n".join([note, *problems])))

    @on(OptionList.OptionHighlighted)
    def _read(self, event: OptionList.OptionHighlighted) -> None:
        self._doomed = None
        if event.option_index >= len(self._listed):  # the list has changed meanwhile
            return
        draft = self._listed[event.option_index].draft
        variant = draft.variant
        text = draft.request.text if variant is None else variant.text
        self.query_one("#text", Static).update(Text(legible(text)))
        self.query_one("#reader").scroll_home(animate=False)

    @on(OptionList.OptionSelected)
    def _go_on(self, event: OptionList.OptionSelected) -> None:
        chosen = self._listed[event.option_index].path
        self.dismiss()
        if chosen != self.writing.kept_in:
            self.app.post_message(self.Chosen(chosen))

    def action_discard(self) -> None:
        """Throw the chosen draft away, when asked for twice."""
        at, folder = self.query_one(OptionList).highlighted, self.writing.journals
        if at is None or folder is None:
            return
        path = self._listed[at].path
        if path == self.writing.kept_in:
            self.notify("this one is on the page; ^N begins another first")
        elif self._doomed != path:
            self._doomed = path
            self.notify("del once more throws it away for good", timeout=3)
        else:
            try:
                folder.discard(path)
            except JournalError as error:
                self.notify(str(error), severity="warning")
            self._list()


def title_of(draft: Draft) -> str:
    """The kind, for whom, and the first words of what was asked for."""
    request = draft.request
    count = len(draft.variants)
    versions = f" ({count} versions)" if count > 1 else ""
    whom = f" · {request.recipient}" if request.recipient else ""
    words = one_line(f"{request.task}{whom}: {' '.join(request.text.split())}")
    return shorten(words, _TITLE, placeholder="…") + versions
