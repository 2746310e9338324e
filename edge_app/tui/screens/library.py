"""The library of drafts: find one by its words, go on with it, or throw it away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from decoding_core.foreign_text import legible, one_line
from edge_app.tui.draft import Draft
from edge_app.tui.journal import JournalError, Kept
from edge_app.tui.keys import key_of
from edge_app.tui.screens.drawer import ListDrawer
from edge_app.tui.writing import Writing

_TITLE = 60
_NOTE = "Kept on this device as you write, under the store's key if it has one."


class DraftsDrawer(ListDrawer):
    """Lists the drafts that are kept, and shows the text of the chosen one."""

    NAME = "drafts"
    SEARCHES = "words of the brief or the text"
    NOTE = "reading your drafts…"
    AUTO_FOCUS = "#list"
    TITLE = "Your drafts"
    FOOT = "type to find · enter goes on with one · del throws it away · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete", "discard", "Throw away", show=False, priority=True),
        Binding("down", "list", "List", show=False),
    ]

    def __init__(self, writing: Writing, go_on: Callable[[Path], None]) -> None:
        super().__init__(writing)
        self._go_on_with = go_on
        self._kept: list[tuple[Kept, str]] = []
        self._problems: list[str] = []
        self._listed: list[Kept] = []
        self._doomed: Path | None = None
        """What a second Del throws away."""

    def on_mount(self) -> None:
        """Read the folder, in a thread: each sealed draft takes its time."""
        self.writing.background.run(self._read_all, self._show)

    def _read_all(self) -> tuple[list[tuple[Kept, str]], list[str]]:
        folder = self.writing.journals
        kept, problems = ([], []) if folder is None else folder.kept()
        return [(one, words_of(one.draft)) for one in kept], problems

    def _show(self, read: tuple[list[tuple[Kept, str]], list[str]]) -> None:
        self._kept, self._problems = read
        if self.is_attached:
            self._list()

    def _list(self) -> None:
        wanted = self.query_one(Input).value.casefold().split()
        self._listed = [
            one for one, words in self._kept if all(word in words for word in wanted)
        ]
        lines = [
            Text.assemble(
                (f"{one.changed:%Y-%m-%d %H:%M}  ", "dim"), title_of(one.draft)
            )
            for one in self._listed
        ]
        note = _NOTE
        if wanted:
            note = f"{len(lines)} of {len(self._kept)} drafts have these words."
        elif not self._kept:
            note = "There is no draft yet."
        self.fill(lines, "\n".join([note, *self._problems]))

    def on_key(self, event: events.Key) -> None:
        """Whatever is typed over the list goes into the search line."""
        field = self.query_one(Input)
        if event.is_printable and event.character and not field.has_focus:
            event.stop()
            self.set_focus(field)
            field.insert_text_at_cursor(event.character)

    @on(Input.Changed)
    def _find(self) -> None:
        self._list()

    @on(OptionList.OptionHighlighted)
    def _read(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index >= len(self._listed):  # the list has changed meanwhile
            return
        kept = self._listed[event.option_index]
        if kept.path != self._doomed:  # a key may have come before this was told
            self._doomed = None
        draft = kept.draft
        variant = draft.variant
        text = draft.request.text if variant is None else variant.text
        shown = Text(legible(text))
        wanted = self.query_one(Input).value.split()
        shown.highlight_words(wanted, "reverse", case_sensitive=False)
        self.say(shown, "#text")
        reader, first = self.query_one("#reader"), min(shown.spans, default=None)
        row = 0
        if first is not None:  # what was found is to be seen
            before = shown[: first.start].wrap(self.app.console, reader.size.width or 1)
            row = max(0, len(before) - 2)
        reader.scroll_to(y=row, animate=False)

    @on(OptionList.OptionSelected)
    def _go_on(self, event: OptionList.OptionSelected) -> None:
        chosen = self._listed[event.option_index].path
        self.dismiss()
        if chosen != self.writing.kept_in:
            self._go_on_with(chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Del is the search line's while a letter stands behind its cursor."""
        del parameters
        field = self.query_one(Input)
        within = field.has_focus and field.cursor_position < len(field.value)
        return not (action == "discard" and within)

    def action_discard(self) -> None:
        """Throw the chosen draft away, when asked for twice."""
        at, folder = self.query_one(OptionList).highlighted, self.writing.journals
        if at is None or folder is None:
            return
        path = self._listed[at].path
        if path == self.writing.kept_in:
            self.notify(
                f"this one is on the page; {key_of('new')} begins another first"
            )
        elif self._doomed != path:
            self._doomed = path
            self.notify("del once more throws it away for good", timeout=3)
        else:
            try:
                folder.discard(path)
            except JournalError as error:
                self.notify(str(error), severity="warning")
            self._doomed = None
            self._kept = [one for one in self._kept if one[0].path.exists()]
            self._list()


def words_of(draft: Draft) -> str:
    """All in which a search looks: the brief, every version, and what is answered."""
    parts = [draft.request.task, draft.request.recipient, draft.request.text]
    parts += [variant.text for variant in draft.variants]
    if draft.reply_to is not None:
        parts.append(draft.reply_to.title)
    return "\n".join(parts).casefold()


def title_of(draft: Draft) -> str:
    """The kind, for whom, and the first words of what was asked for."""
    request = draft.request
    count = len(draft.variants)
    versions = f" ({count} versions)" if count > 1 else ""
    if draft.variant is not None and draft.variant.unfinished:
        versions += " (not finished)"
    whom = f" · {request.recipient}" if request.recipient else ""
    words = one_line(f"{request.task}{whom}: {' '.join(request.text.split())}")
    return shorten(words, _TITLE, placeholder="…") + versions
