"""A choice among a few things in an order, moved by the arrows: a slider with words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from edge_app.tui.widgets.saying import Saying


class Steps(Saying, can_focus=True):
    """One of several steps; ← and → move, a digit goes to the step of that number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "move(-1)", "Less", show=False),
        Binding("right,plus", "move(1)", "More", show=False),
    ]

    class Moved(Message):
        """The person moved it to the step `at`. Until this is heard it may be put back
        to where it was: who draws it anew does not know of the move yet."""

        def __init__(self, steps: Steps, at: int) -> None:
            super().__init__()
            self.steps = steps
            self.at = at

    def __init__(
        self,
        name: str,
        title: str,
        words: Sequence[str],
        at: int,
        ends: tuple[str, str] | None = None,
    ) -> None:
        """`words` say what each step means; `ends` what lies to the left and right, for
        one that is drawn as a slider."""
        super().__init__(id=name, markup=False)
        self.title = title
        self.at = at
        self._words = words
        self._ends = ends

    def on_mount(self) -> None:
        """Draw it."""
        self._draw()

    def move_to(self, at: int) -> None:
        """Stand at another step, without a message."""
        self.at = max(0, min(len(self._words) - 1, at))
        self._draw()

    def choose_among(self, words: Sequence[str]) -> None:
        """Have other steps than before, and stand at the first."""
        self._words = words
        self.move_to(0)

    def action_move(self, step: int) -> None:
        """Move, and tell of it."""
        before = self.at
        self.move_to(before + step)
        if self.at != before:
            self.post_message(self.Moved(self, self.at))

    def on_key(self, event: events.Key) -> None:
        """A digit goes to its step."""
        if event.character and event.character in "0123456789":
            at = int(event.character)
            if at < len(self._words):
                event.stop()
                self.action_move(at - self.at)

    def on_click(self) -> None:
        """The next step; behind the last comes the first."""
        last = self.at == len(self._words) - 1
        self.action_move(-self.at if last else 1)

    def on_focus(self) -> None:
        """Say what has the keys."""
        self._draw()

    def on_blur(self) -> None:
        """Say that it has them no more."""
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
