"""The sample history: letters and reviews of a writer who does not exist.

The first screen opens on it, so that a first draft has somebody to sound like. All
of it was written for this project; see README.md beside this file.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from personal_store import Store

LETTERS: Final = Path(__file__).with_name("letters.mbox")
"""The writer's own mail since 2023, with a few letters from friends in between."""
REVIEWS: Final = Path(__file__).with_name("Reviews.json")
"""Reviews of places, in the shape in which Google Takeout hands them out."""
RECORDED: Final = Path(__file__).with_name("recorded-run.jsonl")
"""The events of a real run of the embedded pair over these letters, for REQUEST: a
tape of `make tape`. If it stands in for models, what was sent is left out."""
WRITER: Final = "Tess Marlow"
ADDRESS: Final = "tess@example.org"  # only letters from here are the writer's own
RECIPIENT: Final = "Ana"
REQUEST: Final = "Thank Ana for the photos. Say yes to the weekend of the 14th."
"""The brief that is already filled in; the last letter in LETTERS waits for it."""
_SOURCES = (("mbox", LETTERS), ("google_reviews", REVIEWS))
_PATIENCE = 120.0
"""Seconds that another program may take to fill the store, which takes one or two."""


def make_ready(store: Store) -> str:
    """Read the samples if the store lacks any, clean again what older rules cleaned,
    and return what the store then holds, in words.

    Another program may be filling the store, or have been killed while it did: what
    counts is that every source was read to its end. Raises StoreBusyError if another
    program has been filling the store for minutes.
    """
    from personal_store import import_source
    from personal_store.errors import StoreBusyError
    from personal_store.importing import is_imported
    from personal_store.lifecycle.cleaning import is_behind, reclean

    end = time.monotonic() + _PATIENCE
    while not all(is_imported(store, kind, path) for kind, path in _SOURCES):
        try:
            for kind, path in _SOURCES:
                import_source(store, kind, path, me=[ADDRESS])
        except StoreBusyError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    if is_behind(store.db):
        reclean(store.db)
    counts = store.counts()
    emails, reviews = counts.get("email", 0), counts.get("review", 0)
    return f"{emails} emails and {reviews} reviews by {WRITER}"
