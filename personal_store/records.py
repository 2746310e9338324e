"""The plain values that travel between importers, the store and its readers."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum

KINDS = ("email", "review", "post", "message", "note")
"""Values of `Document.kind`. A message is for those it names, a post for anybody."""

ProgressCallback = Callable[[int, int], None]
"""Hears how much of how much is done: records, pages or bytes."""


class Author(IntEnum):
    """Who wrote the text of a record."""

    OTHER = 0
    ME = 1
    MIXED = 2  # mine, after text of others was cut away
    UNKNOWN = 3


OWN = (Author.ME, Author.MIXED)

UNREAD = -1
"""Stands for the version of the cleaning rules where a received mail is stored as it
came and has no text yet."""


@dataclass(frozen=True, slots=True)
class RawText:
    """What cleaning began with: the decoded bodies of a message."""

    plain: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One text as an importer read it, cleaned, before anybody judged who wrote it."""

    position: int  # units of the source read once this text is dealt with
    key: str
    """Says which text this is, wherever it stands in the source. Never a position."""
    kind: str
    text: str
    title: str = ""
    recipient: str = ""  # whom it was written to, or what it is a review of
    recipient_address: str = ""
    sender: str = ""
    """Lower-cased address of the writer; empty where an export holds only own texts."""
    sender_name: str = ""  # the writer's name as the source has it
    answer_to: str = ""
    """Whom a mail asks to be answered to, as `Name <address>`; empty for its sender."""
    sent_at: int | None = None  # seconds since 1970, UTC
    rating: float | None = None
    labels: tuple[str, ...] = ()
    thread: str = ""
    reply_to: str = ""
    trimmed: bool = False  # quotes or forwarded text of others were cut away
    cleaning: int = 0
    """Version of the cleaning rules that made the text; `UNREAD`: none has yet."""
    raw: bytes | None = None
    """The packed bodies, kept to be cleaned later, or again by newer rules; None if
    nothing needs to be cleaned."""
    origin: tuple[str, str] | None = None
    """Kind and name of the source it first came from, where that is another one."""
    author: Author | None = None
    """Who wrote it, where the source knows; None: its sender decides."""
    asked: str = ""  # the request, of a text that the owner finished from a draft
    drafted: str = ""  # and the draft
    own_share: float = 1.0
    """Of a text that was drafted, the share of its words that the owner typed."""
    excluded: bool = False
    trashed_at: int | None = None
    """Since when it lies in the trash, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the source that is deliberately not stored."""

    position: int
    reason: str
    mark: tuple[str, ...] = ()  # a row of `voice_mark`, which is no text and is kept


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """Something in the source that could not be read. It never stops the import."""

    position: int
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


Item = Document | Skipped | ImportFailure


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What an importer may want to know besides the file."""

    me: frozenset[str] = frozenset()
    start: int = 0  # position up to which an interrupted run has already committed
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A stored text of any author."""

    id: int
    source: str
    key: str
    kind: str
    title: str
    text: str
    recipient: str
    recipient_address: str
    sender: str
    sent_at: int | None
    rating: float | None
    thread: str
    reply_to: str
    author: Author
    cleaning: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was retrieved, whole."""

    record_id: int
    kind: str
    recipient: str
    subject: str
    text: str
    date: datetime | None
    score: float
    score_parts: dict[str, float]
    """What the score is the sum of; empty where nothing was scored."""
    source: str
    terms: dict[str, float] = field(default_factory=dict)
    """What the score's part `bm25` is the sum of, word by word."""
    sender: str = ""  # address of the writer, where the source names one
    sender_name: str = ""
    answer_to: str = ""
    """Whom it asks to be answered to, as `Name <address>`; empty for its sender."""
    own: bool = True  # whether the owner wrote it


@dataclass(slots=True)
class ImportReport:
    """Counts of one import, and what could not be read."""

    added: int = 0  # own texts stored by this run
    updated: int = 0  # own texts that were known but read differently before
    received: int = 0
    """Texts of others stored by this run, in case their writer turns out to be you."""
    met: int = 0  # texts of others that were stored before; they are counted as skipped
    failures: list[ImportFailure] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)  # why things were skipped
    notes: list[str] = field(default_factory=list)
    """Sentences worth reading: who "me" is, where an interrupted run went on."""

    @property
    def skipped(self) -> int:
        """Things read and left out, for any reason."""
        return sum(self.reasons.values())

    @property
    def failed(self) -> int:
        """Things that could not be read."""
        return len(self.failures)

    def details(self) -> str:
        """One line that says why things were skipped; empty when nothing was."""
        if not self.reasons:
            return ""
        parts = (f"{count:,} {reason}" for reason, count in self.reasons.most_common())
        return "skipped: " + ", ".join(parts)

    def summary(self) -> str:
        """The last line to print."""
        updated = f"updated {self.updated}, " if self.updated else ""
        others = f"{self.received} by others, " if self.received else ""
        return (
            f"added {self.added}, {updated}{others}skipped {self.skipped}, "
            f"failed {self.failed}"
        )


def fingerprint(title: str, rating: float | None, text: str) -> bytes:
    """A hash that changes when a record reads differently."""
    return hashlib.sha256(f"{title}\0{rating}\0{text}".encode()).digest()


def moment(seconds: int | None) -> datetime | None:
    """The stored time as a datetime in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
