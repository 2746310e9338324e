"""What a person types to search: words, "phrases", and -words that must not be there.

The words rank the texts. Phrases and exclusions decide which texts are ranked at all.
All of them are compared as the index holds them: in lower case, without marks, and with
no stemming, so that "boat" does not find "boats".
"""

import json
import re
from dataclasses import dataclass
from typing import Self

from sqlite_utils import Database

from personal_store.search.derived import Texts
from personal_store.text.tokens import tokens

_OPEN, _CLOSE = '"“„”«»', '"“”«»'
_PART = re.compile(
    rf"(?P<minus>(?<!\S)-)?(?:[{_OPEN}](?P<phrase>[^{_CLOSE}]*)[{_CLOSE}]?"
    rf"|(?P<word>[^\s{_OPEN}]+))"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as it was typed, in terms of the index."""

    terms: tuple[str, ...]
    """Words to rank by, those of phrases included."""
    phrases: tuple[str, ...] = ()
    """Terms with spaces between, that stand side by side in every text found."""
    without: tuple[str, ...] = ()
    """Terms with spaces between, that stand side by side in no text found."""

    @classmethod
    def of(cls, typed: str) -> Self:
        """A search as typed. A quotation that is not closed ends with the line."""
        terms: list[str] = []
        phrases: list[str] = []
        without: list[str] = []
        for part in _PART.finditer(typed):
            found = tokens(part["word"] or part["phrase"] or "")
            if part["minus"] and found:
                without.append(" ".join(found))
                continue
            terms += found
            if part["phrase"] is not None and found:
                phrases.append(" ".join(found))
        return cls(tuple(terms), tuple(phrases), tuple(without))

    def fitting(self, db: Database, texts: Texts) -> frozenset[int] | None:
        """Ids of the texts that hold every phrase and nothing that is excluded; None
        if any text may be found."""
        if not (self.phrases or self.without):
            return None
        holds = "instr(' ' || tok || ' ', ' ' || ? || ' ')"
        conditions = [holds] * len(self.phrases) + [f"NOT {holds}"] * len(self.without)
        rows = db.execute(
            f"SELECT id FROM {texts.name} WHERE {' AND '.join(conditions)}",  # noqa: S608
            [*self.phrases, *self.without],
        )
        return frozenset(record_id for (record_id,) in rows)

    def with_any(self, db: Database, texts: Texts) -> frozenset[int]:
        """Ids of the texts that hold any of the terms."""
        holds = "instr(' ' || tok || ' ', ' ' || value || ' ')"
        rows = db.execute(
            f"""SELECT id FROM {texts.name} WHERE EXISTS
                (SELECT 1 FROM json_each(?) WHERE {holds})""",  # noqa: S608
            [json.dumps(self.terms)],
        )
        return frozenset(record_id for (record_id,) in rows)
