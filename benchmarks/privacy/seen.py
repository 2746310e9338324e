"""All that a server saw of a text, decoded from the bytes at the socket: the public
prompt, and every token that left the device, refused ones too, with what stood before
it.

Nothing in here knows what the device knew. A token that left is a *departure*: it was
drafted from S behind its prefix, or drawn by the device in place of a refused one, or
stands in the text for something else, as a stand-in of the guard does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from decoding_core.errors import MessageError
from decoding_core.messages import DraftBlock, OpenSession, Terms
from decoding_core.verifier import role_of
from edge_app.privacy.ledger import Entry
from edge_app.privacy.reading import SentMessage, decoded

Origin = Literal["draft", "redraw", "other"]
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Departure:
    """One token that left the device."""

    prefix: Ids
    """The text before it, as the server knew it; the public prompt stands before."""
    token: int
    origin: Origin
    """`other` where nothing was refused in its place: nobody drew it from a target."""
    refused: int = -1
    """The drafted token in whose place a redrawn one stands; -1: none was drafted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One text, as a server that keeps everything has it at the end."""

    prompt: Ids
    terms: Terms
    departures: tuple[Departure, ...]
    """In the order in which they left; one that was sent twice stands once."""
    settled: Ids
    """What the last block says of the text before it: those drafts stayed."""

    def kept(self, at: Departure) -> bool:
        """Whether a drafted token is known to have stayed."""
        place = len(at.prefix)
        return self.settled[: place + 1] == (*at.prefix, at.token)


def seen_in(entries: Iterable[Entry]) -> Seen:
    """What a server saw of the text that these sendings tell; raises MessageError where
    they hold no opening."""
    return seen_of(decoded(entries))


def seen_of(messages: Iterable[SentMessage]) -> Seen:
    """The same from decoded messages."""
    opening: OpenSession | None = None
    found = _Departures()
    for message in messages:
        match message.says:
            case OpenSession() as said:
                opening = opening or said
                found.opened(said)
            case DraftBlock() as block:
                found.block(block)
            case None:
                pass
    if opening is None:
        raise MessageError("nothing was sent that begins a text")
    settled = tuple(found.settled)
    return Seen(opening.prompt_ids, opening.terms, tuple(found), settled)


class _Departures:
    """Departures in their order, each once: a block that is sent again after a loss
    holds the same tokens, and so does one that is drafted again behind the same words,
    as noise is a function of the place. Only where a refused place is drafted anew with
    fresh noise is each epoch's draft one of its own."""

    def __init__(self) -> None:
        self._found: dict[tuple[Ids, int, str, int], Departure] = {}
        self._drafts: dict[Ids, int] = {}
        self._text: list[int] = []
        self._redrafts = False
        self.settled: list[int] = []

    def __iter__(self) -> Iterator[Departure]:
        return iter(self._found.values())

    def opened(self, said: OpenSession) -> None:
        """A text that goes on may hold tokens that no block has brought."""
        self._redrafts = role_of(said.terms).redrafts
        text = list(said.text_ids)
        for place, token in enumerate(text):
            if self._drafts.get(tuple(text[:place])) != token:
                self._drew(tuple(text[:place]), token)
        self.settled = self._text = text

    def block(self, block: DraftBlock) -> None:
        """What was settled since, then what was drafted."""
        text = self._text[: block.position]
        for token in block.settled:
            self._drew(tuple(text), token)
            text.append(token)
        self.settled = list(text)
        for token in block.drafted:
            prefix, epoch = tuple(text), block.epoch if self._redrafts else 0
            self._found.setdefault(
                (prefix, token, "draft", epoch), Departure(prefix, token, "draft")
            )
            self._drafts[prefix] = token
            text.append(token)
        self._text = text

    def _drew(self, prefix: Ids, token: int) -> None:
        """The device settled a token: in place of a refused one, if one was drafted
        there, which may have been the same."""
        refused = self._drafts.get(prefix, -1)
        origin: Origin = "redraw" if refused >= 0 else "other"
        self._found.setdefault(
            (prefix, token, origin, 0), Departure(prefix, token, origin, refused)
        )
