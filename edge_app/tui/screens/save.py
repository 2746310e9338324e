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
from edge_app.tui.saving import save
from edge_app.tui.widgets.path_input import PathInput


class SaveDialog(ModalScreen[Path]):
    """Asks for a file name; a second enter overwrites what is there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self._path = path
        self._text = text
        self._overwrite: Path | None = None

    def compose(self) -> ComposeResult:
        """A path, and what is wrong with it."""
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
        path = Path(event.value).expanduser()
        try:
            saved = save(path, self._text, overwrite=path == self._overwrite)
        except FileExistsError:
            self._overwrite = path
            self._complain("this file exists; enter once more overwrites it")
        except OSError as error:
            self._complain(f"cannot write there: {error.strerror or error}")
        else:
            self.dismiss(saved)

    def _complain(self, problem: str) -> None:
        self.query_one("#problem", Static).update(legible(problem))
