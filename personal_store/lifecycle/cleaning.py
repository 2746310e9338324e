"""Mail that is cleaned after it was stored.

Received mail waits until its text is wanted: it is searched apart, as something to
answer, never as style. Own mail is cleaned again when the rules have become better, and
compared with the messages it answers once these are stored too.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from personal_store.cleaning.cleaning import (
    VERSION,
    Cleaned,
    clean_raw,
    without_parents,
)
from personal_store.connection import immediate
from personal_store.lifecycle.forgetting import forgotten_among, take_out
from personal_store.lifecycle.writing import body_of, clean_bodies, newest, waiting
from personal_store.reading.letters import MAX_STORED
from personal_store.records import OWN, UNREAD, Author, ProgressCallback, fingerprint
from personal_store.search.index import Index
from personal_store.search.tables import (
    RECEIVED,
    count_change,
    received_upto,
    refresh,
    refresh_in,
    set_received_upto,
)

BATCH = 200
_AT_ONCE = 500
_GENERATIONS = 4
"""How many ancestors of a mail are compared: a quote holds older quotes."""
_OWN_MAILS = f"kind = 'email' AND author IN {tuple(map(int, OWN))}"


def received_index(db: Database, progress: ProgressCallback | None = None) -> Index:
    """Received texts, ready to be searched; those that came since the last time are
    cleaned and indexed first, in steps that each are kept."""
    while True:
        end = newest(db)
        if received_upto(db) >= end:
            break
        with immediate(db):
            rows = db.execute(
                "SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?",
                [received_upto(db), _AT_ONCE],
            )
            some = [row[0] for row in rows]
            last = some[-1] if some else received_upto(db)
            set_received_upto(db, last)
            clean_waiting(db, some)
            refresh_in(db, RECEIVED, some)
        if progress is not None:
            progress(last, end)
        if not some:
            break
    return Index(db, RECEIVED)


def clean_waiting(db: Database, ids: Iterable[int]) -> None:
    """Clean those of these records that wait, within a transaction of the caller.

    A text whose words were forgotten before is deleted again.
    """
    cleaned = clean_bodies(db, ids)
    take_out(db, forgotten_among(db, cleaned))


def clean_all_waiting(
    db: Database,
    among: Sequence[int] | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Clean all that wait, or those of these records, in steps that each are kept."""
    ids = waiting(db, among)
    for at in range(0, len(ids), _AT_ONCE):
        some = ids[at : at + _AT_ONCE]
        with immediate(db):
            clean_waiting(db, some)
            refresh(db, some)
        if progress is not None:
            progress(at + len(some), len(ids))


@dataclass(frozen=True, slots=True)
class Recleaned:
    """Counts of a second cleaning."""

    looked_at: int
    changed: int
    without_raw: int
    """Mails of older rules whose body is not kept: only an import cleans them again."""
    sources: tuple[tuple[str, str], ...]
    """(kind, path) of the imports that would; only those whose files still exist."""


def is_behind(db: Database) -> bool:
    """Whether older rules made the text of an own mail.

    `reclean` says what to import again where the body was not kept.
    """
    row = db.execute(
        f"SELECT 1 FROM record WHERE {_OWN_MAILS} "  # noqa: S608
        f"AND cleaning < {VERSION} LIMIT 1"
    ).fetchone()
    return row is not None


def reclean(
    db: Database,
    *,
    everything: bool = False,
    progress: ProgressCallback | None = None,
) -> Recleaned:
    """Apply the present rules to texts that older rules made; to all if asked to.

    In batches, each a transaction: it can be stopped and goes on where it was.
    """
    older = "" if everything else f" AND cleaning < {VERSION}"
    ids = [
        row[0]
        for row in db.execute(
            f"SELECT id FROM record JOIN raw ON record_id = id "  # noqa: S608
            f"WHERE {_OWN_MAILS}{older} ORDER BY id"
        )
    ]
    changed = _rewrite(db, ids, _reclean_one, progress) + compare_threads(db)
    lost = db.execute(
        f"""SELECT source_id, count(*) FROM record LEFT JOIN raw ON record_id = id
            WHERE {_OWN_MAILS} AND cleaning < {VERSION} AND record_id IS NULL
            GROUP BY source_id"""  # noqa: S608
    ).fetchall()
    places = [
        (kind, place)
        for source_id, _ in lost
        for kind, place in db.execute(
            """SELECT DISTINCT kind, place FROM import_run JOIN source
               ON source.id = source_id WHERE source_id = ?""",
            [source_id],
        )
    ]
    there = ((kind, place.partition("!")[0]) for kind, place in places)
    sources = tuple(dict.fromkeys(one for one in there if Path(one[1]).exists()))
    return Recleaned(len(ids), changed, sum(n for _, n in lost), sources)


def compare_threads(db: Database, after: int = 0) -> int:
    """Cut from own mails what the messages they answer hold word for word.

    For mails that were stored before their parent was, and for import, which reads one
    message at a time. Only pairs with a record of a larger id than `after`. Returns how
    many texts changed.
    """
    ids = [
        row[0]
        for row in db.execute(
            f"""SELECT id FROM record WHERE {_OWN_MAILS} AND cleaning = {VERSION}
                AND reply_to <> '' AND EXISTS (SELECT 1 FROM record AS parent
                    WHERE parent.key > 'mid:' || record.reply_to || ':'
                    AND parent.key < 'mid:' || record.reply_to || ';'
                    AND (parent.id > ? OR record.id > ?))
                ORDER BY id""",  # noqa: S608
            [after, after],
        )
    ]
    return _rewrite(db, ids, _compare_one)


def _rewrite(
    db: Database,
    ids: Sequence[int],
    rewrite: Callable[[Database, int], bool],
    progress: ProgressCallback | None = None,
) -> int:
    """Have these records rewritten in batches, each a transaction; how many changed."""
    changed = 0
    for at in range(0, len(ids), BATCH):
        with immediate(db):
            batch = [one for one in ids[at : at + BATCH] if rewrite(db, one)]
            refresh(db, batch)
            if batch:
                count_change(db)
        changed += len(batch)
        if progress is not None:
            progress(min(at + BATCH, len(ids)), len(ids))
    return changed


def _reclean_one(db: Database, record_id: int) -> bool:
    raw = body_of(db, record_id)
    row = _written(db, record_id)
    if raw is None or row is None or row[3] > VERSION + 1:
        return False  # forgotten meanwhile, or read by newer rules
    return _write(db, record_id, clean_raw(raw), row)


def _compare_one(db: Database, record_id: int) -> bool:
    row = _written(db, record_id)
    if row is None or row[3] != VERSION:
        return False
    return _write(db, record_id, Cleaned(row[5], bool(row[6])), row)


def _written(db: Database, record_id: int) -> tuple[Any, ...] | None:
    """Title, rating, fingerprint, rules, reply_to, text and whether it was trimmed."""
    found = db.execute(
        """SELECT title, rating, body_sha, cleaning, reply_to, body, trimmed
           FROM record WHERE id = ?""",
        [record_id],
    ).fetchone()
    return None if found is None else tuple(found)


def _write(
    db: Database, record_id: int, cleaned: Cleaned, row: tuple[Any, ...]
) -> bool:
    """Store a text, without what its thread holds; whether it reads differently."""
    title, rating, before, _, reply_to, *_ = row
    own = without_parents(cleaned, _parents(db, reply_to))
    version = VERSION + (own is not cleaned)
    text = own.text[:MAX_STORED]
    sha = fingerprint(title, rating, text)
    author = Author.MIXED if own.trimmed else Author.ME
    db.execute(
        """UPDATE record SET body = ?, body_sha = ?, trimmed = ?, author = ?,
               cleaning = ? WHERE id = ?""",
        [text, sha, own.trimmed, author, version, record_id],
    )
    return bool(sha != before)


def _parents(db: Database, reply_to: str) -> list[str]:
    """The texts above a message in its thread, the nearest first."""
    texts = []
    for _ in range(_GENERATIONS):
        row = reply_to and _answered(db, reply_to)
        if row and row[2] == UNREAD:
            clean_waiting(db, [row[3]])
            row = _answered(db, reply_to)
        if not row:
            break
        texts.append(row[0])
        reply_to = row[1]
    return texts


def _answered(db: Database, reply_to: str) -> tuple[Any, ...] | None:
    """Text, reply_to, rules and id of the message with this identifier."""
    found = db.execute(
        "SELECT body, reply_to, cleaning, id FROM record WHERE key > ? AND key < ?",
        [f"mid:{reply_to}:", f"mid:{reply_to};"],
    ).fetchone()
    return None if found is None else tuple(found)
