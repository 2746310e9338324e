"""The first line: what is being written, which version, and who checks."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.message import Message

from decoding_core.foreign_text import one_line
from edge_app.tui.meters import numbers
from edge_app.tui.widgets.saying import Saying
from edge_app.tui.writing import Writing
from models.prompts import Request


class TitleLine(Saying):
    """Click it to switch the checker off and on."""

    class Clicked(Message):
        """The person clicked the title."""

    def on_click(self, event: events.Click) -> None:
        """Tell the app."""
        event.stop()
        self.post_message(self.Clicked())


def title(writing: Writing, request: Request) -> Text:
    """Left part of the line: what is written, and which version of it."""
    recipient = request.recipient and f" · {one_line(request.recipient)}"
    text = Text.assemble((f"{request.task}{recipient}", "bold"))
    if len(writing.variants) > 1:
        text.append(f"   version {writing.current + 1} of {len(writing.variants)}")
    return text


def server(writing: Writing) -> Text:
    """Right part: the state of the checker and the key that changes it."""
    if writing.problem:
        return Text("✗ no models")
    if not writing.ready:
        return Text("… loading the models")
    if writing.offline:
        return Text("○ offline: this device alone   ^T online")
    return Text.assemble(("●", "green"), f" {one_line(_who(writing))}   ^T offline")


def _who(writing: Writing) -> str:
    variant, name = writing.variant, writing.server or ""
    if variant is None or variant.opened is None:
        return name
    if variant.opened.local:
        return f"{name}, not used here"
    found = numbers(variant, writing.clock()).round_trip_ms
    return name if found is None else f"{name}, {found:.0f} ms"
