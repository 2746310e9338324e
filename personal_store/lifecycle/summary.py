"""What is in a store, counted: for `specsteer status` and whoever asks."""

import importlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from personal_store.database.copies import backup_path, made_at
from personal_store.database.keys import known
from personal_store.files.private_files import size_of
from personal_store.lifecycle.forgetting import is_untidy
from personal_store.lifecycle.late_cleaning import is_behind
from personal_store.lifecycle.raw_bodies import is_wanted
from personal_store.lifecycle.tombstones import count as forgotten
from personal_store.search.derived import BY_OTHERS, FINDABLE

SAMPLE = 1_000
"""Texts whose language is looked at."""
_BEGINNING = 1_000
_SHORTEST = 20


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
    """Languages of a sample; None where the extra `languages` is not installed."""
    received: int
    excluded: int
    trash: int
    forgotten: int
    failed: dict[str, int]
    """What could not be read, by reason."""
    bytes: int
    raw_bytes: int
    keeps_raw: bool
    encrypted: bool
    behind: bool
    """Whether older rules cleaned an own mail."""
    untidy: bool
    """Whether traces of forgotten texts wait to be overwritten."""
    backup: str
    """When the backup was made, in ISO 8601; empty if there is none."""
    backup_bytes: int


def summarise(db: Database, path: Path) -> Summary:
    """Count what is in a store."""
    usable, words = _row(db, "SELECT count(*), coalesce(sum(n), 0) FROM doc")
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
        forgotten=forgotten(db),
        failed=dict(failures.fetchall()),
        bytes=size_of(path),
        raw_bytes=_row(db, "SELECT coalesce(sum(length(data)), 0) FROM raw")[0],
        keeps_raw=is_wanted(db),
        encrypted=known(path) is not None,
        behind=is_behind(db),
        untidy=is_untidy(db),
        backup=backup.isoformat(timespec="seconds") if backup else "",
        backup_bytes=size_of(backup_path(path)),
    )


def _counts(db: Database, what: str) -> dict[str, int]:
    rows = db.execute(
        f"""SELECT {what} AS name, count(*) FROM record
            JOIN source ON source.id = source_id
            WHERE {FINDABLE} GROUP BY name ORDER BY name"""  # noqa: S608
    )
    return dict(rows.fetchall())


def _number(db: Database, condition: str) -> int:
    return int(_row(db, f"SELECT count(*) FROM record WHERE {condition}")[0])  # noqa: S608


def _languages(db: Database) -> dict[str, int] | None:
    """Languages in a sample that is spread over the store; short texts tell none."""
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


def _row(db: Database, sql: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] = db.execute(sql).fetchone()
    return row
