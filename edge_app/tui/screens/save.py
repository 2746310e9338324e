"""Where to save the text."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from decoding_core.foreign_text import legible
from edge_app.tui.saving import FileState, PathError, TakenError, save, typed_path
from edge_app.tui.widgets.path_input import PathInput


class SaveDialog(ModalScreen[Path]):
    """Asks for a file name; a second enter overwrites the file that was asked about."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self._path = path
        self._text = text
        self._asked: FileState | None = None

    def compose(self) -> ComposeResult:
        """A field for the path, and a line for the problem with it."""
        with Vertical(id="box") as box:
            box.border_title = "Save the text"
            box.border_subtitle = "enter saves · esc does not"
            yield PathInput(str(self._path))
            yield Static(id="problem", markup=False)

    def on_mount(self) -> None:
        """The cursor waits behind the name."""
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _save(self, event: Input.Submitted) -> None:
        try:
            path = typed_path(event.value)
            if event.value.rstrip().endswith("/"):
                raise PathError("this is a folder; add the name of a file")
            saved = save(path, self._text, instead_of=self._asked)
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
