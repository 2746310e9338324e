"""What should be written: the kind, to whom, and what it should say."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester, SuggestFromList
from textual.widgets import Input, Label, Select, Static, TextArea

from edge_app.decoding.events import Source
from edge_app.retrieval.naming import parted
from edge_app.service.requests import Letter
from edge_app.tui.draft import MOST_STARS, Style
from edge_app.tui.letters import address, sender, subject
from edge_app.tui.screens.widgets import LineInput, PageText, Steps, kinds
from models.prompts import TASKS, Request
from personal_store.text.greetings import is_to

_BEFORE = {"email": "to", "review": "of"}
_ASKS = {"email": "whom?", "review": "what product or place?", "post": "which place?"}
_SAYS = {
    "review": "What was it like?",
    "post": "What do you want to tell everybody?",
    "note": "What is to be remembered?",
}


STARS = [
    "no stars",
    *("★" * count + "☆" * (MOST_STARS - count) for count in range(1, MOST_STARS + 1)),
]


class Brief(Vertical):
    """The form for the kind, the recipient and the text of the request."""

    class Changed(Message):
        """The person changed the kind, the recipient or the text."""

    def __init__(self, first: Request) -> None:
        super().__init__(id="brief")
        self._first = first
        self._forms: list[str] = []
        self._suggester: Suggester | None = None

    def compose(self) -> ComposeResult:
        """One line for the kind and the recipient, then the text."""
        yield Static(id="answers", markup=False)
        with Horizontal(id="address"):
            yield kinds(TASKS, self._first.task, "task")
            yield Label(id="before", markup=False)
            yield LineInput(self._first.recipient, name="recipient")
            yield Steps("stars", "", STARS, 0)
        yield PageText(self._first.text, "request", "What should it say?")

    @property
    def request(self) -> Request:
        """The request as the form now holds it."""
        return Request(
            text=self.query_one("#request", PageText).text,
            task=self.kind,
            recipient=self.query_one("#recipient", Input).value.strip(),
        )

    @request.setter
    def request(self, request: Request) -> None:
        self.query_one("#task", Select).value = request.task
        self.query_one("#recipient", Input).value = request.recipient
        self.query_one("#request", PageText).text = request.text
        self._to_the_end()

    @property
    def kind(self) -> str:
        """The kind of text."""
        return str(self.query_one("#task", Select).value)

    def propose(self, people: Sequence[str]) -> None:
        """Complete names and addresses of `people` in the recipient of a mail."""
        forms = [form for one in people for form in (one, parted(one)[1]) if form]
        if forms != self._forms:
            self._forms = forms
            suggester = SuggestFromList(forms, case_sensitive=False)
            self._suggester = suggester if forms else None
        mail = self.kind == "email"
        self.query_one("#recipient", Input).suggester = (
            self._suggester if mail else None
        )

    def take_task(self, task: str) -> None:
        """Ask for another kind of text."""
        self.query_one("#task", Select).value = task
        recipient = self.query_one("#recipient", Input)
        (recipient if not recipient.value else self.query_one("#request")).focus()

    def show_style(self, style: Style, letter: Source | None) -> None:
        """Show the stars of a review, and which letter is answered."""
        stars = self.query_one("#stars", Steps)
        if stars.at != style.stars:
            stars.move_to(style.stars)
        stars.display = self.kind == "review"
        said = []
        if letter is not None:
            said.append(f"answers {sender(letter)}: {subject(letter)}")
        if isinstance(letter, Letter) and letter.answer_to:
            said.append(f"goes to {address(letter)}, as the letter asks")
        said += [style.words()] if style.words() else []
        line = self.query_one("#answers", Static)
        text = " · ".join(said)
        if text != line.content:
            line.update(text)
            line.display = bool(text)

    def focus_text(self) -> None:
        """Focus the request's text with the cursor at its end."""
        self._to_the_end().focus()

    def _to_the_end(self) -> PageText:
        text = self.query_one("#request", PageText)
        text.move_cursor(text.document.end)
        return text

    def type(self, text: str) -> None:
        """Insert what was typed elsewhere at the end of the request's text."""
        self.focus_text()
        self.query_one("#request", PageText).insert(text)

    @on(Select.Changed)
    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        self.query_one("#before", Label).update(_BEFORE.get(self.kind, "for"))
        recipient = self.query_one("#recipient", Input)
        recipient.placeholder = _ASKS.get(self.kind, "whom or what?")
        self.query_one("#request", PageText).placeholder = _SAYS.get(
            self.kind, "What should it say?"
        )
        self.query_one("#stars").display = self.kind == "review"
        self.post_message(self.Changed())

    def on_descendant_blur(self) -> None:
        """Show how the text begins where there is no room for all of it."""
        self.query_one("#request", PageText).scroll_home(animate=False)

    @on(Input.Submitted)
    def _next(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip().casefold()
        begun = [one for one in self._forms if one.casefold().startswith(typed)]
        known = any(is_to(typed, *parted(one)) for one in self._forms)
        if typed and begun and not known and self.kind == "email":
            event.input.value = begun[0]  # nobody is called so, and this is proposed
        self.focus_text()
