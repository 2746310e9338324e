"""How far earlier imports have read a source."""

from sqlite_utils import Database

from personal_store.files.files import Source
from personal_store.lifecycle.writing import told_as


def read_before(db: Database, source: Source, me: frozenset[str], options: str) -> int:
    """The furthest place that any run over a source that only ever grows has
    committed, told alike.

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


def ended_before(db: Database, source: Source) -> bool:
    """Whether an import has read a source of this content to its end, wherever the
    file lay then."""
    row = db.execute(
        "SELECT 1 FROM import_run WHERE ended IS NOT NULL AND size = ?"
        " AND fingerprint = ? LIMIT 1",
        [source.size, source.fingerprint()],
    )
    return row.fetchone() is not None
