"""What happens while a text is written, as a stream of values.

The screen, the command line, the ledger and the statistics are readers of this one
stream; nothing else tells them anything. `to_json` gives the line that is kept.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from decoding_core.messages import Origin

FinishReason = Literal["end", "length", "stopped", "full", "refused"]
"""The model ended the text; it reached the limit; the person stopped; no room; the
server refused every draft at one place."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the person reads it. Texts joined give the text: a character that
    spans tokens stands in the last of them."""

    id: int
    text: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Source:
    """One of the writer's own texts that stands in the private prompt."""

    record_id: int
    title: str
    """Such as `email to Ana, 2024-08-19: pier photos`."""
    score: float
    score_parts: dict[str, float]
    excerpt: str


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """Which of the writer's texts were read for this draft."""

    sources: tuple[Source, ...]
    personalisation: str = ""
    """How they were chosen."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Judging has begun; `local` when no server takes part."""

    verifier: str
    local: bool


@dataclass(frozen=True, slots=True)
class Drafted:
    """A token was drafted and waits to be judged."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes were handed to the socket."""

    time: float
    """Seconds since 1970."""
    url: str
    what: str
    """`open`, `block`, `close` or `other`."""
    size: int
    """All bytes, headers and framing included."""
    token_ids: tuple[int, ...]
    """The draft's ids among them, settled ones first."""
    payload: bytes
    """The message itself, before WebSocket masking."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came back."""

    time: float
    what: str
    size: int


@dataclass(frozen=True, slots=True)
class Verified:
    """A block was judged: so many drafted tokens stay, these were refused."""

    drafted: int
    accepted: int
    refused: tuple[str, ...]
    """Texts of the refused token and of those after it, which it takes along."""
    seconds: float
    """From sending to the answer."""
    truncation_bound: float | None = None
    """How much of what a token was to be drawn from lay outside of the candidates, at
    most; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Tokens that will not change any more."""

    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person, such as that the server is gone."""

    text: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of one text."""

    drafted: int = 0
    accepted: int = 0
    recovered: int = 0
    bonus: int = 0
    local: int = 0
    rounds: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    seconds: float = 0.0
    tokens_per_second: float = 0.0
    acceptance_rate: float | None = None
    """Accepted / drafted of the judged blocks; None when nothing was judged."""
    round_trip_ms: float | None = None
    """Median time from a block to its verdict; None when nothing was sent."""
    truncation_bound: float | None = None
    """The largest of the blocks' bounds: the text is exact but for this share per
    token; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The text is done."""

    reason: FinishReason
    statistics: Statistics


Event = (
    SourcesFound
    | Opened
    | Drafted
    | Sent
    | Received
    | Verified
    | Settled
    | Notice
    | Finished
)
Emit = Callable[[Event], None]


def to_json(event: Event) -> str:
    """One line of JSON with the event's name under `event`."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}, default=_plain)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not part of an event")
