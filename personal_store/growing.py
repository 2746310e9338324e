"""Sources that only ever grow: how far earlier imports have read them."""

from sqlite_utils import Database

from personal_store.files import Source
from personal_store.writing import told_as


def read_before(db: Database, source: Source, me: frozenset[str], options: str) -> int:
    """The furthest place that any run over the same source has committed, told alike.

    0 for an ordinary source: there a run after one that ended begins anew, for the
    source may have changed anywhere.
    """
    if not source.appends:
        return 0
    row = db.execute(
        """SELECT coalesce(max(position), 0) FROM import_run
           WHERE place = ? AND fingerprint = ? AND options = ?""",
        [source.place, source.fingerprint(), told_as(options, me)],
    )
    return int(row.fetchone()[0])
