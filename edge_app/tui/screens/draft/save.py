"""Where to save the text, in which form, and with a report on who wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from decoding_core.foreign_text import legible
from edge_app.tui.saving import (
    FileState,
    PathError,
    TakenError,
    free,
    save,
    typed_path,
)
from edge_app.tui.screens.drawer import Box
from edge_app.tui.widgets.path_input import PathInput
from edge_app.tui.words.exports import SUFFIXES

_REPORT = ".authorship.txt"


class SaveDialog(ModalScreen[Path]):
    """Asks for a file name; a second enter overwrites the file that was asked about."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("f3,alt+f", "form", show=False, priority=True),
        Binding("f4,alt+w", "report", show=False, priority=True),
    ]

    def __init__(
        self,
        path: Path,
        text_as: Callable[[str], str],
        who_wrote_it: str = "",
        report: Callable[[str], str] | None = None,
    ) -> None:
        """`text_as` gives the text as a file of a suffix holds it; `who_wrote_it` is
        shown, and `report` is written beside the file if the person wants it."""
        super().__init__()
        self._path = path
        self._text_as = text_as
        self._who = who_wrote_it
        self._report = report
        self._reports = False
        self._asked: FileState | None = None

    def compose(self) -> ComposeResult:
        """A field for the path, who wrote the text, and a line for the problem."""
        foot = "enter saves · F3 .txt .md .eml · esc closes"
        with Box(title="Save the text", foot=foot):
            yield PathInput(str(self._path))
            yield Static(self._who, id="who", markup=False)
            yield Static(id="beside", markup=False)
            yield Static(id="problem", markup=False)

    def on_mount(self) -> None:
        """The cursor waits behind the name."""
        self.query_one(Input).focus()
        self._say()

    def action_form(self) -> None:
        """Save it in the next form: the suffix says which."""
        field = self.query_one(Input)
        stem, dot, suffix = field.value.rpartition(".")
        known = f".{suffix}".casefold() if dot else ""
        if known not in SUFFIXES:
            stem, known = field.value, SUFFIXES[-1]
        field.value = stem + SUFFIXES[(SUFFIXES.index(known) + 1) % len(SUFFIXES)]
        field.cursor_position = len(field.value)

    def action_report(self) -> None:
        """Write the report beside the file, or not."""
        if self._report is not None:
            self._reports = not self._reports
            self._say()

    def _say(self) -> None:
        if self._report is not None:
            mark = "x" if self._reports else " "
            said = f"[{mark}] F4 writes this in a file beside it"
            self.query_one("#beside", Static).update(said)

    @on(Input.Submitted)
    def _save(self, event: Input.Submitted) -> None:
        try:
            path = typed_path(event.value)
            if event.value.rstrip().endswith("/"):
                raise PathError("this is a folder; add the name of a file")
            text = self._text_as(path.suffix)
            saved = save(path, text, instead_of=self._asked)
            if self._reports and self._report is not None:
                beside = free(saved.with_name(saved.name + _REPORT))
                save(beside, self._report(text))
        except TakenError as error:
            self._asked = error.found
            self._complain(str(error))
        except PathError as error:
            self._complain(str(error))
        else:
            self.dismiss(saved)

    @on(Input.Changed)
    def _think_again(self) -> None:
        """A changed path withdraws the permission to overwrite."""
        self._asked = None
        self._complain("")

    def _complain(self, problem: str) -> None:
        self.query_one("#problem", Static).update(legible(problem))
