"""The user's past writing: imported, cleaned, searchable, on this device only.

Stands alone: imports none of our other packages. Opens no connection, but for
`importers/imap.py` when the person asks for mail from a server.
"""

from personal_store.errors import (
    SourceError,
    StoreError,
    StoreTooNewError,
    UnknownImporterError,
)
from personal_store.importing import import_source
from personal_store.records import (
    Author,
    Document,
    ImportFailure,
    ImportReport,
    Passage,
    Record,
)
from personal_store.store import Store

__all__ = [
    "Author",
    "Document",
    "ImportFailure",
    "ImportReport",
    "Passage",
    "Record",
    "SourceError",
    "Store",
    "StoreError",
    "StoreTooNewError",
    "UnknownImporterError",
    "import_source",
]
