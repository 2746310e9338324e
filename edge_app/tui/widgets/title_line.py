"""The first line: what is being written, which version, and who checks."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from decoding_core.foreign_text import one_line
from edge_app.tui.drafts import RECORDED, Writing
from edge_app.tui.keys import key_of
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
        """Post `Switched` if the click hit the key."""
        if _SWITCH in event.style.meta:
            event.stop()
            self.post_message(self.Switched())


def title(writing: Writing, request: Request) -> Text:
    """Left part of the line: what is written, and which version of it."""
    recipient = one_line(request.recipient)
    if len(recipient) > _LONGEST_NAME:  # leaves room for the version
        recipient = recipient[: _LONGEST_NAME - 1] + "…"
    recipient = request.recipient and f" · {recipient}"
    text = Text.assemble((f"{request.task}{recipient}", "bold"))
    if len(writing.variants) > 1:
        text.append(f"   version {writing.current + 1} of {len(writing.variants)}")
    if writing.variant is not None and writing.variant.unfinished:
        text.append("   not finished")
    return text


def server(writing: Writing) -> Text:
    """Right part: the state of the checker and the key that changes it."""
    if writing.problem:
        return Text("✗ no models")
    if not writing.ready:
        return Text("… loading the models")
    offline = key_of("offline")
    if writing.offline:
        return Text.assemble(
            "○ offline: this device alone   ", _key(f"{offline} online")
        )
    if (writing.server or "").startswith(RECORDED):
        return Text.assemble(("○", "yellow"), f" {one_line(writing.server or '')}")
    if writing.checker_ended:
        again = f"{key_of('draft')} starts it again   "
        said = ("✗", "red"), f" the checker has ended; {again}"
        return Text.assemble(*said, _key(f"{offline} offline"))
    if writing.checker_silent:
        said = ("✗", "red"), " no answer from the checker: this device alone   "
        return Text.assemble(*said, _key(f"{offline} offline"))
    variant, name = writing.variant, writing.server or ""
    if variant is not None and variant.opened is not None:
        trip = numbers(variant, writing.clock()).round_trip_ms
        if variant.opened.local:
            name += ", not used here"
        elif trip is not None:
            name += f", {trip:.0f} ms"
    return Text.assemble(
        ("●", "green"), f" {one_line(name)}   ", _key(f"{offline} offline")
    )


def _key(label: str) -> tuple[str, Style]:
    return label, Style(meta={_SWITCH: True})
