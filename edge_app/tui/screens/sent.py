"""What left the device: every message, every byte."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import DataTable, Static

from decoding_core.foreign_text import legible, one_line
from decoding_core.messages import BYTES_VERSION, DraftBlock, OpenSession
from edge_app.decoding.events import Sent
from edge_app.privacy.ledger import Entry
from edge_app.privacy.reading import (
    BYTES,
    PHRASE_WORDS,
    Sending,
    decoded,
    of_bytes,
    request_of,
)
from edge_app.tui.saving import PathError, export_sent
from edge_app.tui.screens.cards import held_back, in_common, nothing_sent, what_went
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.text import counted, in_bytes
from edge_app.tui.variant import Traffic, Variant
from edge_app.tui.writing import Writing

_COLUMNS = ("time", "what")
_NAMED = 4  # how many phrases or facts are quoted
_IN_LEDGER = "This message is of an earlier sitting: `specsteer sent` shows its bytes."


class SentDrawer(Drawer):
    """Lists the sent messages, and shows the bytes of the chosen one."""

    NAME = "sent"
    BESIDE = True
    TITLE = "What left this device"
    FOOT = "enter bytes · e export · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "Export", show=False)
    ]

    def __init__(self, writing: Writing, folder: Path) -> None:
        super().__init__(writing)
        self._folder = folder
        self._shown = 0

    def contents(self) -> Iterable[Widget]:
        """A summary, the table, the bytes."""
        yield Static(classes="note", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield VerticalScroll(Static(id="text", markup=False), id="reader")

    def on_mount(self) -> None:
        """Fill the table, and go on filling it."""
        table = self.query_one(DataTable)
        table.add_columns(*_COLUMNS)
        table.focus()
        self.advance()

    def advance(self) -> None:
        """Show what has come since."""
        sent = self.writing.traffic.sent
        table = self.query_one(DataTable)
        for number, message in enumerate(sent[self._shown :], self._shown):
            clock = datetime.fromtimestamp(message.time).strftime("%H:%M:%S")
            cells = (clock, in_words(message))
            # Text, because a string would be markup.
            table.add_row(*(Text(one_line(cell)) for cell in cells), key=str(number))
        self._shown = len(sent)
        self.say(self._note(), ".note")

    def _note(self) -> str:
        writing, variant = self.writing, self.writing.variant
        traffic = writing.traffic
        parts = [nothing_sent(writing).capitalize() + "."]
        if variant is not None and variant.sent:
            size = in_bytes(sum(sent.size for sent in variant.sent))
            went = what_went(variant)
            messages = counted(len(variant.sent), "message")
            parts = [
                f"{in_common(writing, variant)}. {went[0].upper()}{went[1:]} went in "
                f"{messages} of {size}. The server can read all of it. A stock "
                f"phrase is {PHRASE_WORDS} words in a row or more that tell little."
                f"{quotes_of(variant)}{stand_ins_of(variant)}"
            ]
        others = len(traffic.sent) - len(variant.sent if variant is not None else ())
        if others:
            parts.append(
                f"Other versions and previews of it took {counted(others, 'message')}."
            )
        return "\n".join(parts)

    @on(DataTable.RowHighlighted)
    def _read(self, event: DataTable.RowHighlighted) -> None:
        if event.row_key.value is not None:
            self._show(int(event.row_key.value), with_bytes=False)

    @on(DataTable.RowSelected)
    def _into_bytes(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value is not None:
            self._show(int(event.row_key.value), with_bytes=True)
            self.query_one("#reader").focus()

    def _show(self, number: int, *, with_bytes: bool) -> None:
        """Show a message in words, and its bytes where they are wanted."""
        traffic = self.writing.traffic
        sent = traffic.sent[number]
        text = Text.assemble((f"{in_words(sent)}\n", "bold"))
        said = said_by(traffic, number)
        for name, words in said.items():
            if len(said) > 1:
                text.append(f"\n{name}:", "dim")
            text.append(f"\n{legible(words).strip()}\n")
        if not sent.payload:
            text.append(f"\n{_IN_LEDGER}\n")
        elif not said:
            text.append("\nNothing in it reads as words.\n")
        if with_bytes and sent.payload:
            text.append(f"\nto {one_line(sent.url)}\n")
            if sent.token_ids and message_of(traffic, number).vocabulary_id != BYTES:
                text.append(f"token ids {' '.join(map(str, sent.token_ids))}\n")
            text.append(f"{sent.size} bytes with headers; the message itself, ")
            text.append(f"{len(sent.payload)} bytes:\n\n{hex_dump(sent.payload)}")
        self.say(text, "#text")
        self.query_one("#reader").scroll_home(animate=False)

    def action_export(self) -> None:
        """Write all messages to a file."""
        try:
            path = export_sent(self._folder, self.writing.traffic.sent)
        except PathError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify(f"exported to {path}")


def quotes_of(variant: Variant) -> str:
    """The first facts and phrases that a version has in common with the letters."""
    quoted = variant.quoted
    if quoted is None:
        return ""
    found = [
        *(f"\n  fact “{fact}”" for fact in quoted.facts),
        *(f"\n  “{phrase}”" for phrase in quoted.stock),
    ]
    return "".join(found[:_NAMED])


def stand_ins_of(variant: Variant) -> str:
    """What was held back, and what was sent in its place; empty for nothing."""
    if not variant.held:
        return ""
    named = dict.fromkeys(
        f"\n  “{one.text.strip()}” stayed here, “{one.stand_in.strip()}” was sent"
        for one in reversed(variant.held)
    )
    return f"\n{held_back(variant)}:{''.join(list(named)[:_NAMED])}"


def in_words(sent: Sent) -> str:
    """What a message is."""
    match sent.what:
        case "open" if sent.token_ids:
            return "your request and text"
        case "open":
            return "your request"
        case "block" if not sent.token_ids:  # of an earlier sitting
            return "drafted words to check"
        case "block":
            version = sent.payload[:1]  # of the protocol
            kind = "byte" if version == bytes([BYTES_VERSION]) else "piece"
            return f"{counted(len(sent.token_ids), kind)} to check"
        case "close":
            return "the text is done"
        case _:
            return "asking the server"


def message_of(traffic: Traffic, number: int) -> Sending:
    """A sent message as the formats of the wire read it."""
    begun = max(
        (at for at in range(number + 1) if traffic.sent[at].what == "open"), default=0
    )
    messages = [  # what a block says hangs on the terms of its opening
        Entry(one.time, one.url, one.what, one.size, one.token_ids, one.payload)
        for one in (traffic.sent[begun], traffic.sent[number])
    ]
    *_, message = decoded(messages)
    return message


def said_by(traffic: Traffic, number: int) -> dict[str, str]:
    """What a sent message said, part by part."""
    message = message_of(traffic, number)
    words = of_bytes if message.vocabulary_id == BYTES else traffic.words_of
    match message.says:
        case OpenSession() as said:
            request = request_of(said, words)
            parts = {"your request": request, "the text so far": words(said.text_ids)}
        case DraftBlock() as block:
            parts = {"settled before": words(block.settled)}
            parts["drafted"] = words(block.drafted)
        case None:
            parts = {"in words": words(message.entry.token_ids)}
    return {name: said for name, said in parts.items() if said}


def hex_dump(payload: bytes) -> str:
    """Rows of 16 bytes, as numbers and as letters."""
    rows = []
    for at in range(0, len(payload), 16):
        row = payload[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{at:05x}  {row.hex(' '):<47}  {letters}")
    return "\n".join(rows)
