"""Read your own letters into the store, while writing goes on."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Input, Label, ProgressBar, Select, Static

from decoding_core.foreign_text import legible
from edge_app.tui.drafts import Writing
from edge_app.tui.saving import PathError, typed_path, why_not
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.widgets.line_input import LineInput
from edge_app.tui.widgets.path_input import PathInput
from personal_store.importers import available


class ImportDrawer(Drawer):
    """Asks for a file, its kind and the person's addresses, and shows the progress."""

    NAME = "import"
    TITLE = "Your letters"
    FOOT = "enter reads them · esc closes, reading goes on"

    def __init__(self, writing: Writing) -> None:
        super().__init__()
        self.add_class("-small")
        self.writing = writing

    def contents(self) -> Iterable[Widget]:
        """Three fields, a button, a bar and a sentence."""
        yield Static(
            "A mailbox or another export of what you wrote. It is read on this device "
            "and stays here. → completes a path.",
            classes="note",
            markup=False,
        )
        yield _field("file or folder", PathInput())
        kinds = [(kind, kind) for kind in available()]
        kind = Select(kinds, value="mbox", allow_blank=False, id="kind", compact=True)
        yield _field("kind", kind)
        me = LineInput(name="me", placeholder="you@example.org, me@work.example")
        yield _field("your addresses", me)
        yield Button("Read them", id="read", compact=True)
        yield ProgressBar(id="bar", show_eta=False)
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """Show the progress, also of an import that began before."""
        self.query_one("#path").focus()
        self._advance()
        self.set_interval(0.1, self._advance)

    @on(Input.Changed, "#path")
    def _guess(self, event: Input.Changed) -> None:
        kind = guess_kind(event.value)
        if kind is not None:
            self.query_one("#kind", Select).value = kind

    @on(Input.Submitted)
    @on(Button.Pressed)
    def _read(self) -> None:
        if self.writing.importing is not None:
            self._say("one reading at a time: this one is not finished")
            return
        try:
            path = typed_path(self.query_one("#path", Input).value)
            path.stat()
        except PathError as error:
            self._say(str(error))
        except FileNotFoundError:
            self._say(f"there is no {path}")
        except OSError as error:
            self._say(f"{path} cannot be read: {why_not(error)}")
        else:
            me = self.query_one("#me", Input).value.replace(",", " ").split()
            kind = str(self.query_one("#kind", Select).value)
            self.writing.import_letters(kind, path, me)

    def _advance(self) -> None:
        going, ended = self.writing.importing, self.writing.imported
        self.query_one("#bar").display = going is not None
        if going is not None:
            bar = self.query_one(ProgressBar)
            bar.update(total=going.total or None, progress=going.done)
            self._say("reading…")
        elif ended is not None:
            self._say(ended.sentence)

    def _say(self, sentence: str) -> None:
        self.query_one("#result", Static).update(legible(sentence))


def guess_kind(path: str) -> str | None:
    """The importer that a path looks like; None when it could be any."""
    name = path.rstrip("/").casefold()
    suffix = name.rpartition(".")[2]
    if suffix in available():
        return suffix
    if "review" in name or name.endswith(".json"):
        return "google_reviews"
    return None


def _field(label: str, widget: Widget) -> Horizontal:
    return Horizontal(Label(label, markup=False), widget, classes="field")
