"""Numbers for the cards: folds over events, without any screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from edge_app.decoding.events import Event, Received, Sent, Source
from edge_app.tui.variant import Run, State, Variant


@dataclass(slots=True)
class Traffic:
    """What left the device and what came back, since the app was started."""

    sent: list[Sent] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        """Add a `Sent` or `Received` event; other events are ignored."""
        if isinstance(event, Sent):
            self.sent.append(event)
        elif isinstance(event, Received):
            self.received.append(event)

    @property
    def bytes_up(self) -> int:
        """All bytes that left."""
        return sum(sent.size for sent in self.sent)

    @property
    def bytes_down(self) -> int:
        """All bytes that came back."""
        return sum(received.size for received in self.received)

    @property
    def request_bytes(self) -> int:
        """Bytes of the messages that carry the request."""
        return sum(sent.size for sent in self.sent if sent.what == "open")

    @property
    def draft_bytes(self) -> int:
        """Bytes of the messages that carry drafted words."""
        return sum(sent.size for sent in self.sent if sent.what == "block")

    @property
    def draft_ids(self) -> int:
        """Token ids of drafts that left, repeated ones included."""
        return sum(len(sent.token_ids) for sent in self.sent)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The measurements of one version."""

    drafted: int
    in_vain: int
    accepted: int
    replaced: int
    rounds: int
    words: dict[State, int]
    tokens_per_second: float | None
    round_trip_ms: float | None
    slow_round_trip_ms: float | None
    """The 95th percentile."""

    @property
    def kept(self) -> float | None:
        """Accepted / drafted; None when nothing was verified."""
        return self.accepted / self.drafted if self.drafted else None


def numbers(variant: Variant, now: float) -> Numbers:
    """The measurements of `variant` at `now`, also after it is finished."""
    speed = variant.statistics and variant.statistics.tokens_per_second
    if not speed:  # not ended yet, or the service did not measure it
        ended = now if variant.ended is None else variant.ended
        seconds = ended - variant.started
        some = variant.settled and seconds > 0
        speed = len(variant.settled) / seconds if some else None
    waits = sorted(1000 * verified.seconds for verified in variant.verified)
    return Numbers(
        drafted=sum(verified.drafted for verified in variant.verified),
        in_vain=sum(verified.in_vain for verified in variant.verified),
        accepted=sum(verified.accepted for verified in variant.verified),
        replaced=sum(token.origin == "recovered" for token in variant.settled),
        rounds=len(variant.verified),
        words=count_words(variant.runs()),
        tokens_per_second=speed,
        round_trip_ms=median(waits) if waits else None,
        slow_round_trip_ms=waits[ceil(0.95 * len(waits)) - 1] if waits else None,
    )


def count_words(runs: Iterable[Run]) -> dict[State, int]:
    """Words by the state of their first letter."""
    counts: dict[State, int] = {"kept": 0, "replaced": 0, "typed": 0}
    inside = False
    for text, run_state in runs:
        state: State = "kept" if run_state == "held" else run_state
        for letter in text:
            if letter.isalnum() and not inside:
                counts[state] = counts.get(state, 0) + 1
            inside = letter.isalnum() or (inside and letter in "'’-")
    return counts


def shares(sources: Sequence[Source]) -> list[float]:
    """Each source's score as a share of the sum."""
    total = sum(max(source.score, 0.0) for source in sources)
    return [max(s.score, 0.0) / total if total else 0.0 for s in sources]


def in_bytes(size: int) -> str:
    """`size` with its unit, such as `96 B` or `1.9 kB`."""
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"


def bar(share: float, width: int) -> str:
    """`share` as a bar of `width` characters."""
    full = round(share * width)
    return "█" * full + "░" * (width - full)
