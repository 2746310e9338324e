"""What the bytes in the ledger say: openings and blocks, as a server reads them.

The ledger keeps what was handed to the socket. Here it is read back by the formats of
the wire alone, and by nothing that the device knew besides, so that whoever holds the
same bytes gets the same words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from decoding_core.errors import DecodingError
from decoding_core.messages import SETTLED_LIMIT, DraftBlock, FrameFormat, OpenSession
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_from_json
from edge_app.privacy.ledger import Entry


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One sending and what it says."""

    entry: Entry
    says: OpenSession | DraftBlock | None = None
    """None where it holds no message, or none that can be read."""
    padding: int = 0
    """Bytes at the end of the message that say nothing."""


def decoded(entries: Iterable[Entry]) -> Iterator[SentMessage]:
    """Each sending with the message in its payload. A frame is read by the terms of the
    opening before it; what cannot be read is passed on without a message."""
    frames: FrameFormat | None = None
    for entry in entries:
        said: OpenSession | DraftBlock | None = None
        padding, payload = 0, entry.payload
        try:
            if entry.what == "open":
                frames = None
                said = open_from_json(json.loads(payload))
                frames = replace(role_of(said.terms).frames, version=said.version)
                padding = len(payload) - len(payload.rstrip(b" "))
            elif entry.what == "block" and frames is not None:
                said = frames.decode_block(payload)
                used = len(said.settled) + len(said.drafted)
                padding = 4 * (frames.draft_limit + SETTLED_LIMIT - used)
        except (DecodingError, ValueError, KeyError, TypeError, RecursionError):
            said = None
        yield SentMessage(entry, said, padding)


def by_text(messages: Iterable[SentMessage]) -> Iterator[list[SentMessage]]:
    """The messages of one text after the other; what was sent before the first opening
    is of none. An opening with a text belongs to the text before it, which went on with
    it after a loss."""
    found: list[SentMessage] = []
    for message in messages:
        opens = message.entry.what == "open"
        goes_on = isinstance(message.says, OpenSession) and message.says.text_ids
        if opens and found and not goes_on:
            yield found
            found = []
        if opens or found:
            found.append(message)
    if found:
        yield found
