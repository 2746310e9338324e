"""Which stored texts are meant: by id, person, source, kind, dates, words."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlite_utils import Database

from personal_store.lifecycle.late_cleaning import clean_all_waiting
from personal_store.records import ProgressCallback, moment
from personal_store.text.tokens import tokens


@dataclass(frozen=True, slots=True)
class Which:
    """Texts that meet every condition that is given."""

    ids: Sequence[int] = ()
    person: str = ""
    """To or from whom: an address, or words of a name."""
    source: str = ""
    """A part of 'mbox: letters.mbox'."""
    kind: str = ""
    since: date | None = None
    """The first day, in UTC."""
    until: date | None = None
    """The last day."""
    words: str = ""
    """All of these stand in the subject or the text."""

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
        SQL. Where words decide, received mail is cleaned first, and `progress` hears of
        it."""
        if self.words:
            clean_all_waiting(
                db, replace(self, words="").find(db, state=state), progress
            )
        found: list[tuple[str, list[Any]]] = []
        if self.ids:
            marks = ", ".join("?" * len(self.ids))
            found.append((f"record.id IN ({marks})", list(self.ids)))
        if self.kind:
            found.append(("record.kind = ?", [self.kind]))
        if self.since:
            found.append(("sent_at >= ?", [_midnight(self.since)]))
        if self.until:
            found.append(("sent_at < ?", [_midnight(self.until + timedelta(1))]))
        where = "".join(f" AND {condition}" for condition, _ in found)
        text = "title || char(10) || body" if self.words else "''"  # bodies are large
        rows = db.execute(
            f"""SELECT record.id, recipient, recipient_address, sender,
                       source.kind || ': ' || label, {text}
                FROM record JOIN source ON source.id = source_id
                WHERE {state}{where} ORDER BY record.id""",  # noqa: S608
            [value for _, values in found for value in values],
        )
        return [row[0] for row in rows if self._fits(*row[1:])]

    def _fits(
        self, name: str, address: str, sender: str, source: str, text: str
    ) -> bool:
        if self.person and not self._is_by_or_to(name, address, sender):
            return False
        if _fold(self.source) not in _fold(source):
            return False
        if not self.words:
            return True
        return set(tokens(self.words)) <= set(tokens(text))

    def _is_by_or_to(self, name: str, address: str, sender: str) -> bool:
        wanted = _fold(self.person.strip())
        if wanted in (_fold(address), _fold(sender)):
            return True
        # People say "Ana" where the mail says "Ana Ruiz".
        return "@" not in wanted and set(wanted.split()) <= set(_fold(name).split())


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
    for record_id in ids:
        for row in db.execute(
            """SELECT record.kind, title, coalesce(nullif(recipient, ''), sender),
                      sent_at, source.kind || ': ' || label, body
               FROM record JOIN source ON source.id = source_id WHERE record.id = ?""",
            [record_id],
        ):
            kind, title, person, sent_at, source, body = row
            heading = title or " ".join(body[:80].split())
            found.append(
                Outline(record_id, kind, heading, person, moment(sent_at), source)
            )
    return found


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
