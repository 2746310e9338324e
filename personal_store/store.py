"""The store: opening it and asking it. lifecycle/writing.py writes to it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from sqlite_utils import Database

from personal_store.connection import connect_private
from personal_store.lifecycle import forgetting
from personal_store.lifecycle import identities as owner
from personal_store.lifecycle.cleaning import clean_all_waiting, received_index
from personal_store.lifecycle.overview import Which
from personal_store.lifecycle.writing import keys_of, message_id, text_of
from personal_store.records import (
    OWN,
    UNREAD,
    Author,
    Passage,
    ProgressCallback,
    Record,
    moment,
)
from personal_store.search.index import Asked, Entry, Hit, Index, Wanted
from personal_store.search.tables import (
    BY_OTHERS,
    FINDABLE,
    MINE,
    OWN_TEXTS,
    RECEIVED,
    RECEIVED_TEXT,
)
from personal_store.text.greetings import is_to
from personal_store.text.tokens import tokens

_PASSAGE = """
    SELECT record.id AS record_id, record.kind, recipient, title AS subject,
           body AS text, sent_at, source.kind || ': ' || source.label AS source,
           sender, sender_name, answer_to, author
    FROM record JOIN source ON source.id = record.source_id
    WHERE record.id = ? AND
"""
_OWN = _PASSAGE + FINDABLE
_WRITTEN = f"{_PASSAGE} {MINE} AND trashed_at IS NULL"
_RECEIVED = _PASSAGE + RECEIVED_TEXT
_RECORDS = f"""
    SELECT record.id, source.kind || ': ' || source.label AS source, key, record.kind,
           title, body AS text, recipient, recipient_address, sender, sent_at, rating,
           thread, reply_to, author, cleaning,
           (SELECT json_group_array(label) FROM record_label
            WHERE record_id = record.id) AS labels,
           (SELECT data FROM raw WHERE record_id = record.id AND cleaning = {UNREAD}
           ) AS packed
    FROM record JOIN source ON source.id = record.source_id
    WHERE trashed_at IS NULL ORDER BY record.id
"""  # noqa: S608


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
        """The store in this file, made if need be, for its owner's eyes only.

        An encrypted one is opened with the key that `keys.find` finds. What has lain
        in the trash for long enough is forgotten now.
        """
        db = connect_private(path)
        forgetting.empty_if_due(db, path)
        return cls(db, path)

    def close(self) -> None:
        """Let the file go."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
        which: Which | None = None,
        distinctive_only: bool = False,
    ) -> list[Passage]:
        """Own texts that share words with the query, best first by BM25.

        Texts of the same kind and to the same recipient are preferred, not required;
        `which` is required. With `distinctive_only`, words that stand in more than half
        of the texts are left out. Nothing is returned if nothing matches: see `recent`.
        """
        only = self._only(which, FINDABLE)
        wanted = Wanted(limit, kind, recipient, excluded, only, distinctive_only)
        return self._passages(self._index().search(tokens(query), wanted))

    def find(
        self,
        typed: str,
        *,
        limit: int = 5,
        recipient: str | None = None,
        which: Which | None = None,
        received_ones: bool = False,
        progress: ProgressCallback | None = None,
    ) -> list[Passage]:
        """What a person looks for, best first: own texts, or texts by others, which
        can be answered and are never imitated. `typed` may hold "phrases" and -words.

        Words of at most half of the texts rank them; if these find nothing, all words
        do. The first search of received texts after an import indexes them.
        """
        asked = Asked.of(typed)
        texts, sql = (RECEIVED, _RECEIVED) if received_ones else (OWN_TEXTS, _OWN)
        index = received_index(self.db, progress) if received_ones else self._index()
        only = self._only(which, texts.condition)
        fitting = asked.fitting(self.db, texts)
        if fitting is not None:
            only = fitting if only is None else only & fitting
        wanted = Wanted(limit, recipient=recipient, only=only, distinctive_only=True)
        hits = index.search(asked.terms, wanted)
        if not hits:
            hits = index.search(asked.terms, replace(wanted, distinctive_only=False))
        return self._passages(hits, sql)

    def recent(
        self,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """The newest own texts, those to the same recipient and of this kind first."""
        wanted = Wanted(limit, kind, recipient, excluded)
        return self._passages(self._index().recent(wanted))

    def kinds(self) -> Mapping[int, str]:
        """The kind of each own text by its id, in the order of import."""
        return self._index().kinds()

    def matching(self, query: str) -> Mapping[int, float]:
        """BM25 by id of every own text that shares distinctive words with it."""
        return self._index().matching(tokens(query))

    def passage(self, record_id: int, *, excluded: bool = False) -> Passage | None:
        """One own text, whole; None for another id, and for one that is excluded
        unless asked for."""
        passages = self._passages([Hit(record_id)], _WRITTEN if excluded else _OWN)
        return passages[0] if passages else None

    def received(self, record_id: int) -> Passage | None:
        """One text by somebody else, whole; None for another id."""
        clean_all_waiting(self.db, [record_id])
        passages = self._passages([Hit(record_id)], _RECEIVED)
        return passages[0] if passages else None

    def newest_received(
        self, limit: int, senders: Collection[str] | None = None
    ) -> list[Passage]:
        """Texts by others, the newest first; only by these addresses if any are given.
        The first call after an import indexes them, as `find` does."""
        received_index(self.db)
        rows = self.db.execute(
            f"""SELECT id FROM record WHERE {RECEIVED_TEXT} AND
                (? IS NULL OR sender IN (SELECT value FROM json_each(?)))
                ORDER BY sent_at DESC, id DESC LIMIT ?""",  # noqa: S608
            [*[None if senders is None else json.dumps(list(senders))] * 2, limit],
        )
        return self._passages([Hit(found) for (found,) in rows], _RECEIVED)

    def waiting(self, limit: int) -> list[Passage]:
        """Mails by others that no own mail answers, neither by their identifier nor as
        a later one of their thread: the newest first, and before all others those by
        people to whom the owner has written. Indexes new ones, as `find` does."""
        received_index(self.db)
        named, later, known = set[str](), dict[str, int](), set[str]()
        for answered, thread, key, at, whom in self.db.execute(
            f"""SELECT reply_to, thread, key, coalesce(sent_at, 0), recipient_address
                FROM record WHERE {MINE} AND kind = 'email'"""  # noqa: S608
        ):
            first = thread or message_id(key)
            named.add(answered)
            known.add(whom)
            later[first] = max(at, later.get(first, 0))
        found: tuple[list[Hit], list[Hit]] = [], []
        for record_id, key, thread, at, sender in self.db.execute(
            f"""SELECT id, key, thread, coalesce(sent_at, 0), sender FROM record
                WHERE {RECEIVED_TEXT} AND kind = 'email'
                ORDER BY sent_at DESC, id DESC"""  # noqa: S608
        ):
            name = message_id(key)
            if not (name and name in named) and later.get(thread or name, -1) < at:
                found[sender not in known].append(Hit(record_id))
                if len(found[0]) == limit:
                    break
        return self._passages([*found[0], *found[1]][:limit], _RECEIVED)

    def thread(self, record_id: int) -> list[Passage]:
        """Own and received texts of the thread in which this one stands, whole, the
        oldest first; the first mail that a mail names identifies its thread."""
        row = self.db.execute(
            "SELECT key, thread FROM record WHERE id = ?", [record_id]
        ).fetchone()
        if row is None:
            return []
        key, thread = row
        first = thread or message_id(key)
        rows = self.db.execute(
            """SELECT id FROM record WHERE id = ? OR (? <> '' AND (thread = ? OR
               (key >= ? AND key < ?))) ORDER BY sent_at, id LIMIT 100""",
            [record_id, first, first, *keys_of(first)],
        )
        hits = [Hit(found) for (found,) in rows]
        clean_all_waiting(self.db, [hit.id for hit in hits])
        both = self._passages(hits) + self._passages(hits, _RECEIVED)
        texts = {passage.record_id: passage for passage in both}
        return [texts[hit.id] for hit in hits if hit.id in texts]

    def references(self, record_id: int) -> list[str]:
        """The identifiers of a mail and of those that it answers, as they were sent,
        the oldest first and at most 20; empty if it has none."""
        found: list[str] = []
        row = self.db.execute(
            "SELECT key, reply_to FROM record WHERE id = ?", [record_id]
        ).fetchone()
        while row is not None and message_id(row[0]) and len(found) < 20:
            found.append(message_id(row[0]))
            answered = row[1]
            if not answered or answered in found:
                break
            row = self.db.execute(
                "SELECT key, reply_to FROM record WHERE key > ? AND key < ?",
                keys_of(answered),
            ).fetchone()
            if row is None:  # it is known by name alone
                found.append(answered)
        return found[::-1]

    def records(self) -> Iterator[Record]:
        """Everything stored but the trash, texts of others included, in the order of
        import. Nothing is written: received mail that waits is only cleaned here."""
        for row in self._rows(_RECORDS):
            packed = row.pop("packed")
            if packed:
                row["text"] = text_of(packed).text
            row["author"] = Author(row["author"])
            row["labels"] = tuple(json.loads(row["labels"]))
            yield Record(**row)

    def correspondents(self, limit: int = 5_000) -> list[tuple[str, str]]:
        """Names, empty if unknown, and addresses of those to whom a stored text went or
        from whom one came, the latest first, without the owner's addresses."""
        own = set(self.identities())
        rows = self.db.execute(
            """SELECT name, address FROM (
                   SELECT recipient AS name, recipient_address AS address, id
                   FROM record WHERE kind IN ('email', 'message')
                   UNION ALL SELECT sender_name, sender, id FROM record
               ) WHERE name != '' OR address != ''
               GROUP BY name, address ORDER BY max(id) DESC LIMIT ?""",
            (limit,),
        )
        return [(name, address) for name, address in rows if address not in own]

    def written_to(self, recipient: str, limit: int = 20) -> list[Passage]:
        """The newest own mails and messages to this person, as `is_to` judges it."""
        self.db.conn.create_function("is_to", 3, is_to, deterministic=True)
        rows = self.db.execute(
            f"""SELECT id FROM record WHERE {FINDABLE} AND kind IN ('email', 'message')
                AND is_to(?, recipient, recipient_address)
                ORDER BY sent_at DESC, id DESC LIMIT ?""",  # noqa: S608
            [recipient, limit],
        )
        return self._passages([Hit(found) for (found,) in rows])

    def own_address(self, answered: int | None = None) -> str:
        """The owner's address to write a mail from: that to which a received mail went,
        else that of the newest own mail; empty without either."""
        row = self.db.execute(
            f"""SELECT address FROM identity JOIN record ON
                    (record.id = ? AND address = recipient_address)
                    OR ({MINE} AND address = sender)
                WHERE address LIKE '%_@_%' AND kind = 'email'
                ORDER BY record.id = ? DESC, sent_at DESC LIMIT 1""",  # noqa: S608
            [answered, answered],
        ).fetchone()
        return "" if row is None else str(row[0])

    def counts(self) -> dict[str, int]:
        """Own texts per kind, then 'own', 'received' and 'words' in total."""
        rows = self.db.execute(
            "SELECT kind, count(*) FROM doc JOIN record USING (id) GROUP BY kind"
        )
        counts: dict[str, int] = dict(rows.fetchall())
        own, words, received = self.db.execute(
            f"""SELECT count(*), coalesce(sum(n), 0),
                       (SELECT count(*) FROM record WHERE {BY_OTHERS}) FROM doc"""  # noqa: S608
        ).fetchone()
        return counts | {"own": own, "received": received, "words": words}

    def identities(self) -> list[str]:
        """The addresses that are the owner's."""
        return [identity.address for identity in owner.identities(self.db)]

    def add_identities(
        self, addresses: Sequence[str], why: str = owner.BY_OWNER
    ) -> int:
        """Say that these addresses are the owner's, and judge all stored mail again.

        Returns how many stored texts turned out to be own.
        """
        return owner.add_identities(self.db, addresses, why)

    def entries(self) -> list[Entry]:
        """All own texts as their terms, in the order of import."""
        return self._index().entries()

    def _index(self) -> Index:
        return Index(self.db, OWN_TEXTS)

    def _only(self, which: Which | None, state: str) -> frozenset[int] | None:
        if which is None or which.says_nothing():
            return None
        return frozenset(which.find(self.db, state=state))

    def _passages(self, hits: Sequence[Hit], sql: str = _OWN) -> list[Passage]:
        """The texts of the hits, in their order; those gone meanwhile left out."""
        found = []
        for hit in hits:
            for row in self._rows(sql, [hit.id]):
                sent_at, author = row.pop("sent_at"), row.pop("author")
                found.append(
                    Passage(
                        **row,
                        date=moment(sent_at),
                        own=author in OWN,
                        score=hit.score,
                        score_parts=dict(hit.parts),
                        terms=dict(hit.terms),
                    )
                )
        return found

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        cursor = self.db.execute(sql, list(values))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))
