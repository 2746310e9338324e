"""Importers, a file for each family of sources, and how each is found by its name.
Other packages add theirs by entry points of the group `specsteer.importers`; each leads
to a module or an object with the same functions.

An importer has `sources(path)`, which finds what to read or raises SourceError, and
`read(source, options)`, which yields documents, things skipped and failures. Importers
of mail also have `envelopes(source)`, which yields headers only, and may have
`letters(source, options)`, which yields messages that are not read yet; those of
messages signed with names have `people(source)`, those of tables `names(source)` and
`columns(source, mapping)`.

`begins_at(source, position)` says that files grow at their end, and where reading may
begin.

`recognises(source)` is for `import auto`: where an importer would take any file of a
common type, it says whether this one is likely meant for it. Without it, what
`sources` wants is what it recognises. `is_certain(source)` says of a format that has no
place for a writer whether this file names one all the same.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from personal_store.errors import UnknownImporterError
from personal_store.files import Source
from personal_store.importers.exports import People
from personal_store.importers.tables import Columns
from personal_store.mail.mail import Mail
from personal_store.reading.letters import Letter
from personal_store.records import Item, ReadOptions

GROUP = "specsteer.importers"
_FAMILIES = {
    "documents": ("docx", "markdown", "odt", "text"),
    "imap": ("imap",),
    "mailboxes": ("eml", "emlx", "maildir", "mbox"),
    "meta": ("facebook", "instagram"),
    "posts": ("keep", "linkedin", "mastodon", "reddit", "youtube_comments"),
    "pst": ("pst",),
    "reviews": (
        *("amazon_reviews", "goodreads", "google_play", "google_reviews"),
        *("letterboxd", "storygraph"),
    ),
    "tables": ("csv", "jsonl", "lamp"),
    "whatsapp": ("whatsapp",),
    "x_archive": ("x_archive",),
}
"""The importers by the file they are in; a file of one may be the importer itself."""
_OWN = {name: family for family, names in _FAMILIES.items() for name in names}
_MAIL = ("maildir", "emlx", "mbox", "eml")
UNSIGNED = ("jsonl", "csv", "markdown", "docx", "odt", "text")
"""Importers of files that do not say who wrote them, the more specific first."""
_COMMON = frozenset((*_MAIL, *UNSIGNED, "lamp"))
"""Importers of formats that many programs write; lamp's has texts of many people."""


@runtime_checkable
class Importer(Protocol):
    """What a module in this folder offers."""

    def sources(self, path: Path) -> list[Source]:
        """What to read behind a path, in a fixed order."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """Everything in a source after options.start, positions growing."""


@runtime_checkable
class MailImporter(Importer, Protocol):
    """An importer of mail, where somebody has to say which address is the owner's."""

    def envelopes(self, source: Source) -> Iterator[Mail]:
        """The headers of each message, to find out whose mailbox it is."""


@runtime_checkable
class LetterImporter(MailImporter, Protocol):
    """An importer of mail that finds messages faster than they can be read."""

    def letters(self, source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
        """What `read` yields, but messages as they are, to be read elsewhere."""


@runtime_checkable
class GrowingImporter(Importer, Protocol):
    """An importer of files to whose end programs add, and that can be read from any
    place at which something begins."""

    def begins_at(self, source: Source, position: int) -> bool:
        """Whether `options.start` may be this position."""


@runtime_checkable
class TalkImporter(Importer, Protocol):
    """An importer of messages signed with names, of which one is the owner's."""

    def people(self, source: Source) -> People:
        """Who wrote in it, and what it says of its owner."""


@runtime_checkable
class TableImporter(Importer, Protocol):
    """An importer of tables of any service, where columns are named or guessed."""

    def names(self, source: Source) -> list[str]:
        """The names of all columns."""

    def columns(self, source: Source, mapping: Mapping[str, str]) -> Columns:
        """Which column holds what; raises SourceError if no text is found."""


def signed() -> list[str]:
    """Names of importers that know whose words they read, the more specific first."""
    return [*sorted({*available()} - _COMMON), *_MAIL]


def is_service(name: str) -> bool:
    """Whether an importer reads the export of one service."""
    return name not in {*_COMMON, "imap", "pst"}


@cache
def available() -> tuple[str, ...]:
    """The names of all importers, those of other packages too."""
    return tuple(sorted({*_OWN, *entry_points(group=GROUP).names}))


def load(name: str) -> Importer:
    """The importer of this name."""
    if name in _OWN:
        family = import_module(f"{__name__}.{_OWN[name]}")
        return cast(Importer, getattr(family, name, family))
    if name not in available():
        raise UnknownImporterError(
            f"There is no importer '{name}'. There are: {', '.join(available())}."
        )
    (entry, *_) = entry_points(group=GROUP, name=name)
    try:
        return cast(Importer, entry.load())
    except Exception as error:  # what somebody else's import may raise
        raise UnknownImporterError(
            f"The importer '{name}' of another package cannot be loaded: "
            f"{type(error).__name__}: {' '.join(str(error).split())}."
        ) from error
