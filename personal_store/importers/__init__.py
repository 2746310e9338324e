"""Importers, one source per file; the name of the file is the name of the importer.

An importer has `sources(path)`, which finds what to read or raises SourceError, and
`read(source, options)`, which yields documents, things skipped and failures. Importers
of mail also have `envelopes(source)`, which yields headers only, and may have
`letters(source, options)`, which yields messages that are not read yet; those of
messages signed with names have `people(source)`, those of tables `names(source)` and
`columns(source, mapping)`.

`recognises(source)` is for `import auto`: where an importer would take any file of a
common type, it says whether this one is likely meant for it. Without it, what
`sources` wants is what it recognises.
"""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from personal_store.columns import Columns
from personal_store.errors import UnknownImporterError
from personal_store.letters import Letter
from personal_store.mail import Mail
from personal_store.records import Item, ReadOptions
from personal_store.sources import Source
from personal_store.talks import People

_COMMON = " maildir emlx mbox eml lamp jsonl csv markdown docx odt text "
"""Importers of formats that many programs write, the more specific first."""


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


def by_specificity() -> list[str]:
    """All names, those first that know their files by more than a common suffix."""
    return sorted(available(), key=lambda name: (_COMMON.find(f" {name} "), name))


def recognises(importer: Importer, source: Source) -> bool:
    """Whether an importer takes a source that nobody gave to it by name."""
    asked: Callable[[Source], bool] = getattr(importer, "recognises", lambda _: True)
    return asked(source)


def available() -> list[str]:
    """The names of all importers."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Importer:
    """The importer of this name."""
    if name not in available():
        raise UnknownImporterError(
            f"There is no importer '{name}'. There are: {', '.join(available())}."
        )
    return cast(Importer, import_module(f"{__name__}.{name}"))
