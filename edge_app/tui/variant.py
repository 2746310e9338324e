"""One version of a text, as a fold over the events of its writing.

Words have a state, which says how they look: *kept* is what the device drafted and
the checker let stand, *replaced* what was redrawn after a refusal, *waiting* what may
still change, *refused* what was just struck out, *typed* what the person wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from decoding_core.messages import Origin
from edge_app.decoding.events import (
    Drafted,
    Event,
    Finished,
    FinishReason,
    Opened,
    Sent,
    Settled,
    Source,
    SourcesFound,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.words.phrases import SentText

State = Literal["kept", "replaced", "waiting", "refused", "typed"]
STATES: tuple[State, ...] = ("kept", "replaced", "waiting", "refused", "typed")
Run = tuple[str, State]
"""A piece of text and the state of its words."""

STRUCK_SECONDS = 0.6
"""How long a refused word stays on screen."""

_LOOKS: dict[Origin, State] = {
    "accepted": "kept",
    "bonus": "kept",
    "local": "kept",
    "recovered": "replaced",
}


@dataclass(slots=True)
class Struck:
    """A refused word, shown before the settled token `at` until `until`."""

    at: int
    text: str
    until: float


@dataclass(slots=True)
class Variant:
    """One version of a text; `apply` takes it forward by an event."""

    order: WriteRequest
    started: float = 0.0
    """On the clock that `apply` is given."""
    settled: list[Token] = field(default_factory=list)
    waiting: list[Drafted] = field(default_factory=list)
    struck: list[Struck] = field(default_factory=list)
    sources: tuple[Source, ...] = ()
    opened: Opened | None = None
    judged: list[Verified] = field(default_factory=list)
    left: SentText = field(default_factory=SentText)
    ended: float | None = None
    reason: FinishReason | None = None
    statistics: Statistics | None = None
    stopped: bool = False
    edited: list[Run] | None = None
    """The text as the person left it; None while it is as it was written."""
    saved: str | None = None
    """The text as it stands in a file; None while there is no file."""

    def __post_init__(self) -> None:
        self.left.request = self.order.brief.text

    def apply(self, event: Event, now: float) -> None:
        """Take in what happened at `now`; after a stop nothing is added any more."""
        self._learn(event)
        match event:
            case SourcesFound(sources=sources):
                self.sources = sources
                self.left.read_letters(source.excerpt for source in sources)
            case Opened():
                self.opened = event
            case Sent():
                self.left.add(event, [token.id for token in self.settled])
            case Finished(reason, statistics):
                self.reason, self.statistics = reason, statistics
                self.end(now)
            case Drafted() | Verified() | Settled() if not self.stopped:
                self._write(event, now)
            case _:
                pass

    def _learn(self, event: Event) -> None:
        """Ids are read with the texts the events give; after a stop, too."""
        if isinstance(event, Drafted):
            self.left.texts[event.id] = event.text
        elif isinstance(event, Settled):
            self.left.texts.update({token.id: token.text for token in event.tokens})

    def _write(self, event: Drafted | Verified | Settled, now: float) -> None:
        match event:
            case Drafted():
                self.waiting.append(event)
            case Verified():
                self._judge(event, now)
            case Settled(tokens):
                for token in tokens:
                    self._settle(token)

    def _judge(self, judged: Verified, now: float) -> None:
        self.judged.append(judged)
        if judged.refused:
            del self.waiting[judged.accepted :]
            at = len(self.settled) + judged.accepted
            self.struck.append(Struck(at, judged.refused[0], now + STRUCK_SECONDS))

    def _settle(self, token: Token) -> None:
        """A token that is not the first one waiting makes all that wait void."""
        if self.waiting and self.waiting[0].id == token.id:
            del self.waiting[0]
        else:
            self.waiting.clear()
        self.settled.append(token)

    def stop(self, now: float) -> None:
        """The person stopped: what is settled stays, what waits vanishes."""
        self.stopped = True
        self.end(now)

    def end(self, now: float) -> None:
        """Nothing more will come."""
        self.waiting.clear()
        self.struck.clear()
        self.ended = self.ended or now

    @property
    def writing(self) -> bool:
        """Whether more may come."""
        return self.ended is None

    @property
    def text(self) -> str:
        """The text as it now reads, without waiting words."""
        return "".join(text for text, _ in self.runs())

    @property
    def empty(self) -> bool:
        """Whether there is no word in it."""
        return not self.text.strip()

    def runs(self) -> list[Run]:
        """The settled text, or what the person made of it."""
        return self.drafted() if self.edited is None else self.edited

    def drafted(self) -> list[Run]:
        """The text as it was written."""
        return [(token.text, _LOOKS[token.origin]) for token in self.settled]

    def steady(self) -> int:
        """How many shown words will stay where they are, whatever comes."""
        return min([struck.at for struck in self.struck] + [len(self.settled)])

    def tail(self, first: int, now: float) -> list[Run]:
        """Words from `first`, which is at most `steady()`, refused ones among them."""
        self.struck = [struck for struck in self.struck if struck.until > now]
        runs = [(token.text, _LOOKS[token.origin]) for token in self.settled[first:]]
        runs += [(drafted.text, "waiting") for drafted in self.waiting]
        for struck in sorted(self.struck, key=lambda struck: -struck.at):
            place = max(0, struck.at - first)
            runs.insert(place, (struck.text, "refused"))
        return runs
