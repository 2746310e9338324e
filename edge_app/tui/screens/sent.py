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
from edge_app.decoding.events import Sent
from edge_app.tui.drafts import Writing
from edge_app.tui.saving import PathError, export_sent
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.words.cards_text import phrases_line
from edge_app.tui.words.meters import in_bytes
from edge_app.tui.words.phrases import PHRASE_WORDS

_COLUMNS = ("time", "what", "bytes", "ids", "to")


class SentDrawer(Drawer):
    """Messages above, the bytes of the chosen one below."""

    NAME = "sent"
    TITLE = "What left this device"
    FOOT = "enter reads the bytes · e exports all as JSON lines · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "Export", show=False)
    ]

    def __init__(self, writing: Writing, folder: Path) -> None:
        super().__init__()
        self.writing = writing
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
        self._advance()
        self.set_interval(0.5, self._advance)

    def _advance(self) -> None:
        sent = self.writing.traffic.sent
        for number in range(self._shown, len(sent)):
            self.query_one(DataTable).add_row(*_cells(sent[number]), key=str(number))
        self._shown = len(sent)
        self.query_one(".note", Static).update(legible(self._note()))

    def _note(self) -> str:
        traffic = self.writing.traffic
        if not traffic.sent:
            return "Nothing has left this device since the app was started."
        return (
            f"{len(traffic.sent)} messages, {in_bytes(traffic.bytes_up)} in all: your "
            f"request, and drafted words as token ids, which the server can read. "
            f"Phrases of your letters in them ({PHRASE_WORDS} words in a row or more): "
            f"{phrases_line(self.writing)}.{self._phrases()}"
        )

    def _phrases(self) -> str:
        found = (
            f"“{p}”" for known in self.writing.attempts for p in known.left.phrases
        )
        return "".join(f"\n  {phrase}" for phrase in list(dict.fromkeys(found))[:4])

    @on(DataTable.RowHighlighted)
    def _read(self, event: DataTable.RowHighlighted) -> None:
        if event.row_key.value is None:
            return
        sent = self.writing.traffic.sent[int(event.row_key.value)]
        text = Text.assemble((f"{one_line(sent.url)}\n", "bold"), self._words(sent))
        text.append(f"{sent.size} bytes with headers; the message itself, ")
        text.append(f"{len(sent.payload)} bytes:\n\n{hex_dump(sent.payload)}")
        self.query_one("#text", Static).update(text)
        self.query_one("#reader").scroll_home(animate=False)

    def _words(self, sent: Sent) -> str:
        """The ids as words, as far as they are known."""
        if not sent.token_ids:
            return ""
        texts: dict[int, str] = {}
        for variant in self.writing.attempts:
            texts |= variant.left.texts
        words = "·".join(texts.get(token, f"<{token}>") for token in sent.token_ids)
        return f"ids    {' '.join(map(str, sent.token_ids))}\nwords  {words!r}\n"

    @on(DataTable.RowSelected)
    def _into_bytes(self) -> None:
        self.query_one("#reader").focus()

    def action_export(self) -> None:
        """Write all messages to a file."""
        try:
            path = export_sent(self._folder, self.writing.traffic.sent)
        except PathError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify(f"exported to {path}")


def hex_dump(payload: bytes) -> str:
    """Rows of 16 bytes, as numbers and as letters."""
    rows = []
    for at in range(0, len(payload), 16):
        row = payload[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{at:05x}  {row.hex(' '):<47}  {letters}")
    return "\n".join(rows)


def _cells(sent: Sent) -> tuple[Text, ...]:
    clock = datetime.fromtimestamp(sent.time).strftime("%H:%M:%S.%f")[:-4]
    ids = str(len(sent.token_ids)) if sent.token_ids else ""
    cells = (clock, sent.what, str(sent.size), ids, sent.url)
    return tuple(Text(one_line(cell)) for cell in cells)  # a string would be markup
