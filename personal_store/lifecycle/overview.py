"""What is in a store: which texts a selection means, and counts of all of them."""

import importlib
import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from sqlite_utils import Database

from personal_store.connection import size_of
from personal_store.copies import backup_path, is_encrypted, made_at
from personal_store.lifecycle import tombstones
from personal_store.lifecycle.cleaning import clean_all_waiting, is_behind
from personal_store.lifecycle.forgetting import is_untidy
from personal_store.lifecycle.writing import keeps_bodies
from personal_store.records import ProgressCallback, moment
from personal_store.search.tables import BY_OTHERS, FINDABLE
from personal_store.text.greetings import is_to
from personal_store.text.tokens import tokens

SAMPLE = 1_000  # texts whose language is looked at
_OUTLINE = """
    SELECT record.kind, title, coalesce(nullif(recipient, ''), sender), sent_at,
           source.kind || ': ' || label, body
    FROM record JOIN source ON source.id = source_id WHERE record.id = ?
"""
_BEGINNING = 1_000
_SHORTEST = 20


@dataclass(frozen=True, slots=True)
class Which:
    """Texts that meet every condition that is given."""

    ids: Sequence[int] = ()
    person: str = ""  # to or from whom: an address, or words of a name
    source: str = ""  # A part of 'mbox: letters.mbox'
    kind: str = ""
    since: date | None = None  # the first day, in UTC
    until: date | None = None  # the last day
    words: str = ""  # all of these stand in the subject or the text

    def says_nothing(self) -> bool:
        """Whether no condition is given, so that all texts would be meant."""
        return not any(getattr(self, field.name) for field in fields(self))

    def find(
        self,
        db: Database,
        *,
        state: str = "1",
        progress: ProgressCallback | None = None,
    ) -> list[int]:
        """The ids of the texts meant, in the order of import; `state` is a condition in
        SQL. If words decide, received mail is cleaned first, with calls of `progress`.
        """
        if self.words:
            others = replace(self, words="").find(db, state=state)
            clean_all_waiting(db, others, progress)
        ids = json.dumps([*self.ids]) if self.ids else None
        conditions = {
            "record.id IN (SELECT value FROM json_each(?))": ids,
            "record.kind = ?": self.kind or None,
            "sent_at >= ?": self.since and _midnight(self.since),
            "sent_at < ?": self.until and _midnight(self.until + timedelta(1)),
        }
        given = {sql: value for sql, value in conditions.items() if value is not None}
        text = "title || char(10) || body" if self.words else "''"  # bodies are large
        rows = db.execute(
            f"""SELECT record.id, recipient, recipient_address, sender,
                       source.kind || ': ' || label, {text}
                FROM record JOIN source ON source.id = source_id
                WHERE {" AND ".join([state, *given])} ORDER BY record.id""",  # noqa: S608
            list(given.values()),
        )
        return [row[0] for row in rows if self._fits(*row[1:])]

    def _fits(
        self, name: str, address: str, sender: str, source: str, text: str
    ) -> bool:
        person = self.person
        return (
            (not person or is_to(person, name, address) or is_to(person, "", sender))
            and _fold(self.source) in _fold(source)
            and set(tokens(self.words)) <= set(tokens(text))
        )


@dataclass(frozen=True, slots=True)
class Outline:
    """What is shown of a text before something happens to it."""

    id: int
    kind: str
    title: str
    person: str
    date: datetime | None
    source: str


def outlines(db: Database, ids: Sequence[int]) -> list[Outline]:
    """A line for each of these records."""
    found = []
    for one in ids:
        rows = db.execute(_OUTLINE, [one])
        for kind, title, person, sent_at, source, body in rows:
            heading = title or " ".join(body[:80].split())
            found.append(Outline(one, kind, heading, person, moment(sent_at), source))
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of texts; those by kind, source, year and language are of usable own
    texts."""

    usable: int
    words: int
    kinds: dict[str, int]
    sources: dict[str, int]
    years: dict[str, int]
    languages: dict[str, int] | None
    """Languages of a sample; None if the extra `languages` is missing."""
    received: int
    excluded: int
    trash: int
    forgotten: int
    failed: dict[str, int]  # what could not be read, by reason
    bytes: int
    raw_bytes: int
    keeps_raw: bool
    encrypted: bool
    behind: bool  # whether older rules cleaned an own mail
    untidy: bool  # whether traces of forgotten texts wait to be overwritten
    backup: str  # when the backup was made, in ISO 8601; empty without a backup
    backup_bytes: int


def summarise(db: Database, path: Path) -> Summary:
    """Count what is in a store."""
    usable, words, raw_bytes = db.execute(
        """SELECT count(*), coalesce(sum(n), 0),
                  (SELECT coalesce(sum(length(data)), 0) FROM raw) FROM doc"""
    ).fetchone()
    backup = made_at(path)
    # The last import of each place counts; an earlier one may have gone better.
    failures = db.execute(
        """SELECT reason, count(*) AS times FROM import_error
           WHERE run_id IN (SELECT max(id) FROM import_run GROUP BY place)
           GROUP BY reason ORDER BY times DESC"""
    )
    return Summary(
        usable=usable,
        words=words,
        kinds=_counts(db, "record.kind"),
        sources=_counts(db, "source.kind || ': ' || label"),
        years=_counts(db, "coalesce(strftime('%Y', sent_at, 'unixepoch'), 'undated')"),
        languages=_languages(db),
        received=_number(db, BY_OTHERS),
        excluded=_number(db, "excluded AND trashed_at IS NULL"),
        trash=_number(db, "trashed_at IS NOT NULL"),
        forgotten=tombstones.count(db),
        failed=dict(failures.fetchall()),
        bytes=size_of(path),
        raw_bytes=raw_bytes,
        keeps_raw=keeps_bodies(db),
        encrypted=is_encrypted(path),
        behind=is_behind(db),
        untidy=is_untidy(db),
        backup=backup.isoformat(timespec="seconds") if backup else "",
        backup_bytes=size_of(backup_path(path)),
    )


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _counts(db: Database, what: str) -> dict[str, int]:
    rows = db.execute(
        f"""SELECT {what} AS name, count(*) FROM record
            JOIN source ON source.id = source_id
            WHERE {FINDABLE} GROUP BY name ORDER BY name"""  # noqa: S608
    )
    return dict(rows.fetchall())


def _number(db: Database, condition: str) -> int:
    sql = f"SELECT count(*) FROM record WHERE {condition}"  # noqa: S608
    return int(db.execute(sql).fetchone()[0])


def _languages(db: Database) -> dict[str, int] | None:
    """Languages in a sample that is spread over the store; short texts are left out."""
    try:
        classify = importlib.import_module("py3langid").classify
    except ImportError:
        return None
    texts = db.execute(
        f"""SELECT substr(body, 1, {_BEGINNING}) FROM record
            WHERE {FINDABLE} AND length(body) >= {_SHORTEST}
            AND id % (1 + (SELECT count(*) FROM doc) / {SAMPLE}) = 0"""  # noqa: S608
    )
    found = Counter(str(classify(text)[0]) for (text,) in texts)
    return dict(found.most_common())
