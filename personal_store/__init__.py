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
    from personal_store.ingest.importing import import_source
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
    "Author": "records",
    "BOTH": "importers.formats.service_files",
    "Corpus": "search.retrieval",
    "DAYS": "lifecycle.trash",
    "Discovery": "ingest.discovery",
    "Document": "records",
    "EXHAUSTIVE": "search.index",
    "Entry": "search.ranking",
    "Hit": "search.ranking",
    "ImportFailure": "records",
    "ImportReport": "records",
    "Index": "search.index",
    "KINDS": "records",
    "Mail": "mail.mail",
    "NOBODY": "importers.formats.service_files",
    "OTHERS": "importers.formats.service_files",
    "OWN_TEXTS": "search.derived",
    "Outline": "lifecycle.selectors",
    "Passage": "records",
    "ProgressCallback": "records",
    "Proof": "lifecycle.proof",
    "Record": "records",
    "SAME_TEXT": "search.ranking",
    "Selection": "files.sources",
    "Source": "files.files",
    "SourceError": "errors",
    "Store": "store",
    "StoreBusyError": "errors",
    "StoreError": "errors",
    "StoreLockedError": "errors",
    "StoreTooNewError": "errors",
    "Summary": "lifecycle.summary",
    "TalkImporter": "importers",
    "Traces": "lifecycle.traces",
    "UNTIDY": "lifecycle.forgetting",
    "Unfinished": "ingest.unfinished",
    "UnknownImporterError": "errors",
    "VARIABLE": "database.keys",
    "Wanted": "search.ranking",
    "Which": "lifecycle.selectors",
    "YOURS": "importers.formats.service_files",
    "add_identities": "lifecycle.identities",
    "as_begun": "ingest.unfinished",
    "as_lines": "transfer.exporting",
    "as_mailbox": "transfer.exporting",
    "available": "importers",
    "back_up": "database.copies",
    "backup_path": "database.copies",
    "check": "search.derived",
    "clean_all_waiting": "lifecycle.late_cleaning",
    "clean_mail": "cleaning.cleaning",
    "connect_as_it_is": "database.connecting",
    "discover": "ingest.discovery",
    "discover_in": "ingest.discovery",
    "dismiss": "ingest.unfinished",
    "everything": "files.sources",
    "exclude": "lifecycle.trash",
    "faults": "errors",
    "forget": "lifecycle.forgetting",
    "forget_everything": "lifecycle.forgetting",
    "holds_own_texts": "database.connecting",
    "how_to_add": "extras",
    "how_to_install": "extras",
    "identities": "lifecycle.identities",
    "immediate": "database.transactions",
    "import_source": "ingest.importing",
    "import_sources": "ingest.importing",
    "in_trash": "lifecycle.trash",
    "in_words": "ingest.guards",
    "is_behind": "lifecycle.late_cleaning",
    "is_encrypted": "database.encryption",
    "is_full": "errors",
    "is_imported": "ingest.importing",
    "is_untidy": "lifecycle.forgetting",
    "may_hold_text": "ingest.discovery",
    "merge": "transfer.merging",
    "moment": "records",
    "noted": "ingest.unfinished",
    "only": "files.sources",
    "opened": "files.sources",
    "outlines": "lifecycle.selectors",
    "overlap": "text.tokens",
    "parse_date": "text.dates",
    "part_of": "files.private_files",
    "put_back": "transfer.restoring",
    "put_in_place": "files.private_files",
    "put_into_trash": "lifecycle.trash",
    "read": "lifecycle.raw_bodies",
    "reclean": "lifecycle.late_cleaning",
    "refresh": "search.derived",
    "remove_identities": "lifecycle.identities",
    "restore": "transfer.restoring",
    "shingles": "text.tokens",
    "shred": "files.private_files",
    "size_of": "files.private_files",
    "strangers": "lifecycle.traces",
    "suggestions": "lifecycle.identities",
    "summarise": "lifecycle.summary",
    "sync": "files.private_files",
    "take_out_of_trash": "lifecycle.trash",
    "tidy": "lifecycle.forgetting",
    "tokens": "text.tokens",
    "unfinished": "ingest.unfinished",
    "visible": "cleaning.markup",
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
