"""Texts searched in the file: an index finds the best few, rank_bm25 scores them.

A store of many texts is not read into memory. BM25 of all texts is computed from what
the file says of the query's words (postings.py); the best are read and get the
package's own scores, which are those that they would have among all (scoring.py).
"""

import json
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from personal_store.search.derived import Texts
from personal_store.search.postings import (
    document_frequencies,
    read,
    read_lengths,
    spread,
)
from personal_store.search.ranking import (
    Entry,
    Hit,
    Wanted,
    is_to,
    newest_first,
    ranked,
)
from personal_store.search.retrieval import explained
from personal_store.search.scoring import (
    Scorer,
    Statistics,
    average_idf,
    idf_of,
    norms,
    share,
)

EXHAUSTIVE = 500
"""Up to so many texts, a search in memory takes no longer, once it has read them: the
log has the times of both."""
_PRAGMAS = ("cache_size = -32000", "mmap_size = 268435456")
"""A search reads rows of many words, twice. Set here, as imports do without."""
_SLACK = 1e-5
"""How much the first scores, of 32 bits, may differ from those of rank_bm25."""
_RECENT = 500
"""Newest texts that are looked at where none is asked for by its words."""


class Index:
    """The own or the received texts of an open store, searched in its file."""

    def __init__(self, db: Database, texts: Texts) -> None:
        self._db = db
        self._texts = texts
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}")

    def __len__(self) -> int:
        return self._totals()[0]

    def search(self, query: Sequence[str], wanted: Wanted) -> list[Hit]:
        """The best entries for these terms, best first; only those that match."""
        statistics = self._statistics(query)
        terms = statistics.asked(query, distinctive_only=wanted.distinctive_only)
        rough = self._scores(terms, statistics)
        if wanted.only is not None:
            only = np.fromiter(wanted.only, np.int64, len(wanted.only))
            rough[np.isin(np.arange(len(rough)), only, invert=True)] = 0
        excluded = np.fromiter(wanted.excluded, np.int64, len(wanted.excluded))
        rough[excluded[excluded < len(rough)]] = 0
        ids = np.flatnonzero(rough > 0)  # in the order of import
        most = wanted.candidates
        if len(ids) > most:  # all that can be among the best
            least = np.partition(rough[ids], -most)[-most]
            ids = ids[rough[ids] >= least * (1 - _SLACK)]
        entries = self._entries([int(i) for i in ids[-2 * most :]])
        scorer = Scorer([entry.terms for entry in entries], terms)
        scores = scorer.scores(terms, statistics)
        row = self._db.execute(
            f"""SELECT sent_at FROM record JOIN {self._texts.name} USING (id)
                WHERE sent_at IS NOT NULL ORDER BY sent_at DESC LIMIT 1"""  # noqa: S608
        ).fetchone()
        found = ranked(entries, scores, wanted, int(row[0]) if row else 0)
        return explained(found, scorer, terms, statistics)

    def recent(self, wanted: Wanted) -> list[Hit]:
        """The newest entries; same recipient and same kind before all others."""
        self._db.conn.create_function("is_to", 3, is_to, deterministic=True)
        rows = self._db.execute(
            f"""SELECT id FROM {self._texts.name} JOIN record USING (id)
                WHERE id NOT IN (SELECT value FROM json_each(?))
                AND (? OR id IN (SELECT value FROM json_each(?)))
                ORDER BY NOT is_to(?, recipient, recipient_address), kind IS NOT ?,
                sent_at IS NULL, sent_at DESC, id DESC LIMIT ?""",  # noqa: S608
            [
                _listed(wanted.excluded),
                wanted.only is None,
                _listed(wanted.only or ()),
                wanted.recipient,
                wanted.kind,
                _RECENT + wanted.limit,
            ],
        )
        return newest_first(self._entries([row[0] for row in rows]), wanted)

    def kinds(self) -> dict[int, str]:
        """The kind of each text by its id, in the order of import."""
        return dict(
            self._db.execute(
                f"""SELECT id, kind FROM {self._texts.name} JOIN record USING (id)
                    ORDER BY id"""  # noqa: S608
            ).fetchall()
        )

    def matching(self, query: Sequence[str]) -> dict[int, float]:
        """BM25 by id of every text that shares distinctive words, however many."""
        statistics = self._statistics(query)
        scores = self._scores(statistics.distinctive_only(query), statistics)
        ids = np.flatnonzero(scores > 0)
        return dict(zip(ids.tolist(), scores[ids].tolist(), strict=True))

    def _scores(self, terms: list[str], statistics: Statistics) -> NDArray[np.float32]:
        """BM25 of every text by its id (highest + 1,): records are numbered as they
        come, so that few numbers are of none."""
        name = self._texts.name
        lengths = read_lengths(self._db, name).astype(np.float32)
        scores = np.zeros_like(lengths)
        if not terms:
            return scores
        against = norms(lengths, statistics)
        for term, idf in idf_of(terms, statistics).items():
            for found in read(self._db, name, term):
                said = share(found.counts, against[found.ids])
                said *= idf
                scores[found.ids] += said
        return scores

    def _entries(self, ids: Sequence[int]) -> list[Entry]:
        """The entries with these ids."""
        rows = self._db.execute(
            f"""SELECT doc.id, kind, recipient, recipient_address, sent_at, tok
                FROM json_each(?) AS wanted
                CROSS JOIN {self._texts.name} AS doc ON doc.id = wanted.value
                CROSS JOIN record ON record.id = doc.id""",  # noqa: S608
            [_listed(ids)],
        )
        return [
            Entry(record_id, kind, name, address, sent_at, terms.split())
            for record_id, kind, name, address, sent_at, terms in rows
        ]

    def _statistics(self, query: Sequence[str]) -> Statistics:
        counts = document_frequencies(self._db, self._texts.name, query)
        texts, words = self._totals()
        mean = average_idf(texts, spread(self._db, self._texts.name))
        return Statistics(texts, words, counts, mean)

    def _totals(self) -> tuple[int, int]:
        row = self._db.execute(
            "SELECT texts, words FROM total WHERE name = ?", [self._texts.name]
        ).fetchone()
        return int(row[0]), int(row[1])


def _listed(ids: Collection[int]) -> str:
    return json.dumps(list(ids))
