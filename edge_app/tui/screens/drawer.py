"""What all drawers share: a box over the page that Esc closes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.foreign_text import legible
from edge_app.service.requests import MayLeave
from edge_app.tui.background import MayItLeave
from edge_app.tui.keys import DRAWER_BINDINGS, show_key
from edge_app.tui.screens.widgets import LineInput
from edge_app.tui.writing import Writing


class Box(Vertical):
    """The frame of a dialog."""

    def __init__(self, *children: Widget, title: str, foot: str) -> None:
        self._foot = Static(foot, id="foot", markup=False)
        super().__init__(*children, self._foot, id="box")
        self.border_title = title
        self._keys = foot

    def on_resize(self) -> None:
        """Put the keys where they have room."""
        framed = self.styles.border_bottom[0] not in ("", "none", "hidden")
        fits = framed and cell_len(self._keys) <= self.outer_size.width - 6
        self.border_subtitle = self._keys if fits else ""
        self._foot.display = not fits and bool(self._keys)


class Drawer(ModalScreen[None]):
    """A box over the page; the keys of the other drawers lead to them."""

    NAME: ClassVar[str]
    TITLE = ""
    BESIDE: ClassVar[bool] = False
    """Whether it is about the letter, which stays visible if there is room."""
    FOOT = "esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", show=False),
        *DRAWER_BINDINGS,
    ]

    def __init__(self, writing: Writing) -> None:
        super().__init__()
        self.writing = writing

    def compose(self) -> ComposeResult:
        """The box around `contents`."""
        self.set_class(self.BESIDE, "-beside")
        yield Box(*self.contents(), title=self.TITLE, foot=self.FOOT)

    def contents(self) -> Iterable[Widget]:
        """The widgets inside."""
        return ()

    def advance(self) -> None:
        """Show what has come from the service's threads."""

    def say(self, said: str | RenderableType, selector: str = "#result") -> None:
        """Show a text of ours or of others in one of the widgets."""
        shown = legible(said) if isinstance(said, str) else said
        self.query_one(selector, Static).update(shown)

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, unless another screen is on top by now."""
        if not self.is_current:
            nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]
            return nothing
        return super().dismiss(result)


class TextDrawer(Drawer):
    """A text that arrows scroll."""

    def contents(self) -> Iterable[Widget]:
        """The text in a scrolling box."""
        yield VerticalScroll(Static(id="text", markup=False))

    def on_mount(self) -> None:
        """Show the text."""
        self.query_one(VerticalScroll).focus()
        self.advance()


def fill(options: OptionList, lines: Iterable[Option], at: int | None = None) -> None:
    """Put other lines into a list, and mark line `at` or the place marked before."""
    at = (options.highlighted or 0) if at is None else at
    options.set_options(lines)
    at = min(at, options.option_count - 1)
    if at >= 0 and options.get_option_at_index(at).disabled:
        at += 1  # a line follows each heading
    options.highlighted = at if at >= 0 else None


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


class Turn(ModalScreen[str]):
    """Gives the line that says what to change; None when Esc puts it off."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        """A single line."""
        with Box(title="What should change?", foot="enter changes it · esc"):
            yield LineInput(
                name="turn", placeholder="shorter · drop the ferret · mention the tape"
            )

    @on(Input.Submitted)
    def _said(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


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


class HeldBackQuestion(Question):
    """Says what was found, why, and what the server would read in its place."""

    def __init__(self, asked: MayItLeave) -> None:
        held = asked.held
        super().__init__(
            "May it leave?",
            f"{held.kind}: {held.text.strip()}\n\n{held.reason}; else the server reads "
            f"{held.stand_in.strip()}",
            (
                ("", "no", "hold it back"),
                ("f7", "once", "let it leave in this text"),
                ("f8", "always", "it is no secret: let it leave in every text"),
            ),
        )
        self.asked = asked

    def advance(self) -> None:
        """Close if the text is not wanted any more."""
        if self.asked.stop.is_set() and self.is_current:
            self.dismiss("no")


def ask_held_back(app: App[None], asked: MayItLeave) -> None:
    """Show the question; Esc holds back, too."""
    app.push_screen(
        HeldBackQuestion(asked),
        lambda answer: asked.answers.put(cast("MayLeave", answer or "no")),
    )
