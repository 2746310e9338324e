"""Importers, one source per file; the name of the file is the name of the importer.

An importer has `sources(path)`, which finds what to read or raises SourceError, and
`read(source, options)`, which yields documents, things skipped and failures. Importers
of mail also have `envelopes(source)`, which yields headers only.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from personal_store.errors import UnknownImporterError
from personal_store.mail import Mail
from personal_store.records import Item, ReadOptions
from personal_store.sources import Source


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
