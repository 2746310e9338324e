"""What should be written: the kind, to whom, and what it should say."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Label, Select, TextArea

from edge_app.tui.widgets.line_input import LineInput
from edge_app.tui.widgets.page_text import PageText
from models.prompts import TASKS, Request

_BEFORE = {"email": "to", "review": "of"}
_ASKS = {"email": "whom?", "review": "what?"}


class Brief(Vertical):
    """The form for the kind, the recipient and the text of the request."""

    class Changed(Message):
        """The person changed the kind, the recipient or the text."""

    def __init__(self, first: Request | None) -> None:
        super().__init__(id="brief")
        self._first = first or Request("", TASKS[0])

    def compose(self) -> ComposeResult:
        """One line for the kind and the recipient, then the text."""
        with Horizontal(id="address"):
            kinds = [(task, task) for task in TASKS]
            yield Select(
                kinds,
                value=self._first.task,
                allow_blank=False,
                id="task",
                compact=True,
            )
            yield Label(id="before", markup=False)
            yield LineInput(self._first.recipient, name="recipient")
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

    @property
    def kind(self) -> str:
        """The kind of text."""
        return str(self.query_one("#task", Select).value)

    def focus_text(self) -> None:
        """Focus the request's text with the cursor at its end."""
        text = self.query_one("#request", PageText)
        text.move_cursor(text.document.end)
        text.focus()

    @on(Select.Changed)
    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        self.query_one("#before", Label).update(_BEFORE.get(self.kind, "for"))
        recipient = self.query_one("#recipient", Input)
        recipient.placeholder = _ASKS.get(self.kind, "whom or what?")
        self.post_message(self.Changed())

    def on_descendant_blur(self) -> None:
        """Show how the text begins where there is no room for all of it."""
        self.query_one("#request", PageText).scroll_home(animate=False)

    @on(Input.Submitted)
    def _next(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_text()
