"""Rows of a table to documents: which column is the text, the date, the title."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.cleaning.markup import own_text
from personal_store.errors import SourceError
from personal_store.importers.formats.exports import is_gone
from personal_store.records import KINDS, Document, Item, Skipped
from personal_store.text.dates import parse_date

FIELDS = ("text", "date", "title", "id", "to", "rating", "kind")
"""What a column can be mapped to, as in --map text=Body; `date=` stands for none."""
SAMPLE = 200
"""Rows that are looked at to find the column with the text."""

_GUESSES = {
    "text": "text body content message comment reviewtext reviewbody review myreview"
    " fulltext commenttext posttext post selftext sharecommentary caption note",
    "date": "date created createdat createdutc timestamp datetime time published"
    " publishedat submissiondate sentat dateadded watcheddate",
    "title": "title subject headline reviewtitle summary",
    "id": "id uuid permalink commentid postid reviewid messageid bookid url",
    "to": "to recipient recipients product productname item name place business book",
    "rating": "rating stars starrating myrating score overall",
    "kind": "kind type",
}
_SHORTEST_AVERAGE = 20
_TAG = re.compile(r"<(?:br|p|div|i|b|em|strong|a|span)\b[^<>]*>", re.IGNORECASE)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; empty where none does."""

    text: str
    date: str = ""
    title: str = ""
    id: str = ""
    to: str = ""
    rating: str = ""
    kind: str = ""
    """A column, or one of KINDS for all rows."""

    @classmethod
    def choose(
        cls, names: Sequence[str], sample: Iterable[Row], mapping: Mapping[str, str]
    ) -> "Columns":
        """The columns the person named, else those whose names tell, else the longest.

        Raises SourceError, with the columns there are, if no text is found.
        """
        chosen = {}
        for field, column in mapping.items():
            if field not in FIELDS:
                raise SourceError(
                    f"--map knows {', '.join(FIELDS)}, but not '{field}' (in "
                    f"{field}={column})."
                )
            there = (n for n in names if n.casefold() == column.casefold())
            same = next(there, None)
            constant = not column or (field == "kind" and column in KINDS)
            if same is None and not constant:
                raise SourceError(
                    f"There is no column '{column}'. The columns are: "
                    f"{', '.join(names) or 'none'}."
                )
            chosen[field] = same or column
        taken = set(chosen.values())
        for field, guesses in _GUESSES.items():
            if field not in chosen:
                plain = {
                    "".join(filter(str.isalnum, name.casefold())): name
                    for name in reversed(names)
                    if name not in taken
                }
                found = next(
                    (plain[guess] for guess in guesses.split() if guess in plain), ""
                )
                if found:
                    chosen[field] = found
                    taken.add(found)
        if not chosen.get("text"):
            # The column with the longest prose on average, if any reads like prose.
            rows = list(sample)
            lengths = {
                name: sum(
                    len(value)
                    for value in (row.get(name) for row in rows)
                    if isinstance(value, str) and " " in value.strip()
                )
                / max(1, len(rows))
                for name in names
                if name not in taken
            }
            best = max(lengths, key=lengths.__getitem__, default="")
            chosen["text"] = best if best and lengths[best] >= _SHORTEST_AVERAGE else ""
        if not chosen["text"]:
            raise SourceError(
                "It is not clear which column holds the text: say so with --map "
                f"text=COLUMN. The columns are: {', '.join(names) or 'none'}."
            )
        return cls(**chosen)

    def mapping(self) -> dict[str, str]:
        """The column of each field, as --map takes them; empty where there is none."""
        return asdict(self)

    def document(self, row: Row, position: int) -> Item:
        """The document in a row, or why there is none."""
        said = row.get(self.text)
        if isinstance(said, list):  # pieces, of which those with a style are objects
            pieces = (p.get("text") if isinstance(p, dict) else p for p in said)
            said = "".join(piece for piece in pieces if isinstance(piece, str))
        text = _readable(said)
        if not text or is_gone(text):
            return Skipped(position, "without text")
        title, to = _readable(row.get(self.title)), _readable(row.get(self.to))
        # By id where there is one, so that an edited text replaces the old one. Ids of
        # different services may be equal, so what else stays the same counts too.
        date = str(row.get(self.date) or "")
        own_id = str(row.get(self.id) or "")
        same = [self._kind(row), own_id, date or f"{title}\0{to}"]
        parts = same if own_id else [date, title, to, text]
        return Document(
            position=position,
            key="row:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest(),
            kind=self._kind(row),
            text=text,
            title=title,
            recipient=to,
            recipient_address=to.lower() if "@" in to else "",
            sent_at=parse_date(row.get(self.date)),
            rating=_number(row.get(self.rating)),
            cleaning=VERSION,
        )

    def _kind(self, row: Row) -> str:
        told = str(row.get(self.kind) or self.kind).strip().casefold()
        if told in KINDS:
            return told
        return "review" if self.rating else "note"


def _readable(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    text = str(value)
    return tidy(own_text(text) if _TAG.search(text) else text).strip()


def _number(value: Any) -> float | None:
    try:
        return float(str(value).strip().replace(",", "."))
    except ValueError:
        return None
