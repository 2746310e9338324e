"""Numbers for the cards: folds over events, without any screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from edge_app.decoding import events
from edge_app.decoding.events import Event
from edge_app.tui.variant import Variant


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
        """The words of token ids, where events told most of them."""
        if (request := self.requests.get(tuple(token_ids))) is not None:
            return request
        unknown = sum(token not in self.texts for token in token_ids)
        if 2 * unknown > len(token_ids):
            return f"({len(token_ids):,} pieces, whose words nothing here tells)"
        return "".join(self.texts.get(token, "…") for token in token_ids)


def round_trips(variant: Variant) -> tuple[float, float] | None:
    """Median and 95th percentile of the round trips in milliseconds; None without
    any."""
    waits = sorted(1000 * verified.seconds for verified in variant.verified)
    return (median(waits), waits[ceil(0.95 * len(waits)) - 1]) if waits else None


def speed(variant: Variant, now: float) -> float | None:
    """Tokens per second; None before there are any."""
    measured = variant.statistics and variant.statistics.tokens_per_second
    if measured:
        return measured
    seconds = (now if variant.ended is None else variant.ended) - variant.started
    return len(variant.settled) / seconds if variant.settled and seconds > 0 else None


def in_bytes(size: int) -> str:
    """`size` with its unit, such as `96 B` or `1.9 kB`."""
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"
