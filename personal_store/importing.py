"""A source into the store: find it, find out who is "me", read, commit in batches.

Personal mail by others is stored as well, marked as theirs, and counted apart. It is
never searched or shown as a passage; it is there so that it can become own when an
address is added. Newsletters, lists and automatic mail by others are not stored.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic, time_ns

from sqlite_utils import Database

from personal_store import importers
from personal_store.cleaning.cleaning import VERSION
from personal_store.connection import immediate
from personal_store.errors import SourceError, StoreError, faults, is_full
from personal_store.files.files import Source
from personal_store.files.files import why as reason_of
from personal_store.files.sources import UNREADABLE
from personal_store.import_runs import (
    Before,
    carry_over,
    check_room,
    digest_of,
    ended_before,
    importing_alone,
    mark_of,
    read_before,
    reader,
)
from personal_store.importers import (
    GrowingImporter,
    Importer,
    LetterImporter,
    MailImporter,
    TableImporter,
    TalkImporter,
)
from personal_store.importers.exports import is_name
from personal_store.lifecycle.cleaning import clean_all_waiting, compare_threads
from personal_store.lifecycle.identities import BY_OWNER, labelled_sent
from personal_store.lifecycle.writing import (
    KNOWN,
    UNCHANGED,
    ImportRun,
    keeps_bodies,
    newest,
    stored,
)
from personal_store.mail.mail import address_in
from personal_store.reading.authorship import SAMPLE, Correspondents, Owner
from personal_store.reading.parallel import Readers, processes_for
from personal_store.records import (
    ImportFailure,
    ImportReport,
    Item,
    ProgressCallback,
    ReadOptions,
)
from personal_store.store import Store

BATCH = 700
"""Records per transaction."""
LONGEST = 3.0
"""Seconds after which less is written too, so that a slow source loses no more."""


def import_source(
    store: Store,
    kind: str,
    path: Path,
    *,
    me: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    again: bool = False,
) -> ImportReport:
    """Read everything behind a path into the store with the importer of this kind.

    Files that have not changed since they were imported are passed over, unless they
    are read `again`. Bad records are counted and listed in the report. What cannot be
    imported at all raises StoreError, and so does an import while another one is
    running. `progress` gets (bytes done, bytes in total).
    """
    importer = importers.load(kind)
    with _translated(path, ImportReport()):
        sources = importer.sources(path)
    return import_sources(
        store, kind, sources, me=me, mapping=mapping, progress=progress, again=again
    )


def import_sources(
    store: Store,
    kind: str,
    sources: Sequence[Source],
    *,
    me: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    again: bool = False,
) -> ImportReport:
    """Read sources into the store that the importer of this kind found before; see
    `import_source`."""
    importer = importers.load(kind)
    is_mail = isinstance(importer, MailImporter)
    report = ImportReport()
    with _translated(sources[0].path, report), importing_alone(store.path):
        check_room(store.path, sources, is_mail=is_mail)
        size = sum(source.size for source in sources)
        with Readers(processes_for(size)) as readers:
            work = _Import(
                store, kind, importer, sources, mapping or {}, readers, again, report
            )
            work.learn_owner(me)
            work.read_all(_Meter(progress, size))
        if is_mail and (work.report.added or not work.newest_before):
            compare_threads(store.db, work.newest_before)
        if is_mail and not keeps_bodies(store.db):
            clean_all_waiting(store.db)  # else their bodies wait as they came
        work.end()
        work.explain_nothing_own()
        work.name_other_addresses()
    return report


def find_owner(
    importer: Importer,
    sources: Sequence[Source],
    me: Sequence[str] = (),
    known: Sequence[str] = (),
) -> Owner:
    """Whom an import takes for the owner of these texts, and why; writes nothing.

    `me` is what the owner said, `known` the identities of the store. No address if the
    sources hold only own texts, or mail and an address is known.

    Raises:
        SourceError: it is not clear, or it is the export of somebody else.
    """
    if isinstance(importer, TalkImporter):
        names, why = importer.people(sources[0]).mine(me, known)
        return Owner(tuple(names), why)
    if not isinstance(importer, MailImporter):
        return Owner()
    given = tuple(filter(None, map(address_in, me)))
    if given or not all(map(is_name, known)):
        return Owner(given)
    people = _people(importer, sources)
    owner = people.owner()
    if not owner.addresses:
        raise SourceError(
            "It is not clear which address is yours: say so with --me ADDRESS. The "
            f"most frequent senders are: {people.most_common() or 'none'}."
        )
    return owner


def _people(importer: MailImporter, sources: Sequence[Source]) -> Correspondents:
    readable = (source for source in sources if not source.fault)
    every = (mail for source in readable for mail in importer.envelopes(source))
    return Correspondents.of(islice(every, SAMPLE))


def is_imported(store: Store, kind: str, path: Path) -> bool:
    """Whether all that lies behind a path has been read to its end, as it is now."""
    every = importers.load(kind).sources(path)
    return all(ended_before(store.db, source) for source in every)


@dataclass(slots=True)
class _Import:
    """One call of import_sources."""

    store: Store
    kind: str
    importer: Importer
    sources: Sequence[Source]
    mapping: Mapping[str, str]
    readers: Readers
    again: bool
    """Whether files are read that have not changed."""
    report: ImportReport
    before: int = 0
    """The largest id that this import found in the store."""
    newest_before: int = 0
    """The largest id that this import found in the store; 0 if it goes on with one."""
    ends: list[Callable[[], None]] = field(default_factory=list)
    """Functions that note that a source was read to its end, one for each."""

    def learn_owner(self, me: Sequence[str]) -> None:
        """Note the addresses or names given; without any, find out whose texts these
        are."""
        owner = find_owner(self.importer, self.sources, me, self.store.identities())
        mine = owner.addresses
        if isinstance(self.importer, TalkImporter):
            talkers = self.importer.people(self.sources[0])
            mine = tuple(map(talkers.identity, mine))
        self.report.notes += owner.sentences()
        recognised = self.store.add_identities(mine, owner.why or BY_OWNER)
        if recognised:
            note = f"{recognised:,} texts stored earlier turn out to be yours"
            self.report.notes.append(note)

    def read_all(self, meter: "_Meter") -> None:
        """One source after the other, each with its own place to go on from.

        One of several that cannot be read does not keep the others out.
        """
        self.before = self.newest_before = newest(self.store.db)
        done = 0
        for source in self.sources:
            try:
                self._read(source, meter.after(done))
            except (SourceError, OSError, *UNREADABLE) as error:
                if len(self.sources) == 1:
                    raise
                failure = ImportFailure(source.size, source.place, reason_of(error))
                self.report.failures.append(failure)
            done += source.size
        meter.at(done)

    def end(self) -> None:
        """Note that the sources were read, once all is done that follows from it: an
        import that was stopped before goes on, and does the rest."""
        for end in self.ends:
            end()

    def explain_nothing_own(self) -> None:
        """Texts of others alone were probably written under another address or name."""
        known = self.report.reasons[KNOWN] - self.report.met
        own = self.report.added or self.report.updated or known
        if own or not (self.report.received or self.report.met):
            return
        if isinstance(self.importer, TalkImporter):
            people = self.importer.people(self.sources[0])
            self.report.notes.append(people.nothing_from(self.store.identities()))
            return
        mine = ", ".join(self.store.identities())
        self.report.notes.append(
            f"nothing here was sent from {mine}; the most frequent senders are: "
            f"{self._people().most_common()} (--me ADDRESS adds one)"
        )

    def name_other_addresses(self) -> None:
        """Whom mail that is labelled as sent came from, if not from the owner."""
        if self.report.received and isinstance(self.importer, MailImporter):
            for address, count in labelled_sent(self.store.db, self.before).items():
                self.report.notes.append(
                    f"{count:,} that are labelled as sent came from {address}: "
                    f"'specsteer me add {address}' makes them yours"
                )

    def _read(self, source: Source, meter: "_Meter") -> None:
        if source.fault:
            raise SourceError(source.fault)
        mapping = self.mapping
        if isinstance(self.importer, TableImporter):
            mapping = self._layout(self.importer, source)
        options = ReadOptions(frozenset(self.store.identities()), 0, mapping)
        fixed = json.dumps([VERSION, dict(sorted(options.mapping.items()))])
        db = self.store.db
        mark = mark_of(source, time_ns())
        before = Before.of(db, self.kind, source, stored(fixed, options.me))
        if before is not None and not self.again:
            if mark and mark == before.mark:
                self.report.reasons[UNCHANGED] += before.things
                self.report.failures += before.failures(db)
                return
            grown = self._grown(source, before)
        else:
            grown = 0
        known = read_before(db, source, options.me, fixed)
        run = ImportRun.begin(db, self.kind, source, options.me, fixed)
        if run.position:
            self.newest_before = 0
            if not known:
                percent = 100 * run.position // source.size
                self.report.notes.append(f"{source.name}: going on at {percent} %")
        elif grown and before is not None:
            with immediate(db):
                carry_over(db, before, run.id)
            self.report.reasons[UNCHANGED] += before.things
            self.report.failures += before.failures(db)
        start = max(run.position, known, grown)
        grows = isinstance(self.importer, GrowingImporter) and source.content is None
        digest = digest_of(source.path, source.size) if grows else ""
        batch: list[Item] = []
        since = monotonic()
        try:
            for item in self._items(source, replace(options, start=start)):
                batch.append(item)
                if len(batch) == BATCH or monotonic() - since > LONGEST:
                    run.commit(batch, self.report)
                    batch.clear()
                    since = monotonic()
                meter.at(item.position)
        except (SourceError, OSError, *UNREADABLE):
            run.commit(batch, self.report)  # the source may be damaged here for good
            raise
        run.commit(batch, self.report)
        if mark != mark_of(source, time_ns()):  # it was written meanwhile
            mark = digest = ""
        self.ends.append(partial(run.end, reader(db), mark, digest))

    def _grown(self, source: Source, before: Before) -> int:
        """Where the new messages of a mailbox that has grown begin; 0 if that cannot be
        proven."""
        grows = isinstance(self.importer, GrowingImporter) and source.content is None
        if not grows or not before.digest or not before.size < source.size:
            return 0
        assert isinstance(self.importer, GrowingImporter)
        if not self.importer.begins_at(source, before.size):
            return 0
        same = digest_of(source.path, before.size) == before.digest
        return before.size if same else 0

    def _items(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        if isinstance(self.importer, LetterImporter):
            return self.readers.read(self.importer.letters(source, options))
        return self.importer.read(source, options)

    def _layout(self, importer: TableImporter, source: Source) -> dict[str, str]:
        """Columns as given, else as in the last table of this shape, else guessed."""
        db, names = self.store.db, importer.names(source)
        known = remembered(db, names)
        chosen = importer.columns(source, {**known, **self.mapping}).mapping()
        note = described(source.name, chosen, bool(known), bool(self.mapping))
        self.report.notes.append(note)
        if chosen != known:
            remember(db, names, chosen)
        return chosen

    def _people(self) -> Correspondents:
        assert isinstance(self.importer, MailImporter)
        return _people(self.importer, self.sources)


@dataclass(slots=True)
class _Meter:
    """Reports progress a few hundred times at most, whatever the number of records."""

    progress: ProgressCallback | None
    total: int
    before: int = 0
    step: int = -1

    def after(self, done: int) -> "_Meter":
        """The meter of the next source, which begins at `done` bytes."""
        return replace(self, before=done)

    def at(self, position: int) -> None:
        done = self.before + position
        step = 400 * done // max(1, self.total)
        if self.progress is not None and step != self.step:
            self.step = step
            self.progress(min(done, self.total), self.total)


@contextmanager
def _translated(path: Path, report: ImportReport) -> Iterator[None]:
    """Faults of files and of SQLite as sentences, with what was committed, which
    stays."""
    try:
        yield
    except faults() as error:
        if is_full(error):
            raise _full_disk(report) from error
        raise StoreError(f"The store cannot be written: {error}.") from error
    except (OSError, *UNREADABLE) as error:
        if is_full(error):
            raise _full_disk(report) from error
        raise SourceError(
            f"{path} cannot be read to its end: {reason_of(error)}. "
            f"{_committed(report)}; the same import goes on from there."
        ) from error


def _full_disk(report: ImportReport) -> StoreError:
    return StoreError(
        f"The disk is full. {_committed(report)}: make room and run the same import "
        "again."
    )


def _committed(report: ImportReport) -> str:
    """What a run that was broken off has stored."""
    counts = {
        "of yours": report.added,
        "of yours that changed": report.updated,
        "by others": report.received,
    }
    stored = [f"{count:,} {whose}" for whose, count in counts.items() if count]
    if not stored:
        return "This run stored no text"
    return f"This run stored texts, which are safe ({', '.join(stored)})"


def remembered(db: Database, names: Sequence[str]) -> dict[str, str]:
    """What a person or a guess made of a table with these columns; empty if nothing."""
    row = db.execute("SELECT value FROM state WHERE name = ?", [_name(names)])
    found = row.fetchone()
    return dict(json.loads(found[0])) if found else {}


def remember(db: Database, names: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Remember the columns for the next table of the same shape, in whatever order."""
    with immediate(db):
        db.execute(
            "INSERT OR REPLACE INTO state VALUES (?, ?)",
            [_name(names), json.dumps(dict(mapping))],
        )


def described(name: str, mapping: Mapping[str, str], known: bool, given: bool) -> str:
    """The sentence that shows the person what is read from where."""
    columns = ", ".join(
        f"{field}={column}" for field, column in mapping.items() if column
    )
    if given:
        return f"{name}: {columns}; remembered for files with these columns"
    why = "as the last time" if known else "guessed"
    return f"{name}: {columns} ({why}; --map FIELD=COLUMN changes it)"


def _name(names: Sequence[str]) -> str:
    shape = json.dumps(sorted(name.casefold() for name in names))
    return "columns " + hashlib.sha256(shape.encode()).hexdigest()
