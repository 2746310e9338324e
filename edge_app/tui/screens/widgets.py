"""Text that changes often and is painted only when it says something new."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from rich.cells import set_cell_size
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Select, Static, TextArea

from edge_app.tui.keys import key_of
from edge_app.tui.saving import PathError, typed_path

_LEAST = 20  # columns of a card that is not shown, or not yet laid out


class Saying(Static):
    """A Static that lays the screen out again only when its height may change."""

    _said: Text | None = None

    def say(self, text: Text) -> None:
        """Show `text`, if it is new."""
        if text == self._said:
            return
        lines = -1 if self._said is None else self._said.plain.count("\n")
        self._said = text
        self.update(text, layout=lines != text.plain.count("\n"))


class Card(Saying):
    """A card of the rail: its title and its key, then what it says."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__(id=name, classes="card", markup=False)
        self.title = title
        self._drawer = name

    async def on_click(self) -> None:
        """Open the drawer."""
        await self.run_action(f"app.drawer('{self._drawer}')")

    @property
    def width(self) -> int:
        """Columns of a line."""
        return max(_LEAST, self.content_size.width)

    def say(self, text: Text) -> None:
        """Show `text` below the title, if it is new."""
        key = key_of(self._drawer)
        title = set_cell_size(self.title, self.width - len(key) - 1)
        super().say(Text.assemble((title, "bold"), " ", (key, "dim"), "\n", text))


class LineInput(Input):
    """One line of text."""

    def __init__(self, value: str = "", *, name: str, **options: Any) -> None:
        options |= {"compact": True, "select_on_focus": False}
        super().__init__(value, id=name, **options)
        self.cursor_blink = False


def kinds(names: Iterable[str], chosen: str, name: str) -> Select[str]:
    """One of several kinds."""
    return Select(
        [(one, one) for one in names],
        value=chosen,
        allow_blank=False,
        id=name,
        compact=True,
    )


class PageText(TextArea):
    """Soft-wrapped, without border, without a bar on the cursor's line."""

    def __init__(self, text: str, name: str, placeholder: str = "") -> None:
        super().__init__(
            text, id=name, soft_wrap=True, compact=True, placeholder=placeholder
        )
        self.highlight_cursor_line = False
        self.cursor_blink = False
        self._undoing = False
        """Whether the last key was to undo."""

    def on_key(self, event: events.Key) -> None:
        """Note whether undoing goes on."""
        self._undoing = self._undoing and event.key == "ctrl+z"

    def on_resize(self) -> None:
        """Be laid out anew once more."""
        self.call_after_refresh(self.refresh, layout=True)

    def action_undo(self) -> None:
        """Undo; nothing else is done by the same key next."""
        self._undoing = True
        super().action_undo()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """F6 and F7 select a line or all in a TextArea; here they are the page's."""
        if action in ("select_line", "select_all"):
            return False
        if action == "undo" and not (self._undoing or self.history._undo_stack):
            return False
        return super().check_action(action, parameters)


class PathSuggester(Suggester):
    """Proposes the first file or folder that begins with what is typed."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """The rest of a name in the folder that is typed so far."""
        return complete(value)


class PathInput(LineInput):
    """A path of this machine."""

    def __init__(self, value: str = "") -> None:
        super().__init__(value, name="path", suggester=PathSuggester())

    def on_paste(self, event: events.Paste) -> None:
        """Take a path that was dropped as the path that it means."""
        found = dropped(event.text)
        if found is not None and (not self.value or found != event.text):
            event.stop()
            event.prevent_default()
            self.value = found
            self.cursor_position = len(found)


def dropped(text: str) -> str | None:
    """The first path of what a terminal pastes when files are dropped on it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    line = lines[0]
    if line.casefold().startswith("file:"):
        try:
            address = urlsplit(line.split()[0])
        except ValueError:
            return None
        if address.netloc not in ("", "localhost"):
            return None
        return unquote(address.path) or None
    if line[0] not in "'\"/~.":
        return None
    if _there(line) or sys.platform == "win32":
        return line
    try:
        first = shlex.split(line)[0]
    except ValueError:  # a quotation mark without its end
        return None if line[0] in "'\"" else line
    return first if set(line) & set("'\"\\") or _there(first) else line


def _there(path: str) -> bool:
    try:
        return typed_path(path).exists()
    except (PathError, OSError):
        return False


def complete(value: str) -> str | None:
    """`value` with the first name that it begins; folders end in a slash."""
    head, slash, start = value.rpartition("/")
    try:
        folder = typed_path(head + slash) if slash else Path()
        names = sorted(path for path in folder.iterdir() if start)
    except (PathError, OSError):
        return None
    for path in names:
        # A name that no terminal can show would not be the one that is typed.
        if not path.name.isprintable():
            continue
        if path.name.startswith(start) and path.name != start:
            return f"{head}{slash}{path.name}{'/' if path.is_dir() else ''}"
    return None


class Steps(Saying, can_focus=True):
    """One of several steps; ← and → move, a digit goes to the step of that number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "move(-1)", "Less", show=False),
        Binding("right,plus", "move(1)", "More", show=False),
    ]

    class Moved(Message):
        """The person moved it."""

        def __init__(self, steps: Steps) -> None:
            super().__init__()
            self.steps = steps

    def __init__(
        self,
        name: str,
        title: str,
        words: Sequence[str],
        at: int,
        ends: tuple[str, str] | None = None,
    ) -> None:
        """`words` say what each step means."""
        super().__init__(id=name, markup=False)
        self.title = title
        self.at = at
        self._words = words
        self._ends = ends

    def move_to(self, at: int) -> None:
        """Stand at another step, without a message."""
        self.at = max(0, min(len(self._words) - 1, at))
        self._draw()

    def choose_among(self, words: Sequence[str]) -> None:
        """Have other steps than before, and stand at the first."""
        self._words = words
        self.move_to(0)

    def action_move(self, step: int) -> None:
        """Move, and post a message."""
        before = self.at
        self.move_to(before + step)
        if self.at != before:
            self.post_message(self.Moved(self))

    def on_key(self, event: events.Key) -> None:
        """A digit goes to its step."""
        digit = event.character or ""
        if digit.isdecimal() and int(digit) < len(self._words):
            event.stop()
            self.action_move(int(digit) - self.at)

    def on_click(self) -> None:
        """The next step; behind the last comes the first."""
        last = self.at == len(self._words) - 1
        self.action_move(-self.at if last else 1)

    def watch_has_focus(self, focus: bool) -> None:
        """Say whether it has the keys."""
        super().watch_has_focus(focus)
        self._draw()

    def _draw(self) -> None:
        mark = "> " if self.has_focus and self.title else "  "
        text = Text.assemble(mark, (self.title, "bold"))
        if self._ends is not None:
            left, right = self._ends
            rail = "".join(
                "●" if at == self.at else "─" for at in range(len(self._words))
            )
            text.append(f"\n  {left} ├{rail}┤ {right}")
            text.append(f"\n  {self._words[self.at]}", "dim")
        else:
            # Without a title a mark would stand beside another field.
            look = "reverse" if self.has_focus and not self.title else ""
            text.append("  ")
            text.append(f"‹ {self._words[self.at]} ›", look)
        self.say(text)
