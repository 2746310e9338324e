"""The first line: what is being written, which version, and who checks."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from decoding_core.foreign_text import one_line
from edge_app.tui.drafts import Writing
from edge_app.tui.widgets.saying import Saying
from edge_app.tui.words.meters import numbers
from models.prompts import Request

_SWITCH = "switches the checker"
_LONGEST_NAME = 20


class TitleLine(Saying):
    """A click on the key in it switches the checker off and on."""

    class Switched(Message):
        """The person clicked the key that the title names."""

    def on_click(self, event: events.Click) -> None:
        """Tell the app of a click on the key; the rest of the title is no button."""
        if _SWITCH in event.style.meta:
            event.stop()
            self.post_message(self.Switched())


def title(writing: Writing, request: Request) -> Text:
    """Left part of the line: what is written, and which version of it."""
    recipient = request.recipient and f" · {_short(request.recipient)}"
    text = Text.assemble((f"{request.task}{recipient}", "bold"))
    if len(writing.variants) > 1:
        text.append(f"   version {writing.current + 1} of {len(writing.variants)}")
    return text


def _short(recipient: str) -> str:
    """A name that leaves room for the version."""
    recipient = one_line(recipient)
    if len(recipient) <= _LONGEST_NAME:
        return recipient
    return recipient[: _LONGEST_NAME - 1] + "…"


def server(writing: Writing) -> Text:
    """Right part: the state of the checker and the key that changes it."""
    if writing.problem:
        return Text("✗ no models")
    if not writing.ready:
        return Text("… loading the models")
    if writing.offline:
        return Text.assemble("○ offline: this device alone   ", _key("^T online"))
    return Text.assemble(
        ("●", "green"), f" {one_line(_who(writing))}   ", _key("^T offline")
    )


def _key(label: str) -> tuple[str, Style]:
    return label, Style(meta={_SWITCH: True})


def _who(writing: Writing) -> str:
    variant, name = writing.variant, writing.server or ""
    if variant is None or variant.opened is None:
        return name
    if variant.opened.local:
        return f"{name}, not used here"
    found = numbers(variant, writing.clock()).round_trip_ms
    return name if found is None else f"{name}, {found:.0f} ms"
