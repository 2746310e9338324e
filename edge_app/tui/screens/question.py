"""A question with a few answers, each by key, by arrows and enter, or by a click.

No answer has a letter as its key: who goes on typing answers nothing by accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from edge_app.tui.keys import show_key
from edge_app.tui.screens.drawer import Box

Answer = tuple[str, str, str]
"""Key, name, and what it does; the first answer may do with enter."""


class Question(ModalScreen[str]):
    """Gives the name of the chosen answer; None when Esc puts the question off."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, title: str, sentence: str, answers: Sequence[Answer]) -> None:
        super().__init__()
        self._title = title
        self._sentence = sentence
        self._answers = answers

    def compose(self) -> ComposeResult:
        """The sentence, then one line for each answer."""
        with Box(title=self._title, foot=""):
            yield Static(self._sentence, id="sentence", markup=False)
            yield OptionList(
                *(
                    Option(
                        Text.assemble((f"{show_key(key or 'enter'):<8}", "bold"), does),
                        id=name,
                    )
                    for key, name, does in self._answers
                )
            )

    def on_mount(self) -> None:
        """Enter takes the first answer, which loses nothing."""
        self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        """Take an answer by its key."""
        for key, name, _ in self._answers:
            if event.key == key:
                event.stop()
                self.dismiss(name)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


class LeaveQuestion(Question):
    """Asks what to do with words that the disk refuses to keep."""

    def __init__(self, why: str) -> None:
        cannot = f"cannot be kept: {why}" if why else "would be lost"
        super().__init__(
            "Leave?",
            f"What you wrote {cannot}. Esc stays.",
            (
                ("ctrl+s", "save", "save it to a file"),
                ("delete", "discard", "leave, and throw it away"),
            ),
        )
