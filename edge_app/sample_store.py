"""The sample letters in a store of their own."""

from __future__ import annotations

from edge_app import sample
from personal_store import Store, import_source
from personal_store.recleaning import is_behind, reclean


def make_ready(store: Store) -> None:
    """Read the samples if the store has none; those that older rules cleaned are
    cleaned again."""
    if not store.counts()["own"]:
        fill(store)
    elif is_behind(store.db):
        reclean(store.db)


def fill(store: Store) -> str:
    """Read the sample letters and reviews; what that came to, in words."""
    for kind, path in (("mbox", sample.LETTERS), ("google_reviews", sample.REVIEWS)):
        import_source(store, kind, path, me=[sample.ADDRESS])
    counts = store.counts()
    emails, reviews = counts.get("email", 0), counts.get("review", 0)
    return f"{emails} emails and {reviews} reviews by {sample.WRITER}"
