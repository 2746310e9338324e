"""Read your own letters into the store, while writing goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Input, Label, ProgressBar, Select, Static

from decoding_core.foreign_text import one_line
from edge_app.tui.saving import PathError, typed_path, why_not
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.widgets import LineInput, PathInput, dropped, kinds
from edge_app.tui.writing import Import
from personal_store.importers import available

_AUTO = "auto"  # the kind that stands for whatever is found
_LINES = 8  # lines of a plan that are shown at most


class ImportDrawer(Drawer):
    """Asks for a file and the person's addresses, says what it found, shows
    progress."""

    NAME = "import"
    TITLE = "Your letters"
    FOOT = "enter looks, then reads · esc closes, reading goes on"

    _looked: tuple[Import, str] | None = None
    """What was asked for last, and why it cannot be read; empty: it can."""

    def contents(self) -> Iterable[Widget]:
        """Three fields, what was found, a button, a bar and a sentence."""
        yield Static(
            "A mailbox or another export of what you wrote: type its path, or drop it "
            "here. It is read on this device and stays here. → completes a path.",
            classes="note",
            markup=False,
        )
        yield _field("file or folder", PathInput())
        yield _field("kind", kinds((_AUTO, *available()), _AUTO, "kind"))
        me = LineInput(name="me", placeholder="you@example.org, me@work.example")
        yield _field("your addresses", me)
        yield Static(id="plan", markup=False)
        yield Button("Read them", id="read", compact=True)
        leave = Button("Do not go on", id="leave", compact=True)
        leave.display = False
        yield leave
        yield ProgressBar(id="bar", show_eta=False)
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """Show the progress, also of an import that began before."""
        self.add_class("-small")
        self.query_one("#path").focus()
        self.advance()

    @on(Input.Changed)
    @on(Select.Changed)
    def _forget(self) -> None:
        """What was found is not what is asked for any more."""
        self._looked = None
        self.say("", "#plan")

    @on(Button.Pressed, "#leave")
    def _leave(self) -> None:
        self.writing.leave_import()
        self.advance()
        self.say("what was read of it stays")

    @on(Button.Pressed, "#read")
    def _pressed(self) -> None:
        if self.writing.importing is not None:
            self.writing.pausing.set()
            self.say("pausing…")
        elif self.writing.paused is not None:
            self.writing.resume_import()
        else:
            self._read()
        self.advance()

    @on(Input.Submitted)
    def _read(self) -> None:
        """Say what would be read of whom, and read it when it is asked for again."""
        if self.writing.importing is not None:
            self.say("one reading at a time: this one is not finished")
            return
        path = self._path()
        if path is None:
            return
        kind = str(self.query_one("#kind", Select).value)
        me = self.query_one("#me", Input).value.replace(",", " ").split()
        asked = (kind, path, me)
        if self._looked is None or self._looked[0] != asked:
            self.say("looking what is there…")
            self._look(asked)
        elif self._looked[1]:
            self.say(self._looked[1])
        else:
            self._looked = None  # what is said now is what came of it
            self.writing.import_letters(*asked)
            self.advance()

    def _path(self) -> Path | None:
        """The path in the field; None, and a sentence says why, if there is none."""
        typed = self.query_one("#path", Input).value
        try:
            path = typed_path(typed)
            if not path.exists():  # typed or pasted as a shell would have it
                path = typed_path(dropped(typed) or typed)
            path.stat()
        except PathError as error:
            self.say(str(error))
        except FileNotFoundError:
            self.say(f"there is no {path}")
        except OSError as error:
            self.say(f"{path} cannot be read: {why_not(error)}")
        else:
            return path
        return None

    def _look(self, asked: Import) -> None:
        """Find out what is there, in a thread: it may be a whole disk."""
        from edge_app.service.import_plan import look

        identities = self.writing.identities
        self.writing.background.run(
            lambda: look(*asked, identities),
            lambda found: self._found(asked, *found),
            lambda problem: self._found(asked, (), problem),
            waits=False,
        )

    def _found(self, asked: Import, found: Sequence[str], problem: str) -> None:
        if not self.is_attached:
            return
        self._looked = asked, problem
        lines = [one_line(line) for line in found]
        if len(lines) > _LINES:
            more = f"and {len(lines) - _LINES + 1} lines more"
            lines = [*lines[: _LINES - 1], more]
        self.say("\n".join(lines), "#plan")
        said = "enter reads this; the store takes nothing twice"
        self.say(problem.replace("with --me ADDRESS", "above") or said)

    def advance(self) -> None:
        """Show how far the import is, and how it ended."""
        going, ended = self.writing.importing, self.writing.imported
        paused = self.writing.paused is not None
        self.query_one("#bar").display = going is not None
        label = "Pause" if going is not None else "Go on" if paused else "Read them"
        self.query_one("#leave").display = paused and going is None
        button = self.query_one("#read", Button)
        if str(button.label) != label:
            button.label = label
        if going is not None:
            bar = self.query_one(ProgressBar)
            bar.update(total=going[1] or None, progress=going[0])
            if not self.writing.pausing.is_set():
                self.say("reading…")
        elif ended and self._looked is None:
            self.say(ended)


def _field(label: str, widget: Widget) -> Horizontal:
    return Horizontal(Label(label, markup=False), widget, classes="field")
