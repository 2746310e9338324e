"""The sample letters in a store of their own."""

from __future__ import annotations

from edge_app import sample
from personal_store import Store, import_source


def fill(store: Store) -> str:
    """Read the sample letters and reviews; what that came to, in words."""
    for kind, path in (("mbox", sample.LETTERS), ("google_reviews", sample.REVIEWS)):
        import_source(store, kind, path, me=[sample.ADDRESS])
    counts = store.counts()
    emails, reviews = counts.get("email", 0), counts.get("review", 0)
    return f"{emails} emails and {reviews} reviews by {sample.WRITER}"
