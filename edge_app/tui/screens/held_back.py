"""The guard asks whether what it found may leave."""

from __future__ import annotations

from typing import cast

from textual.app import App

from edge_app.service.requests import MayLeave
from edge_app.tui.outcomes import Asked
from edge_app.tui.screens.question import Question

_LOOKS = 0.2  # seconds between two looks whether anybody waits for the answer


class HeldBackQuestion(Question):
    """Says what was found, why, and what the server would read in its place. Closes
    by itself when the text is stopped."""

    def __init__(self, asked: Asked) -> None:
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

    def on_mount(self) -> None:
        """Enter holds it back."""
        super().on_mount()
        self.set_interval(_LOOKS, self._look)

    def _look(self) -> None:
        if self.asked.stop.is_set() and self.is_current:
            self.dismiss("no")


def ask(app: App[None], asked: Asked) -> None:
    """Show the question; Esc holds back, too."""
    app.push_screen(
        HeldBackQuestion(asked),
        lambda answer: asked.answers.put(cast(MayLeave, answer or "no")),
    )
