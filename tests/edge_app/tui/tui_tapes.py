"""Scripted runs for the tests of the terminal app."""

from __future__ import annotations

from decoding_core.settings import Origin
from edge_app.decoding.events import (
    Drafted,
    Event,
    Finished,
    HeldBack,
    Opened,
    Quoted,
    Received,
    Sent,
    Settled,
    Source,
    SourcesFound,
    StandsIn,
    Statistics,
    Token,
    Verified,
)
from models.prompts import Request

REQUEST = Request(
    "Thank Ana for the photos. Say yes to the weekend of the 14th.", "email", "Ana"
)
NOON = 1_780_000_000.0
URL = "http://127.0.0.1:8765"

SOURCES = (
    Source(
        11,
        "email to Ana, 2024-08-19: pier photos",
        0.041,
        {"words": 3.2, "recent": 0.4},
        "Dear Ana,\n\nThe photographs came today. The one of the three of us on the "
        "pier is my favourite, and the yellow hat is a disgrace.\n\nLove, Ben",
    ),
    Source(
        12,
        "email to Ana, 2025-06-02: june visit",
        0.033,
        {"words": 2.1, "recent": 0.9},
        "I can walk the old railway line again if my knee lets me.",
    ),
    Source(
        13,
        "email to Mum, 2023-11-30: plum jam",
        0.018,
        {"words": 1.0, "recent": 0.2},
        "I made eleven jars of the plum, take two to Ana.",
    ),
)

BLOCKS: list[tuple[list[str], int, str | None]] = [
    # drafted words, how many stay, the word drawn in place of the next
    (
        ["Dear", " Ana", ",\n\n", "Thank", " you", " for", " the", " photographs"],
        8,
        ".",
    ),
    ([" The", " one", " of", " the", " three", " of", " us", " on"], 8, " the"),
    ([" pier", " at", " home", " made", " me"], 2, " Whitby"),
    ([" made", " me", " laugh", " out", " loud", ".\n\n", "I", " can"], 8, " come"),
    ([" on", " the", " Sunday", " of"], 2, " weekend"),
    ([" of", " the", " 14th", ".", " I", " will", " bring", " the"], 8, " plum"),
    ([" jam", " and", " we", " can", " walk", " the", " old", " railway"], 8, " line"),
    ([" to", " the", " coast", ".\n\n", "Love", ",\n", "Ben"], 7, None),
]
QUOTED = Quoted(
    ("the one of the three of us on the pier", "can walk the old railway line"), ()
)


def token_id(text: str) -> int:
    """A number for each word."""
    return 256 + sum(ord(letter) * 31**at for at, letter in enumerate(text)) % 40_000


def letter_recording(blocks: int = len(BLOCKS)) -> list[Event]:
    """The letter to Ana, or its first blocks."""
    events: list[Event] = [
        SourcesFound(SOURCES),
        Opened("own server", local=False),
        Sent(NOON, f"{URL}/v1/sessions", "open", 412, (), b'{"prompt_ids": [1, 2, 3]}'),
        Received(NOON + 0.03, "opened", 160),
    ]
    for number, block in enumerate(BLOCKS[:blocks]):
        events += block_events(number, *block)
    if blocks == len(BLOCKS):
        events.append(QUOTED)
        events.append(Finished("end", Statistics(tokens_per_second=23.0)))
    return events


def block_events(
    number: int, drafted: list[str], kept: int, drawn: str | None
) -> list[Event]:
    """Drafting, sending, verifying and settling one block."""
    ids = tuple(map(token_id, drafted))
    time = NOON + 1 + number / 10
    origin: Origin = "bonus" if kept == len(drafted) else "recovered"
    settled = [Token(token_id(text), text, "accepted") for text in drafted[:kept]]
    if drawn is not None:
        settled.append(Token(token_id(drawn), drawn, origin))
    return [
        *(Drafted(token_id(text), text) for text in drafted),
        Sent(time, f"{URL}/v1/sessions/1/stream", "block", 96, ids, bytes(range(64))),
        Received(time + 0.038, "verdict", 44),
        Verified(len(drafted), kept, tuple(drafted[kept:]), 0.038),
        Settled(tuple(settled)),
    ]


def plain_recording(text: str) -> list[Event]:
    """A text written on the device alone."""
    words = [f"{' ' if at else ''}{word}" for at, word in enumerate(text.split(" "))]
    tokens = [Token(token_id(word), word, "local") for word in words]
    return [
        SourcesFound(()),
        Opened("this device", local=True),
        *(Settled((token,)) for token in tokens),
        Finished("end", Statistics(tokens_per_second=40.0)),
    ]


LETTER = (
    "Dear Ana,\n\nThank you for the photographs. The one of the three of us on the "
    "pier at Whitby made me laugh out loud.\n\nI can come on the weekend of the 14th."
    " I will bring the plum jam and we can walk the old railway line to the coast."
    "\n\nLove,\nBen"
)


def held_letter() -> list[Event]:
    """A letter of which two words stayed here, and what stood in for them left."""
    secret = "Ana swam across the cold black water"
    source = Source(1, "email to Ana, 2024-08-19: water", 1.0, {}, secret)
    words = ["Ana", " swam", " across", " the", " cold", " black", " water"]
    stand_in = ((90, " ..."),)
    held = HeldBack("phrase", "words in the order", " the cold", " ...", 3, 2)
    return [
        SourcesFound((source,)),
        Opened("server", local=False),
        *(Drafted(at, word) for at, word in enumerate(words)),
        Sent(0.0, "http://a", "block", 9, (0, 1, 2), b""),
        StandsIn(stand_in),
        Verified(3, 3, (), 0.1),
        Settled(tuple(Token(at, words[at], "accepted") for at in range(3))),
        held,
        Settled(tuple(Token(at, words[at], "local") for at in (3, 4))),
        Sent(0.0, "http://a", "block", 9, (90, 5, 6), b""),
    ]
