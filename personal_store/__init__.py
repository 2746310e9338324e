"""The user's past writing: imported, cleaned, searchable, on this device only.

Stands alone: imports none of our other packages. Opens no connection, but for
`importers/imap.py` when the person asks for mail from a server.

What this package offers is loaded when it is asked for: the processes that only read
mail would otherwise carry the database and the search with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    **dict.fromkeys(("Author", "Document", "ImportFailure"), "records"),
    **dict.fromkeys(("ImportReport", "Passage", "Record"), "records"),
    **dict.fromkeys(("SourceError", "StoreError", "StoreTooNewError"), "errors"),
    "UnknownImporterError": "errors",
    "Store": "store",
    "import_source": "importing",
}
"""Which module each name comes from."""


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
