"""From BM25 scores to the few texts that are read: gentle preferences, no doubles."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from personal_store.text.tokens import Shingles, overlap, shingles

CANDIDATES = 100
"""As many of the best by BM25 are judged by the preferences, if no more are wanted."""
SAME_TEXT = 0.6
"""Overlap of three-word runs from which two texts count as one."""

# Shares of the best BM25 score: enough to decide between similar texts.
RECENCY, SAME_RECIPIENT, SAME_KIND = 0.1, 0.3, 0.2
HALF_LIFE = 365 * 86_400
"""Seconds after which recency counts half; measured from the newest text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A searchable text, without the text."""

    id: int
    kind: str
    recipient: str
    recipient_address: str
    sent_at: int | None
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search asks for. Kind and recipient are preferences, never filters."""

    limit: int
    kind: str | None = None
    recipient: str | None = None
    excluded: Collection[int] = ()
    only: Collection[int] | None = None
    """Ids of the only texts that may be found; None: any text."""
    distinctive_only: bool = False
    """Whether words of more than half of the texts are left out of the query."""

    @property
    def candidates(self) -> int:
        """How many of the best by BM25 are judged by the preferences too."""
        return max(CANDIDATES, self.limit)

    def allows(self, entry_id: int) -> bool:
        """Whether this entry may be found."""
        return entry_id not in self.excluded and (
            self.only is None or entry_id in self.only
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """A found entry and why it was found."""

    id: int
    score: float
    parts: Mapping[str, float]
    """What the score is the sum of."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """What the part `bm25` is the sum of, word by word."""


def ranked(
    entries: Sequence[Entry], scores: NDArray[np.float64], wanted: Wanted, newest: int
) -> list[tuple[Hit, int]]:
    """Hits among the entries, best first, each with its place in them.

    `scores` (N,) are BM25; `newest` is the date of the newest text, in seconds since
    1970. Entries without a score, and near-doubles of better ones, are left out.
    """
    fits = np.flatnonzero(scores > 0)
    best = fits[np.argsort(-scores[fits], kind="stable")]
    allowed = [int(i) for i in best if wanted.allows(entries[i].id)]
    unit = float(scores[allowed[0]]) if allowed else 0.0
    hits = [
        (_judged(entries[i], float(scores[i]), unit, wanted, newest), i)
        for i in allowed[: wanted.candidates]
    ]
    hits.sort(key=lambda pair: in_order(pair[0].score, entries[pair[1]]))
    return _distinct(hits, entries, wanted.limit)


def newest_first(entries: Iterable[Entry], wanted: Wanted) -> list[Hit]:
    """The newest entries; same recipient and same kind before all others."""
    chosen = [entry for entry in entries if wanted.allows(entry.id)]
    chosen.sort(
        key=lambda entry: (
            not is_to(wanted.recipient, entry.recipient, entry.recipient_address),
            entry.kind != wanted.kind,
            *in_order(0.0, entry),
        )
    )
    hits = [(Hit(entry.id, 0.0, {}), i) for i, entry in enumerate(chosen)]
    return [hit for hit, _ in _distinct(hits, chosen, wanted.limit)]


def is_to(wanted: str | None, recipient: str, address: str) -> bool:
    """Whether a text was written to this person: an address, a name with one, or words
    of a name."""
    if not wanted:
        return False
    name, angle, known = wanted.strip().casefold().partition("<")
    if address and address in (name, known.rstrip("> ")):
        return True
    words, others = set(name.split()), set(recipient.casefold().split())
    # People say "Ana" where the mail says "Ana Ruiz".
    return words == others if angle else words <= others


def in_order(score: float, entry: Entry) -> tuple[float, float, int]:
    """Best first, then newest; of undated ones, the last that was imported, as most
    files are in the order of time."""
    undated = float("-inf")
    return -score, -(undated if entry.sent_at is None else entry.sent_at), -entry.id


def _judged(entry: Entry, bm25: float, unit: float, wanted: Wanted, newest: int) -> Hit:
    recency = 0.0  # 1 for the newest text, half of it per half-life
    if entry.sent_at is not None:
        recency = float(0.5 ** ((newest - entry.sent_at) / HALF_LIFE))
    parts = {"bm25": bm25, "recency": unit * RECENCY * recency}
    if wanted.recipient is not None:
        same = is_to(wanted.recipient, entry.recipient, entry.recipient_address)
        parts["same_recipient"] = unit * SAME_RECIPIENT * same
    if wanted.kind is not None:
        parts["same_kind"] = unit * SAME_KIND * (entry.kind == wanted.kind)
    return Hit(entry.id, sum(parts.values()), parts)


def _distinct(
    hits: list[tuple[Hit, int]], entries: Sequence[Entry], limit: int
) -> list[tuple[Hit, int]]:
    """The first hits that do not say nearly the same as a better one."""
    chosen: list[tuple[Hit, int]] = []
    seen: list[Shingles] = []
    for hit, place in hits:
        if len(chosen) >= limit:
            break
        words = shingles(entries[place].terms)
        if all(overlap(words, other) < SAME_TEXT for other in seen):
            chosen.append((hit, place))
            seen.append(words)
    return chosen
