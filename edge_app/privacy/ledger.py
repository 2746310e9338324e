"""The ledger: what was handed to the socket, kept on this device alone.

One line of JSON per event, appended as it happens. It is a fold over what was really
sent, never a sentence that somebody wrote.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edge_app.decoding.events import Event, Received, Reckoned, Sent, to_json
from models.owner_only import open_to_append


@dataclass(frozen=True, slots=True)
class Entry:
    """One sending, as the ledger keeps it."""

    time: float
    url: str
    what: str
    size: int
    token_ids: tuple[int, ...]
    payload: bytes
    nats: float | None = None
    """What its tokens tell of the history; None: it was not reckoned."""


class Ledger:
    """Appends to the ledger; a reader of the event stream."""

    def __init__(self, path: Path) -> None:
        self._file = open_to_append(path)

    def add(self, event: Event) -> None:
        """Keep the event if bytes moved, or if it says what they tell."""
        if isinstance(event, Sent | Received | Reckoned):
            self._file.write(to_json(event) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_ledger(path: Path) -> Iterator[Entry]:
    """All sendings, oldest first; a line broken by a crash is passed over."""
    if not path.exists():
        return
    last: Entry | None = None
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                body: dict[str, Any] = json.loads(line)
                if body["event"] == "Reckoned" and last is not None:
                    last = replace(last, nats=(last.nats or 0.0) + float(body["nats"]))
                if body["event"] != "Sent":
                    continue
                entry = Entry(
                    float(body["time"]),
                    str(body["url"]),
                    str(body["what"]),
                    int(body["size"]),
                    tuple(map(int, body["token_ids"])),
                    base64.b64decode(body["payload"]),
                )
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue
            if last is not None:
                yield last
            last = entry
    if last is not None:
        yield last
