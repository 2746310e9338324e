"""Folds over events: one version of a text, and what left the device for a draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from statistics import median
from typing import TYPE_CHECKING

from decoding_core.settings import Origin
from edge_app.decoding import events
from edge_app.decoding.events import Event, FinishReason, Source, Token
from edge_app.service.requests import WriteRequest
from edge_app.tui.text import Run, State, count_words, joins

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker

STRUCK_SECONDS = 0.6  # how long a refused word stays on screen

_LOOKS: dict[Origin, State] = {
    "accepted": "kept",
    "bonus": "kept",
    "local": "kept",
    "recovered": "replaced",
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a version, which another one has in other words."""

    version: int
    at: int  # how many letters stand before it
    rest: int  # how many letters are put back behind it


@dataclass(slots=True)
class Struck:
    """A refused word, shown before the settled token `at` until `until`."""

    at: int
    text: str
    until: float


@dataclass(slots=True, eq=False)
class Variant:
    """One version of a text: its request, and what the events so far made of it."""

    request: WriteRequest
    number: int = 0  # its place among all versions of the draft that were asked for
    samples: bool = False
    """Whether it was written from sample letters, not from the person's own."""
    started: float = 0.0  # on the clock that `apply` is given
    settled: list[Token] = field(default_factory=list)
    waiting: list[events.Drafted] = field(default_factory=list)
    struck: Struck | None = None  # the word that was refused last
    sources: tuple[Source, ...] = ()
    opened: events.Opened | None = None
    spent: events.PrivacySpent | None = None
    """The privacy budget that the text has spent; None: no account is kept."""
    verified: list[events.Verified] = field(default_factory=list)
    sent: list[events.Sent] = field(default_factory=list)
    """Its messages; from a journal without their bytes, which the ledger has."""
    quoted: events.Quoted | None = None
    """What they quote of the letters; None: not compared."""
    ended: float | None = None
    reason: FinishReason | None = None
    statistics: events.Statistics | None = None
    stopped: bool = False
    unfinished: bool = False  # whether the app ended while it was written
    held: list[events.HeldBack] = field(default_factory=list)
    weighed: dict[int, events.Place] = field(default_factory=dict)
    """What the models thought, by the place of a settled token."""
    before: list[Run] = field(default_factory=list)
    """What stands before what is written: it goes on from there."""
    after: list[Run] = field(default_factory=list)  # what is put back behind it
    stretch: Stretch | None = None
    """What of another version it has in other words; None: it is a text of its own."""
    given: int = 0  # how many tokens the text before it has
    edited: list[Run] | None = None
    """The text as the person left it; None while it is as it was written."""
    saved: str | None = None
    """The text as it stands in a file; None while there is no file."""
    checker: Checker | None = None
    """What checks its facts; None: none is made yet. No journal has it."""

    def read_back(self, texts: Mapping[int, str]) -> None:
        """Give sources that are known by name alone their texts, by their records."""
        self.sources = tuple(
            replace(one, excerpt=one.excerpt or texts.get(one.record_id, ""))
            for one in self.sources
        )

    def apply(self, event: Event, now: float) -> None:
        """Apply an event that came at `now`; after a stop no words are added."""
        match event:
            case events.SourcesFound(sources=sources):
                self.sources = sources
            case events.PrivacySpent():
                self.spent = event
            case events.Opened():
                self.opened = event
            case events.Given(count):
                self.given = count
            case events.Sent():  # after a stop, too
                self.sent.append(event)
            case events.Quoted():
                self.quoted = event
            case events.Drafted() if not self.stopped:
                self.waiting.append(event)
            case events.Verified() if not self.stopped:
                self.verified.append(event)
                if event.refused:
                    del self.waiting[event.accepted :]
                    word = first_word(event.refused)
                    if word:
                        at = len(self.settled) + event.accepted
                        self.struck = Struck(at, word, now + STRUCK_SECONDS)
            case events.Settled(tokens):
                self._settle(tokens)
            case events.Alternatives(position, places):
                self.weighed.update(enumerate(places, position))
            case events.HeldBack():
                self.held.append(event)
            case events.Finished(reason, statistics):
                self.reason, self.statistics = reason, statistics
                self.end(now)
            case _:
                pass

    def _settle(self, tokens: Sequence[Token]) -> None:
        for token in tokens if not self.stopped else ():
            if self.waiting and self.waiting[0].id == token.id:
                del self.waiting[0]
            else:  # another word than the one drafted here voids all behind it
                self.waiting.clear()
            self.settled.append(token)

    def stop(self, now: float) -> None:
        """Stop for the person: settled words stay, waiting words are dropped."""
        self.stopped = True
        self.end(now)

    def end(self, now: float) -> None:
        """Drop waiting and refused words, and note when the writing ended."""
        self.waiting.clear()
        self.struck = None
        self.ended = self.ended or now

    @property
    def writing(self) -> bool:
        """Whether the service may still add words."""
        return self.ended is None

    def word_counts(self) -> dict[State, int]:
        """Words of the text by how they look."""
        return count_words(self.runs())

    def round_trips(self) -> tuple[float, float] | None:
        """Median and 95th percentile of the round trips in milliseconds; None without
        any."""
        waits = sorted(1000 * verified.seconds for verified in self.verified)
        return (median(waits), waits[ceil(0.95 * len(waits)) - 1]) if waits else None

    def speed(self, now: float) -> float | None:
        """Tokens per second; None before there are any."""
        measured = self.statistics and self.statistics.tokens_per_second
        if measured:
            return measured
        seconds = (now if self.ended is None else self.ended) - self.started
        return len(self.settled) / seconds if self.settled and seconds > 0 else None

    @property
    def text(self) -> str:
        """The text without waiting words."""
        return "".join(text for text, _ in self.runs())

    @property
    def empty(self) -> bool:
        """Whether it has no word that was not there before."""
        if self.edited is not None:
            return not self.text.strip()
        written = "".join(token.text for token in self.settled).strip()
        return written == self.request.instead_of.strip() or not written

    def runs(self) -> list[Run]:
        """The settled text, or what the person made of it."""
        return self.drafted() if self.edited is None else self.edited

    def drafted(self) -> list[Run]:
        """The text as it was written, with what stood around it."""
        written = self._written()
        if self.after and self.after[0][0][:1].isspace():
            while written and not written[-1][0].strip():
                written.pop()
            if written:
                text, look = written.pop()
                written.append((text.rstrip(), look))
        elif self.after and written and self.ended is not None:
            apart = written[-1][0][-1:].isalnum() and self.after[0][0][:1].isalnum()
            written += [(" ", "kept")] * apart
        return [*self.before, *written, *self.after]

    @property
    def written_to(self) -> int:
        """How many letters of `drafted` stand before what was put back."""
        whole = sum(len(text) for text, _ in self.drafted())
        return whole - sum(len(text) for text, _ in self.after)

    def held_at(self, at: int) -> events.HeldBack | None:
        """What was kept from the server at the place of a token; None: nothing."""
        for one in self.held:
            if one.position <= at + self.given < one.position + one.tokens:
                return one
        return None

    def went_unchecked(self, tokens: Sequence[Token]) -> bool:
        """Whether the checker was asked for, and had no say in `tokens`, which come
        next."""
        alone = any(
            token.origin == "local" and self.held_at(at) is None
            for at, token in enumerate(tokens, len(self.settled))
        )
        if not alone or self.request.offline:
            return False
        # Numpy takes a tenth of a second to import, which the first paint does without.
        from decoding_core.methods import build
        from decoding_core.verifier import role_of

        settings = self.request.settings
        return role_of(settings.terms(), build(settings)).uses_generalist

    def _look(self, at: int) -> State:
        """The state of a settled token."""
        return "held" if self.held_at(at) else _LOOKS[self.settled[at].origin]

    def shown(self, now: float) -> list[Run]:
        """What the page shows while it is written, up to a line break that waits."""
        runs = [*self.before, *self._written()]
        for drafted in self.waiting:
            before, line, _ = drafted.text.partition("\n")
            runs += [(before, "waiting")] if before else []
            if line:
                break
        if self.struck is not None and self.struck.until <= now:
            self.struck = None
        if self.struck is not None:
            place = len(self.before) + self.struck.at
            runs.insert(place, (self.struck.text, "refused"))
        return [*runs, *self.after]

    def _written(self) -> list[Run]:
        return [(token.text, self._look(at)) for at, token in enumerate(self.settled)]


@dataclass(slots=True)
class Traffic:
    """What left the device for one draft, and what came back."""

    sent: list[events.Sent] = field(default_factory=list)
    received: list[events.Received] = field(default_factory=list)
    requests: dict[tuple[int, ...], str] = field(default_factory=dict)
    """What requests say, by their token ids."""
    texts: dict[int, str] = field(default_factory=dict)
    """Texts of other token ids, as far as events gave them."""

    @classmethod
    def of(cls, attempts: Iterable[Variant]) -> Traffic:
        """The messages of versions that a journal holds, the oldest first."""
        return cls([sent for known in attempts for sent in known.sent])

    def apply(self, event: Event) -> None:
        """Add an event of what left or came back, or of the words in it."""
        match event:
            case events.Sent():
                self.sent.append(event)
            case events.Received():
                self.received.append(event)
            case events.PublicPrompt(tokens):
                ids = tuple(token for token, _ in tokens)
                self.requests[ids] = "".join(text for _, text in tokens)
            case events.Given(texts=texts) | events.StandsIn(tokens=texts):
                self.texts.update(texts)
            case events.Drafted():
                self.texts[event.id] = event.text
            case events.Settled(tokens):
                self.texts.update((token.id, token.text) for token in tokens)
            case _:
                pass

    def words_of(self, token_ids: Sequence[int]) -> str:
        """The words of token ids, if events gave most of them."""
        if (request := self.requests.get(tuple(token_ids))) is not None:
            return request
        unknown = sum(token not in self.texts for token in token_ids)
        if 2 * unknown > len(token_ids):
            return f"({len(token_ids):,} pieces, whose words nothing here tells)"
        return "".join(self.texts.get(token, "…") for token in token_ids)


def first_word(refused: Sequence[str]) -> str:
    """The refused word, all its pieces and no line break; empty if it is only space."""
    word = refused[0]
    for piece in refused[1:]:
        if not joins(word, piece):
            break
        word += piece
    return word.replace("\n", "") if word.strip() else ""
