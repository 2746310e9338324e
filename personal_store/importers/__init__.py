"""Importers, a file for each family of sources, and how each is found by its name.
Other packages add theirs by entry points of the group `specsteer.importers`; each leads
to a module or an object with the same functions.

An importer has `sources(path)`, which finds what to read or raises SourceError, and
`read(source, options)`, which yields documents, things skipped and failures. Others
are optional:

- `envelopes(source)` yields the headers of mail, and `letters(source, options)` what
  `read` yields with messages that are not parsed yet, to be read by other processes;
- `people(source)` tells who signed messages with names;
- `names(source)` and `columns(source, mapping)` are of tables of any service: the names
  of all columns, and `Columns`, which raise SourceError if no text is found;
- `begins_at(source, position)` says that files grow at their end, and whether
  `options.start` may be this position;
- `recognises(source)` is for `import auto`: whether a file of a common type is likely
  meant for it. Without it, what `sources` wants is what it recognises;
- `is_certain(source)` says of a format that has no place for a writer whether this file
  names one all the same.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from personal_store.errors import UnknownImporterError
from personal_store.files import Source
from personal_store.importers.exports import People
from personal_store.mail.mail import Mail
from personal_store.records import Item, ReadOptions

GROUP = "specsteer.importers"
_FAMILIES = {
    "documents": ("docx", "markdown", "odt", "text"),
    "imap": ("imap",),
    "mailboxes": ("eml", "emlx", "maildir", "mbox"),
    "meta": ("facebook", "instagram"),
    "pst": ("pst",),
    "services": (
        *("keep", "linkedin", "mastodon", "reddit", "youtube_comments"),
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
class TalkImporter(Importer, Protocol):
    """An importer of messages signed with names, of which one is the owner's."""

    def people(self, source: Source) -> People:
        """Who wrote in it, and what it says of its owner."""


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
