"""The sample letters in a store of their own."""

from __future__ import annotations

import time

from edge_app import sample
from personal_store import Store, import_source
from personal_store.errors import StoreBusyError
from personal_store.ingest.importing import is_imported
from personal_store.lifecycle.late_cleaning import is_behind, reclean

_SOURCES = (("mbox", sample.LETTERS), ("google_reviews", sample.REVIEWS))
_PATIENCE = 120.0
"""Seconds that another program may take to fill the store, which takes one or two."""


def make_ready(store: Store) -> str:
    """Read the samples if the store lacks any; those that older rules cleaned are
    cleaned again. What the store then holds, in words.

    Another program may be filling the store, or have been killed while it did: what
    counts is that every source was read to its end.

    Raises:
        StoreBusyError: another program has been filling the store for minutes.
    """
    end = time.monotonic() + _PATIENCE
    while not all(is_imported(store, kind, path) for kind, path in _SOURCES):
        try:
            for kind, path in _SOURCES:
                import_source(store, kind, path, me=[sample.ADDRESS])
        except StoreBusyError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    if is_behind(store.db):
        reclean(store.db)
    counts = store.counts()
    emails, reviews = counts.get("email", 0), counts.get("review", 0)
    return f"{emails} emails and {reviews} reviews by {sample.WRITER}"
