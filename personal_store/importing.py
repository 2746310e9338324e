"""A source into the store: find it, find out who is "me", read, commit in batches.

Personal mail by others is stored as well, marked as theirs, and counted as skipped. It
is never searched or shown as a passage; it is there so that it can become own when an
address is added. Newsletters, lists and automatic mail by others are not stored.
"""

import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from personal_store import importers
from personal_store.authorship import SAMPLE, Correspondents
from personal_store.cleaning import VERSION
from personal_store.errors import SourceError, StoreError
from personal_store.importers import Importer, MailImporter
from personal_store.records import ImportReport, Item, ReadOptions
from personal_store.sources import Source
from personal_store.store import Store
from personal_store.writing import BY_OTHERS, KNOWN, ImportRun, is_full

BATCH = 500
"""Records per transaction."""

Progress = Callable[[int, int], None]


def import_source(
    store: Store,
    kind: str,
    path: Path,
    *,
    me: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Read everything behind a path into the store with the importer of this kind.

    Bad records are counted and listed in the report. What cannot be imported at all
    raises StoreError. Progress is told as (units done, units in total).
    """
    importer = importers.load(kind)
    with _translated(path):
        work = _Import(store, kind, importer, importer.sources(path), mapping or {})
        work.learn_owner(me)
        work.read_all(_Told(progress, sum(source.size for source in work.sources)))
        work.explain_nothing_own()
    return work.report


@dataclass(slots=True)
class _Import:
    """One call of import_source."""

    store: Store
    kind: str
    importer: Importer
    sources: Sequence[Source]
    mapping: Mapping[str, str]
    report: ImportReport = field(default_factory=ImportReport)

    def learn_owner(self, me: Sequence[str]) -> None:
        """Note the addresses given; without any, find out whose mailbox this is."""
        if not isinstance(self.importer, MailImporter):
            return
        why = "told so"
        if not me and not self.store.identities():
            address, why = self._owner()
            me = [address]
            self.report.notes.append(f"taking {address} for you, because {why}")
        recognised = self.store.add_identities(me, why)
        if recognised:
            note = f"{recognised:,} texts stored earlier turn out to be yours"
            self.report.notes.append(note)

    def read_all(self, told: "_Told") -> None:
        """One source after the other, each with its own place to go on from."""
        options = ReadOptions(frozenset(self.store.identities()), 0, self.mapping)
        done = 0
        for source in self.sources:
            self._read(source, options, told.after(done))
            done += source.size
        told.at(done)

    def explain_nothing_own(self) -> None:
        """Mail without one own text was probably written under another address."""
        own = self.report.added or self.report.updated or self.report.reasons[KNOWN]
        if own or not self.report.reasons[BY_OTHERS]:
            return
        mine = ", ".join(self.store.identities())
        self.report.notes.append(
            f"nothing here was sent from {mine}; the most frequent senders are: "
            f"{self._people().most_common()} (--me ADDRESS adds one)"
        )

    def _read(self, source: Source, options: ReadOptions, told: "_Told") -> None:
        fixed = json.dumps([VERSION, dict(sorted(options.mapping.items()))])
        run = ImportRun.begin(self.store.db, self.kind, source, options.me, fixed)
        if run.position:
            percent = 100 * run.position // source.size
            self.report.notes.append(f"{source.name}: going on at {percent} %")
        batch: list[Item] = []
        for item in self.importer.read(source, replace(options, start=run.position)):
            batch.append(item)
            if len(batch) == BATCH:
                run.commit(batch, self.report)
                batch.clear()
            told.at(item.position)
        run.commit(batch, self.report)
        run.end()

    def _owner(self) -> tuple[str, str]:
        people = self._people()
        address, why = people.owner()
        if not address:
            raise SourceError(
                "It is not clear which address is yours: say so with --me ADDRESS. "
                f"The most frequent senders are: {people.most_common() or 'none'}."
            )
        return address, why

    def _people(self) -> Correspondents:
        assert isinstance(self.importer, MailImporter)
        envelopes = self.importer.envelopes
        every = (mail for source in self.sources for mail in envelopes(source))
        return Correspondents.of(islice(every, SAMPLE))


@dataclass(slots=True)
class _Told:
    """Progress, told a few hundred times at most, whatever the number of records."""

    progress: Progress | None
    total: int
    before: int = 0
    step: int = -1

    def after(self, done: int) -> "_Told":
        """The same, for a source that begins when so much is done."""
        return replace(self, before=done)

    def at(self, position: int) -> None:
        done = self.before + position
        step = 400 * done // max(1, self.total)
        if self.progress is not None and step != self.step:
            self.step = step
            self.progress(min(done, self.total), self.total)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Faults of files and of SQLite as sentences; what was committed stays."""
    try:
        yield
    except sqlite3.Error as error:
        if is_full(error):
            raise StoreError(
                "The disk is full. What was imported so far is safe: make room and "
                "run the same import again."
            ) from error
        raise StoreError(f"The store cannot be written: {error}.") from error
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceError(
            f"{path} cannot be read to its end: {error}. What was imported so far is "
            "safe; the same import goes on from there."
        ) from error
