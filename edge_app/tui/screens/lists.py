"""Drawers with a list to search: letters that were read, letters to answer, drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Source
from edge_app.service.requests import Letter
from edge_app.tui.draft import Draft
from edge_app.tui.journal import JournalError, Kept
from edge_app.tui.keys import key_of
from edge_app.tui.letters import date, reason, sender, subject
from edge_app.tui.screens.cards import whose
from edge_app.tui.screens.drawer import Drawer, fill
from edge_app.tui.screens.widgets import LineInput
from edge_app.tui.writing import Writing

_TITLE = 60
_KEPT = "Kept on this device as you write, under the store's key if it has one."
_T = TypeVar("_T")
_Found = TypeVar("_Found")


class ListDrawer(Drawer, Generic[_T]):
    """A search line, a note, a list, and a text on what is chosen in it."""

    SEARCHES: ClassVar[str]  # what the search line says while it is empty
    NOTE = ""

    _listed: Sequence[_T] = ()
    _looks = 0

    def contents(self) -> Iterable[Widget]:
        """The four of them."""
        yield LineInput(name="search", placeholder=self.SEARCHES)
        yield Static(self.NOTE, classes="note", markup=False)
        yield OptionList(id="list")
        yield VerticalScroll(Static(id="text", markup=False), id="reader")

    def line(self, one: _T) -> Text:
        """How a thing stands in the list."""
        raise NotImplementedError

    def read(self, one: _T) -> None:
        """Show the text of the marked thing."""
        raise NotImplementedError

    def take(self, one: _T) -> None:
        """Do what Enter does with an entry of the list."""
        raise NotImplementedError

    def fill(self, found: Sequence[_T], note: str, at: int | None = None) -> None:
        """List `found` below a note, and mark line `at` or the place marked before."""
        self._listed = found
        lines = [Option(self.line(one)) for one in found]
        fill(self.query_one(OptionList), lines, at)
        self.say(note, ".note")
        if not lines:
            self.say("", "#text")

    def look(
        self, find: Callable[[], _Found], show: Callable[[_Found], object]
    ) -> None:
        """Call `find` in a thread, and `show` with its result unless another search
        has begun since; a failure is shown in the note."""
        self._looks += 1
        number = self._looks

        def last(then: Callable[[Any], object]) -> Callable[[Any], None]:
            def show_if_last(found: object) -> None:
                # One that is closing is attached still, and loses its parts.
                if number == self._looks and self in self.app.screen_stack:
                    then(found)

            return show_if_last

        failed = last(lambda problem: self.fill([], f"cannot search: {problem}"))
        self.writing.background.run(find, last(show), failed)

    def show_text(self, text: Text) -> None:
        """Show a text from its beginning."""
        self.say(text, "#text")
        self.query_one("#reader").scroll_home(animate=False)

    @property
    def marked(self) -> _T | None:
        """The thing that is marked in the list."""
        at = self.query_one(OptionList).highlighted
        return None if at is None else self._listed[at]

    @on(OptionList.OptionHighlighted)
    def _mark(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._listed):  # else the list has changed since
            self.read(self._listed[event.option_index])

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.take(self._listed[event.option_index])

    def action_list(self) -> None:
        """From the search line to the list."""
        self.query_one(OptionList).focus()

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        self.submitted(event.value.strip())

    def submitted(self, query: str) -> None:
        """Take the line that is marked, on Enter in the search line."""
        del query
        self.query_one(OptionList).action_select()


class SourcesDrawer(ListDrawer[Source]):
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

    _query = ""

    def on_mount(self) -> None:
        """Show what the draft was written from."""
        self._list(self._of_draft())

    def _of_draft(self) -> list[Source]:
        variant = self.writing.variant
        found = list(variant.sources) if variant else []
        known = {source.record_id for source in found}
        left_out = self.writing.draft_state.excluded.values()
        return found + [source for source in left_out if source.record_id not in known]

    def line(self, one: Source) -> Text:
        """Date and subject, and why it was read."""
        variant = self.writing.variant
        request = self.writing.request if variant is None else variant.request.brief
        out = one.record_id in self.writing.draft_state.excluded
        line = Text(f"{'- ' if out else ''}{date(one):<9} {subject(one)}")
        line.stylize("strike" if out else "")
        if not self._query:
            line.append(f"\n{'':<10}{reason(one, request)}", "dim")
        return line

    def _list(self, sources: Sequence[Source]) -> None:
        note = f"From {whose(self.writing)}: read for this draft, on this device only."
        if self._query and not (sources or self.writing.counts.get("own", 1)):
            imports = f"{key_of('import')} imports some."
            note = f"There is no letter of yours yet. {imports}"
        elif self._query:
            note = f"{len(sources)} found for “{self._query}”"
        elif not sources:
            note = "No letter was read yet. Draft something, or search with /."
        self.fill(sources, note)

    def read(self, one: Source) -> None:
        """Show the letter."""
        # Of a draft that was taken up again the texts are in the store alone.
        body = one.excerpt or "(its text is in the store; / finds it)"
        title = (one_line(one.title), "bold")
        self.show_text(Text.assemble(title, "\n\n", legible(body)))

    def take(self, one: Source) -> None:
        """Go from the list into the letter."""
        del one
        self.query_one("#reader").focus()

    def action_exclude(self) -> None:
        """Leave the chosen source out, or take it in again."""
        if self.marked is not None:
            left_out = self.writing.exclude(self.marked)
            said = "left out of the next draft" if left_out else "taken in again"
            self.notify(said, timeout=2)
            self._list(self._listed)

    def action_search(self) -> None:
        """Focus the search field."""
        # At once: `focus` waits its turn, and the next key would go to the list.
        self.set_focus(self.query_one("#search"))

    def submitted(self, query: str) -> None:
        """Search for what was typed; for nothing, show what the draft was read for."""
        self._query, service, own = query, self.writing.service, self._of_draft()
        self.look(lambda: service.search(query) if query else own, self._list)
        self.query_one(OptionList).focus()


class ReplyDrawer(ListDrawer[Source]):
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

    def on_mount(self) -> None:
        """Show the newest letters."""
        self._look_for("")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self._look_for(event.value.strip())

    def _look_for(self, query: str) -> None:
        service = self.writing.service
        self.look(lambda: service.search_received(query), partial(self._list, query))

    def action_none(self) -> None:
        """Answer no letter any more."""
        self._answer(None)
        self.dismiss()

    def _list(self, query: str, letters: Sequence[Source]) -> None:
        chosen, found = self.writing.reply_to, list(letters)
        if chosen is not None and not query:
            others = [one for one in found if one.record_id != chosen.record_id]
            found = [chosen, *others]
        order = "the best" if query else "those that wait for an answer"
        note = f"{len(found)} letters, {order} first."
        if not found:
            imports = f"{key_of('import')} imports your mail"
            note = f"No letter by others is here that fits; {imports}."
        elif chosen is not None:
            note = f"You answer {sender(chosen)}: {subject(chosen)}."
        self.fill(found, note, at=0)

    def line(self, one: Source) -> Text:
        """Date, sender and subject."""
        return Text.assemble(
            (f"{date(one):<9}", "dim"), f"{sender(one)}  {subject(one)}"
        )

    def read(self, one: Source) -> None:
        """Show the thread, if the letter is still marked when it has been read."""

        def show(letters: list[Letter]) -> None:
            if not self.is_attached or self.marked is not one:
                return
            text = Text()
            for letter in letters:
                here = letter.record_id == one.record_id
                look = "bold underline" if here else "bold"
                text.append(one_line(letter.title) + "\n", look)
                text.append(legible(letter.excerpt).strip() + "\n\n")
            self.show_text(text)

        self.writing.read_thread(one.record_id, show)

    def take(self, one: Source) -> None:
        """Answer the letter."""
        self._answer(one)
        self.dismiss()


class DraftsDrawer(ListDrawer[Kept]):
    """Lists the drafts that are kept: finds one by its words, goes on with it, or
    throws it away."""

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
        self._doomed: Path | None = None
        """What a second Del throws away."""

    def on_mount(self) -> None:
        """Read the folder, in a thread: each sealed draft takes its time."""
        self.look(self._read_all, self._show)

    def _read_all(self) -> tuple[list[tuple[Kept, str]], list[str]]:
        folder = self.writing.journals
        kept, problems = ([], []) if folder is None else folder.kept()
        return [(one, _words_of(one.draft)) for one in kept], problems

    def _show(self, read: tuple[list[tuple[Kept, str]], list[str]]) -> None:
        self._kept, self._problems = read
        self._list()

    @on(Input.Changed)
    def _list(self) -> None:
        wanted = self.query_one(Input).value.casefold().split()
        found = [
            one for one, words in self._kept if all(word in words for word in wanted)
        ]
        note = _KEPT
        if wanted:
            note = f"{len(found)} of {len(self._kept)} drafts have these words."
        elif not self._kept:
            note = "There is no draft yet."
        self.fill(found, "\n".join([note, *self._problems]))

    def line(self, one: Kept) -> Text:
        """When it was changed, and what it is."""
        when = (f"{one.changed:%Y-%m-%d %H:%M}  ", "dim")
        return Text.assemble(when, _title_of(one.draft))

    def on_key(self, event: events.Key) -> None:
        """Whatever is typed over the list goes into the search line."""
        field = self.query_one(Input)
        if event.is_printable and event.character and not field.has_focus:
            event.stop()
            self.set_focus(field)
            field.insert_text_at_cursor(event.character)

    def read(self, one: Kept) -> None:
        """Show the text, from the first word that was searched for."""
        if one.path != self._doomed:  # a key may have come before this message
            self._doomed = None
        variant = one.draft.variant
        text = one.draft.request.text if variant is None else variant.text
        shown = Text(legible(text))
        wanted = self.query_one(Input).value.split()
        shown.highlight_words(wanted, "reverse", case_sensitive=False)
        self.say(shown, "#text")
        reader, first = self.query_one("#reader"), min(shown.spans, default=None)
        row = 0
        if first is not None:
            before = shown[: first.start].wrap(self.app.console, reader.size.width or 1)
            row = max(0, len(before) - 2)
        reader.scroll_to(y=row, animate=False)

    def take(self, one: Kept) -> None:
        """Go on with the draft."""
        self.dismiss()
        if one.path != self.writing.kept_in:
            self._go_on_with(one.path)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Del is the search line's while a letter stands behind its cursor."""
        del parameters
        fields = self.query(Input)  # none before the drawer is mounted
        within = any(f.has_focus and f.cursor_position < len(f.value) for f in fields)
        return not (action == "discard" and within)

    def action_discard(self) -> None:
        """Throw the chosen draft away, when asked for twice."""
        one, folder = self.marked, self.writing.journals
        if one is None or folder is None:
            return
        if one.path == self.writing.kept_in:
            new = key_of("new")
            self.notify(f"this one is on the page; {new} begins another first")
        elif self._doomed != one.path:
            self._doomed = one.path
            self.notify("del once more throws it away for good", timeout=3)
        else:
            try:
                folder.discard(one.path)
            except JournalError as error:
                self.notify(str(error), severity="warning")
            self._doomed = None
            self._kept = [known for known in self._kept if known[0].path.exists()]
            self._list()


def _words_of(draft: Draft) -> str:
    """All in which a search looks: the brief, every version, and what is answered."""
    parts = [draft.request.task, draft.request.recipient, draft.request.text]
    parts += [variant.text for variant in draft.variants]
    if draft.reply_to is not None:
        parts.append(draft.reply_to.title)
    return "\n".join(parts).casefold()


def _title_of(draft: Draft) -> str:
    """The kind, for whom, and the first words of what was asked for."""
    request, count = draft.request, len(draft.variants)
    versions = f" ({count} versions)" if count > 1 else ""
    if draft.variant is not None and draft.variant.unfinished:
        versions += " (not finished)"
    whom = f" · {request.recipient}" if request.recipient else ""
    words = one_line(f"{request.task}{whom}: {' '.join(request.text.split())}")
    return shorten(words, _TITLE, placeholder="…") + versions
