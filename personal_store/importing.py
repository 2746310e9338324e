"""A source into the store: find it, find out who is "me", read, commit in batches.

Personal mail by others is stored as well, marked as theirs, and counted apart. It is
never searched or shown as a passage; it is there so that it can become own when an
address is added. Newsletters, lists and automatic mail by others are not stored.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic, time_ns
from typing import Any

from personal_store import import_runs, importers
from personal_store.cleaning.cleaning import VERSION
from personal_store.connection import immediate
from personal_store.errors import SourceError, StoreError, faults, is_full
from personal_store.files import UNREADABLE, Source, why
from personal_store.import_runs import Before, digest_of, importing_alone
from personal_store.importers import Importer, MailImporter, TalkImporter
from personal_store.importers.exports import is_name
from personal_store.lifecycle import writing
from personal_store.lifecycle.cleaning import clean_all_waiting, compare_threads
from personal_store.lifecycle.identities import BY_OWNER, labelled_sent
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

BATCH = 700  # records per transaction
LONGEST = 3.0
"""Seconds after which less is written too, so that a slow source loses no more."""


def import_source(
    store: Store,
    kind: str,
    source: Path | Sequence[Source],
    *,
    me: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    again: bool = False,
) -> ImportReport:
    """Read everything behind a path, or sources that the importer of this kind found
    there before, into the store.

    Files that have not changed since they were imported are passed over, unless they
    are read `again`. Bad records are counted and listed in the report. What cannot be
    imported at all raises StoreError, and so does an import while another one is
    running. `progress` gets (bytes done, bytes in total).
    """
    importer, report = importers.load(kind), ImportReport()
    is_mail = isinstance(importer, MailImporter)
    if isinstance(source, Path):
        with _translated(source, report):
            source = importer.sources(source)
    with _translated(source[0].path, report), importing_alone(store.path):
        import_runs.check_room(store.path, source, is_mail=is_mail)
        size = sum(one.size for one in source)
        with Readers(processes_for(size)) as readers:
            work = _Import(
                store, kind, importer, source, mapping or {}, readers, again, report
            )
            work.learn_owner(me)
            work.read_all(_metered(progress, size))
        if is_mail and (report.added or not work.newest_before):
            compare_threads(store.db, work.newest_before)
        if is_mail and not writing.keeps_bodies(store.db):
            clean_all_waiting(store.db)  # else their bodies wait as they came
        for end in work.ends:  # now, as an import stopped above has to do the rest
            end()
        work.explain_nothing_own()
        if is_mail and report.received:
            for address, count in labelled_sent(store.db, work.before).items():
                report.notes.append(
                    f"{count:,} that are labelled as sent came from {address}: "
                    f"'specsteer me add {address}' makes them yours"
                )
    return report


def find_owner(
    importer: Importer,
    sources: Sequence[Source],
    me: Sequence[str] = (),
    known: Sequence[str] = (),
) -> Owner:
    """Whom an import takes for the owner of these texts, and why; writes nothing.

    `me` is what the owner said, `known` the identities of the store. No address if the
    sources hold only own texts, or mail and an address is known. Raises SourceError if
    it is not clear, or it is the export of somebody else.
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
    return all(import_runs.ended_before(store.db, source) for source in every)


@dataclass(slots=True)
class _Import:
    """One call of import_source."""

    store: Store
    kind: str
    importer: Importer
    sources: Sequence[Source]
    mapping: Mapping[str, str]
    readers: Readers
    again: bool  # whether files are read that have not changed
    report: ImportReport
    before: int = 0  # the largest id that this import found in the store
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

    def read_all(self, meter: Callable[[int], None]) -> None:
        """One source after the other, each with its own place to go on from.

        One of several that cannot be read does not keep the others out.
        """
        self.before = self.newest_before = writing.newest(self.store.db)
        done = 0
        for source in self.sources:
            try:
                self._read(source, meter, done)
            except (SourceError, OSError, *UNREADABLE) as error:
                if len(self.sources) == 1:
                    raise
                failure = ImportFailure(source.size, source.place, why(error))
                self.report.failures.append(failure)
            done += source.size
        meter(done)

    def explain_nothing_own(self) -> None:
        """Texts of others alone were probably written under another address or name."""
        known = self.report.reasons[writing.KNOWN] - self.report.met
        own = self.report.added or self.report.updated or known
        if own or not (self.report.received or self.report.met):
            return
        mine = self.store.identities()
        if isinstance(self.importer, TalkImporter):
            note = self.importer.people(self.sources[0]).nothing_from(mine)
        else:
            assert isinstance(self.importer, MailImporter)
            people = _people(self.importer, self.sources)
            note = (
                f"nothing here was sent from {', '.join(mine)}; the most frequent "
                f"senders are: {people.most_common()} (--me ADDRESS adds one)"
            )
        self.report.notes.append(note)

    def _read(self, source: Source, meter: Callable[[int], None], done: int) -> None:
        if source.fault:
            raise SourceError(source.fault)
        is_table = hasattr(self.importer, "columns")
        mapping = self._layout(self.importer, source) if is_table else self.mapping
        options = ReadOptions(frozenset(self.store.identities()), 0, mapping)
        fixed = json.dumps([VERSION, dict(sorted(mapping.items()))])
        db = self.store.db
        mark = import_runs.mark_of(source, time_ns())
        before = Before.of(db, self.kind, source, writing.stored(fixed, options.me))
        grown = 0
        if before is not None and not self.again:
            if mark and mark == before.mark:
                self._count(before)
                return
            grown = self._grown(source, before)
        known = import_runs.read_before(db, source, options.me, fixed)
        run = writing.ImportRun.begin(db, self.kind, source, options.me, fixed)
        if run.position:
            self.newest_before = 0
            if not known:
                percent = 100 * run.position // source.size
                self.report.notes.append(f"{source.name}: going on at {percent} %")
        elif grown and before is not None:
            with immediate(db):
                import_runs.carry_over(db, before, run.id)
            self._count(before)
        start = max(run.position, known, grown)
        digest = digest_of(source.path, source.size) if self._grows(source) else ""
        batch: list[Item] = []
        since = monotonic()
        try:
            for item in self._items(source, replace(options, start=start)):
                batch.append(item)
                if len(batch) == BATCH or monotonic() - since > LONGEST:
                    run.commit(batch, self.report)
                    batch.clear()
                    since = monotonic()
                meter(done + item.position)
        except (SourceError, OSError, *UNREADABLE):
            run.commit(batch, self.report)  # the source may be damaged here for good
            raise
        run.commit(batch, self.report)
        if mark != import_runs.mark_of(source, time_ns()):  # it was written meanwhile
            mark = digest = ""
        self.ends.append(partial(run.end, import_runs.reader(db), mark, digest))

    def _count(self, before: Before) -> None:
        """Report what an earlier import read, and this one does not read again."""
        self.report.reasons[writing.UNCHANGED] += before.things
        self.report.failures += before.failures(self.store.db)

    def _grows(self, source: Source) -> bool:
        return hasattr(self.importer, "begins_at") and source.content is None

    def _grown(self, source: Source, before: Before) -> int:
        """Where the new messages of a mailbox that has grown begin; 0 if that cannot be
        proven."""
        longer = bool(before.digest) and before.size < source.size
        if not (longer and self._grows(source)):
            return 0
        importer: Any = self.importer
        begins = importer.begins_at(source, before.size)
        same = begins and digest_of(source.path, before.size) == before.digest
        return before.size if same else 0

    def _items(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        letters = getattr(self.importer, "letters", None)
        if letters is None:
            return self.importer.read(source, options)
        return self.readers.read(letters(source, options))

    def _layout(self, importer: Any, source: Source) -> dict[str, str]:
        """Columns as given, else as in the last table with the same names, in whatever
        order, else guessed; they are remembered for the next one."""
        db, names = self.store.db, importer.names(source)
        shape = json.dumps(sorted(name.casefold() for name in names))
        key = "columns " + hashlib.sha256(shape.encode()).hexdigest()
        row = db.execute("SELECT value FROM state WHERE name = ?", [key]).fetchone()
        known = dict(json.loads(row[0])) if row else {}
        asked = {**known, **self.mapping}
        chosen: dict[str, str] = asdict(importer.columns(source, asked))
        if self.mapping:
            origin = "; remembered for files with these columns"
        else:
            guess = "as the last time" if known else "guessed"
            origin = f" ({guess}; --map FIELD=COLUMN changes it)"
        found = (f"{name}={column}" for name, column in chosen.items() if column)
        self.report.notes.append(f"{source.name}: {', '.join(found)}{origin}")
        if chosen != known:
            value = json.dumps(chosen)
            with immediate(db):
                db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", [key, value])
        return chosen


def _metered(progress: ProgressCallback | None, total: int) -> Callable[[int], None]:
    """Reports progress a few hundred times at most, whatever the number of records."""
    step = -1

    def meter(done: int) -> None:
        nonlocal step
        reached = 400 * done // max(1, total)
        if progress is not None and reached != step:
            step = reached
            progress(min(done, total), total)

    return meter


@contextmanager
def _translated(path: Path, report: ImportReport) -> Iterator[None]:
    """Faults of files and of SQLite as sentences, with what was committed, which
    stays."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (OSError, *UNREADABLE, *faults())):
            raise
        counts = {
            "of yours": report.added,
            "of yours that changed": report.updated,
            "by others": report.received,
        }
        texts = [f"{count:,} {whose}" for whose, count in counts.items() if count]
        safe = f"texts, which are safe ({', '.join(texts)})" if texts else "no text"
        if is_full(error):
            raise StoreError(
                f"The disk is full. This run stored {safe}: make room and run the same "
                "import again."
            ) from error
        if isinstance(error, faults()):
            raise StoreError(f"The store cannot be written: {error}.") from error
        raise SourceError(
            f"{path} cannot be read to its end: {why(error)}. This run stored {safe}; "
            "the same import goes on from there."
        ) from error
