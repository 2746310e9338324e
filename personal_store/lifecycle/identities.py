"""Which addresses are the owner's, why we think so, and what follows from it.

Evidence is kept beside each address. Records keep their sender, so that a change of
mind needs no second import: the records of that sender are judged again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlite_utils import Database

from personal_store.connection import immediate
from personal_store.lifecycle.cleaning import clean_waiting
from personal_store.lifecycle.writing import drop_bodies_of_others, twin_of
from personal_store.mail.labels import is_sent
from personal_store.mail.mail import address_in
from personal_store.records import UNREAD, Author
from personal_store.search.tables import MINE, drop, refresh

BY_OWNER = "told so"  # the evidence of an address that the owner gave
_LISTED = 10
_FOREIGN = """
    SELECT sender, recipient_address FROM record WHERE sender <> ''
    AND sender NOT IN (SELECT address FROM identity)
    AND recipient_address NOT IN (SELECT address FROM identity)
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """An address that is the owner's, or may be."""

    address: str
    why: str
    confirmed: bool  # whether the owner said so; else it was taken from the evidence
    texts: int  # stored texts that were sent from it


def identities(db: Database) -> list[Identity]:
    """The owner's addresses, in alphabetical order."""
    rows = db.execute(
        """SELECT address, why, confirmed,
                  (SELECT count(*) FROM record WHERE sender = address)
           FROM identity ORDER BY address"""
    )
    return [Identity(one, why, bool(sure), texts) for one, why, sure, texts in rows]


def add_identities(db: Database, addresses: Sequence[str], why: str = BY_OWNER) -> int:
    """Note the owner's addresses; how many stored texts turned out to be own.

    An address that the owner has removed is added again by the owner alone.
    """
    with immediate(db):
        added = _plain(addresses)
        if why != BY_OWNER:
            added = [one for one in added if one not in _strangers(db)]
        for address in added:
            db.execute("DELETE FROM stranger WHERE address = ?", [address])
            db.execute(
                """INSERT INTO identity(address, why, confirmed) VALUES (?, ?, ?)
                   ON CONFLICT(address) DO UPDATE
                   SET confirmed = confirmed OR excluded.confirmed""",
                [address, why, why == BY_OWNER],
            )
        return judge(db, added)


def remove_identities(db: Database, addresses: Sequence[str]) -> int:
    """Say that these are not the owner's; how many texts become others' again."""
    with immediate(db):
        gone = _plain(addresses)
        for address in gone:
            db.execute("DELETE FROM identity WHERE address = ?", [address])
            db.execute("INSERT OR IGNORE INTO stranger VALUES (?)", [address])
        return judge(db, gone)


def judge(db: Database, senders: Iterable[str]) -> int:
    """Say anew who wrote what these addresses sent; how many records changed sides."""
    changed: list[int] = []
    for sender in senders:
        row = db.execute("SELECT 1 FROM identity WHERE address = ?", [sender])
        changed += _turn(db, sender, row.fetchone() is not None)
    if changed:
        refresh(db, changed)
        drop_bodies_of_others(db)
    return len(changed)


def suggestions(db: Database) -> list[Identity]:
    """Addresses that may be the owner's too, the likeliest first.

    Only addresses that sent something come up, so no list and no group does; none that
    the owner has turned down.
    """
    found: dict[str, Identity] = {}

    def suggest(address: str, why: str, texts: int) -> None:
        found.setdefault(address, Identity(address, why, False, texts))

    # Senders of texts that an export says are the owner's.
    rows = db.execute(
        f"""SELECT sender, count(*) AS texts FROM record
            WHERE sender <> '' AND {MINE} GROUP BY sender ORDER BY texts DESC"""  # noqa: S608
    )
    for sender, texts in rows:
        suggest(sender, "texts of it are stored as yours", texts)
    for sender, texts in labelled_sent(db).most_common():
        suggest(sender, "it sent mail that is labelled sent", texts)
    # Who both sends and is written to, and so is at one end of most of the mail that
    # none of the known addresses has part in.
    ends = db.execute(
        f"""WITH mail AS ({_FOREIGN})
            SELECT address, sum(sent), sum(got) FROM (
               SELECT sender AS address, 1 AS sent, 0 AS got FROM mail
               UNION ALL SELECT recipient_address, 0, 1 FROM mail)
            WHERE address <> '' GROUP BY address HAVING sum(sent) AND sum(got)
            ORDER BY count(*) DESC"""  # noqa: S608
    ).fetchall()
    (mails,) = db.execute(f"SELECT count(*) FROM ({_FOREIGN})").fetchone()  # noqa: S608
    why = "it sends or receives most of the mail that your other addresses do not"
    for address, texts, got in ends:
        if 2 * (texts + got) > mails:
            suggest(address, why, texts)
    known = {identity.address for identity in identities(db)} | _strangers(db)
    return [one for one in found.values() if one.address not in known][:_LISTED]


def labelled_sent(db: Database, after: int = 0) -> Counter[str]:
    """Senders of mail that is labelled as sent, who are not known to be the owner or
    somebody else; of records with a larger id than `after`."""
    rows = db.execute(
        """SELECT sender, label, count(*) FROM record JOIN record_label
           ON record_id = id WHERE id > ? AND sender <> ''
           AND sender NOT IN (SELECT address FROM identity)
           AND sender NOT IN (SELECT address FROM stranger) GROUP BY sender, label""",
        [after],
    )
    sent: Counter[str] = Counter()
    for sender, label, texts in rows:
        if is_sent((label,)):
            sent[sender] += texts
    return sent


def _plain(addresses: Iterable[str]) -> list[str]:
    """The addresses out of what may be 'Ann <ann@example.org>'; names as they are."""
    found = (address_in(one) or one.strip().lower() for one in addresses)
    return sorted({*found} - {""})


def _turn(db: Database, sender: str, mine: bool) -> list[int]:
    """The records of a sender that were on the other side, now on this one."""
    side = f"NOT {MINE}" if mine else MINE
    rows = db.execute(
        f"""SELECT id FROM record WHERE sender = ? AND {side}
            AND (body <> '' OR cleaning = {UNREAD})""",  # noqa: S608
        [sender],
    ).fetchall()
    other = (Author.MIXED, Author.ME) if mine else (Author.OTHER, Author.OTHER)
    db.conn.executemany(
        "UPDATE record SET author = iif(trimmed, ?, ?) WHERE id = ?",
        [(*other, record_id) for (record_id,) in rows],
    )
    changed = [record_id for (record_id,) in rows]
    if mine:
        clean_waiting(db, changed)
        _drop_twins(db, changed)
    return changed


def _drop_twins(db: Database, ids: Sequence[int]) -> None:
    """Delete those of these records that say what another says under one Message-ID."""
    for record_id in ids:
        key, text = db.execute(
            "SELECT key, body FROM record WHERE id = ?", [record_id]
        ).fetchone() or ("", "")
        if text and twin_of(db, key, text) is not None:
            drop(db, [record_id])
            db.execute("DELETE FROM record WHERE id = ?", [record_id])


def _strangers(db: Database) -> set[str]:
    return {address for (address,) in db.execute("SELECT address FROM stranger")}
