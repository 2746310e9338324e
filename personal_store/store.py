"""The store file: opening it, asking it. What is written to it is in writing.py."""

import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlite_utils import Database

from personal_store.errors import StoreError
from personal_store.migrations import migrate
from personal_store.records import Author, Passage, Record, moment
from personal_store.retrieval import Corpus, CorpusCache, Entry, Hit, Wanted
from personal_store.tokens import tokens
from personal_store.writing import add_identities

PATIENCE = 30
"""Seconds to wait for another process that is writing."""

_PRAGMAS = (
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)
_PASSAGE = """
    SELECT record.id, record.kind, recipient, title, body, sent_at,
           source.kind || ': ' || source.label AS source
    FROM doc JOIN record USING (id) JOIN source ON source.id = record.source_id
    WHERE record.id = ?
"""
_RECORDS = """
    SELECT record.*, source.kind || ': ' || source.label AS source,
           (SELECT json_group_array(label) FROM record_label
            WHERE record_id = record.id) AS labels
    FROM record JOIN source ON source.id = record.source_id
    ORDER BY record.id
"""

_corpora = CorpusCache()


class Store:
    """One person's past writing. Belongs to the thread that opened it.

    Other threads open the same path for themselves: reading never waits, and what is
    costly to build is shared by all of them.
    """

    def __init__(self, db: Database, path: Path) -> None:
        self.db = db
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store in this file, made if need be, for its owner's eyes only."""
        try:
            _make_private(path)
            return cls(_connect(path), path)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"The store {path} cannot be opened: {error}.") from error

    def close(self) -> None:
        """Let the file go."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """Own texts that share telling words with the query, best first.

        Texts of the same kind and to the same recipient are preferred, not required.
        Nothing is returned when nothing matches: see `recent`.
        """
        wanted = Wanted(limit, kind, recipient, excluded)
        return self._passages(self.corpus().search(tokens(query), wanted))

    def recent(
        self,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """The newest own texts, those to the same recipient and of this kind first."""
        return self._passages(
            self.corpus().recent(Wanted(limit, kind, recipient, excluded))
        )

    def passage(self, record_id: int) -> Passage | None:
        """One own text, whole; None if there is none with this id."""
        passages = self._passages([Hit(record_id, 0.0, {})])
        return passages[0] if passages else None

    def records(self) -> Iterator[Record]:
        """Everything stored, texts of others included, in the order of import."""
        for row in self._rows(_RECORDS):
            yield _record(row)

    def counts(self) -> dict[str, int]:
        """Own texts per kind, then 'own', 'received' and 'words' in total."""
        rows = self.db.execute(
            "SELECT kind, count(*) FROM doc JOIN record USING (id) GROUP BY kind"
        )
        counts: dict[str, int] = dict(rows.fetchall())
        own, words = self._one("SELECT count(*), coalesce(sum(n), 0) FROM doc")
        (stored,) = self._one("SELECT count(*) FROM record")
        return counts | {"own": own, "received": stored - own, "words": words}

    def identities(self) -> list[str]:
        """The addresses that are the owner's."""
        rows = self.db.execute("SELECT address FROM identity ORDER BY address")
        return [address for (address,) in rows]

    def add_identities(self, addresses: Sequence[str], why: str = "told so") -> int:
        """Say that these addresses are the owner's, and judge all stored mail again.

        Returns how many stored texts turned out to be own.
        """
        return add_identities(self.db, addresses, why)

    def corpus(self) -> Corpus:
        """What can be searched, as of now."""
        state = dict(self.db.execute("SELECT name, value FROM state").fetchall())
        return _corpora.get(state["store"], int(state["changes"]), self._read_corpus)

    def _read_corpus(self) -> Corpus:
        rows = self.db.execute(
            """SELECT id, kind, recipient, recipient_address, sent_at, tok
               FROM doc JOIN record USING (id) ORDER BY id"""
        )
        return Corpus(
            [
                Entry(record_id, kind, name, address, sent_at, terms.split())
                for record_id, kind, name, address, sent_at, terms in rows
            ]
        )

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """The texts of the hits, in their order; those gone meanwhile left out."""
        return [
            _passage(row, hit) for hit in hits for row in self._rows(_PASSAGE, [hit.id])
        ]

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        cursor = self.db.execute(sql, list(values))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def _one(self, sql: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.db.execute(sql).fetchone()
        return row


def _passage(row: dict[str, Any], hit: Hit) -> Passage:
    return Passage(
        record_id=row["id"],
        kind=row["kind"],
        recipient=row["recipient"],
        subject=row["title"],
        text=row["body"],
        date=moment(row["sent_at"]),
        score=hit.score,
        score_parts=hit.parts,
        source=row["source"],
    )


def _record(row: dict[str, Any]) -> Record:
    return Record(
        id=row["id"],
        source=row["source"],
        key=row["key"],
        kind=row["kind"],
        title=row["title"],
        text=row["body"],
        recipient=row["recipient"],
        recipient_address=row["recipient_address"],
        sender=row["sender"],
        sent_at=row["sent_at"],
        rating=row["rating"],
        thread=row["thread"],
        reply_to=row["reply_to"],
        author=Author(row["author"]),
        cleaning=row["cleaning"],
        labels=tuple(json.loads(row["labels"])),
    )


def _make_private(path: Path) -> None:
    """Folder 0700 where we make it, file 0600; SQLite gives -wal and -shm the same."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.close(handle)
    path.chmod(0o600)


def _connect(path: Path) -> Database:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    db = Database(connection, execute_plugins=False)
    try:
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}")
        _use_wal(db)
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: Database) -> None:
    """Switch to the write-ahead log; SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + PATIENCE
    while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
