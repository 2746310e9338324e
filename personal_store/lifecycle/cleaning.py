"""Mail that is cleaned after it was stored.

Received mail waits until its text is wanted: it is searched apart, as something to
answer, never as style. Own mail is cleaned again when the rules have become better, and
compared with the messages it answers once these are stored too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database

from personal_store.cleaning.cleaning import (
    VERSION,
    Cleaned,
    clean_raw,
    without_parents,
)
from personal_store.connection import immediate
from personal_store.lifecycle.forgetting import forgotten_among, take_out
from personal_store.lifecycle.writing import (
    body_of,
    clean_bodies,
    keys_of,
    newest,
    waiting,
)
from personal_store.reading.letters import MAX_STORED
from personal_store.records import Author, ProgressCallback, fingerprint
from personal_store.search.index import Index
from personal_store.search.tables import (
    MINE,
    RECEIVED,
    received_upto,
    refresh,
    refresh_in,
    set_state,
)
from personal_store.states import drop_states, path_of

BATCH = 200
_AT_ONCE = 500
_GENERATIONS = 4
"""How many ancestors of a mail are compared: a quote holds older quotes."""
_OWN_MAILS = f"kind = 'email' AND {MINE}"


def received_index(db: Database, progress: ProgressCallback | None = None) -> Index:
    """Received texts, ready to be searched; those that came since the last time are
    cleaned and indexed first, in steps that each are kept."""
    while received_upto(db) < newest(db):
        with immediate(db):
            rows = db.execute(
                "SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?",
                [received_upto(db), _AT_ONCE],
            )
            some = [row[0] for row in rows]
            set_state(db, "received_upto", max(some, default=received_upto(db)))
            clean_waiting(db, some)
            refresh_in(db, RECEIVED, some)
        if progress is not None:
            progress(received_upto(db), newest(db))
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

    `reclean` says what to import again if the body was not kept.
    """
    older = f"{_OWN_MAILS} AND cleaning < {VERSION}"
    sql = f"SELECT EXISTS (SELECT 1 FROM record WHERE {older})"  # noqa: S608
    return bool(db.execute(sql).fetchone()[0])


def reclean(
    db: Database, *, everything: bool = False, progress: ProgressCallback | None = None
) -> Recleaned:
    """Apply the present rules to texts that older rules made; to all if asked to.

    In batches, each a transaction: it can be stopped and goes on where it was.
    """
    older = "" if everything else f" AND cleaning < {VERSION}"
    rows = db.execute(
        f"SELECT id FROM record JOIN raw ON record_id = id "  # noqa: S608
        f"WHERE {_OWN_MAILS}{older} ORDER BY id"
    )
    ids = [row[0] for row in rows]
    changed = _rewrite(db, ids, progress) + compare_threads(db)
    if changed:
        drop_states(path_of(db))  # they hold the texts as they were
    lacking = f"""FROM record LEFT JOIN raw ON record_id = id
        WHERE {_OWN_MAILS} AND cleaning < {VERSION} AND record_id IS NULL"""
    (without_raw,) = db.execute(f"SELECT count(*) {lacking}").fetchone()
    runs = db.execute(
        f"""SELECT kind, place FROM import_run JOIN source ON source.id = source_id
            WHERE source_id IN (SELECT record.source_id {lacking})
            ORDER BY import_run.id"""  # noqa: S608
    )
    places = dict.fromkeys((kind, place.partition("!")[0]) for kind, place in runs)
    there = tuple(place for place in places if Path(place[1]).exists())
    return Recleaned(len(ids), changed, without_raw, there)


def compare_threads(db: Database, after: int = 0) -> int:
    """Cut from own mails what the messages they answer hold word for word.

    For mails that were stored before their parent was, and for import, which reads one
    message at a time. Only pairs with a record of a larger id than `after`. Returns how
    many texts changed.
    """
    rows = db.execute(
        f"""SELECT id FROM record WHERE {_OWN_MAILS} AND cleaning = {VERSION}
            AND reply_to <> '' AND EXISTS (SELECT 1 FROM record AS parent
                WHERE parent.key > 'mid:' || record.reply_to || ':'
                AND parent.key < 'mid:' || record.reply_to || ';'
                AND (parent.id > ? OR record.id > ?))
            ORDER BY id""",  # noqa: S608
        [after, after],
    )
    return _rewrite(db, [row[0] for row in rows], from_bodies=False)


def _rewrite(
    db: Database,
    ids: Sequence[int],
    progress: ProgressCallback | None = None,
    *,
    from_bodies: bool = True,
) -> int:
    """Rewrite these records in batches, each a transaction; how many changed."""
    changed = 0
    for at in range(0, len(ids), BATCH):
        with immediate(db):
            some = ids[at : at + BATCH]
            batch = [one for one in some if _rewrite_one(db, one, from_bodies)]
            refresh(db, batch)
        changed += len(batch)
        if progress is not None:
            progress(min(at + BATCH, len(ids)), len(ids))
    return changed


def _rewrite_one(db: Database, record_id: int, from_body: bool) -> bool:
    """Store the text of a mail anew, cleaned out of its body or as it is, and without
    what its thread holds; whether it reads differently."""
    row = db.execute(
        """SELECT title, rating, body_sha, cleaning, reply_to, body, trimmed
           FROM record WHERE id = ?""",
        [record_id],
    ).fetchone()
    raw = body_of(db, record_id) if from_body else None
    if row is None or (raw is None) == from_body:
        return False  # forgotten meanwhile
    title, rating, before, rules, reply_to, body, trimmed = row
    if rules > VERSION + 1 or not (from_body or rules == VERSION):
        return False  # read by newer rules, or compared already
    cleaned = clean_raw(raw) if raw is not None else Cleaned(body, bool(trimmed))
    own = without_parents(cleaned, _parents(db, reply_to))
    text = own.text[:MAX_STORED]
    sha = fingerprint(title, rating, text)
    author = Author.MIXED if own.trimmed else Author.ME
    version = VERSION + (own is not cleaned)
    db.execute(
        """UPDATE record SET body = ?, body_sha = ?, trimmed = ?, author = ?,
               cleaning = ? WHERE id = ?""",
        [text, sha, own.trimmed, author, version, record_id],
    )
    return bool(sha != before)


def _parents(db: Database, reply_to: str) -> list[str]:
    """The texts above a message in its thread, the nearest first."""
    texts: list[str] = []
    while reply_to and len(texts) < _GENERATIONS:
        found = db.execute(
            "SELECT id FROM record WHERE key > ? AND key < ?", keys_of(reply_to)
        ).fetchone()
        if found is None:
            break
        clean_waiting(db, found)
        row = db.execute("SELECT body, reply_to FROM record WHERE id = ?", found)
        text, reply_to = row.fetchone() or ("", "")  # none if it had been forgotten
        texts.append(text)
    return texts
