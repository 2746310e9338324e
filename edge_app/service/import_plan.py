"""An import of everything behind a path: what it will read, in lines, and doing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from personal_store import ImportReport, Store, import_source, importers
from personal_store.discovery import Discovery, Found, discover
from personal_store.errors import SourceError, StoreBusyError
from personal_store.import_runs import Unfinished, as_begun, in_words, noted
from personal_store.importers import MailImporter, TalkImporter
from personal_store.importers.service_files import BOTH, NOBODY, OTHERS, YOURS
from personal_store.importing import find_owner
from personal_store.reading.authorship import SAMPLE
from personal_store.records import ProgressCallback

AUTO = "auto"  # the kind that stands for whatever is found
_SUFFIXES, _NAMED = 6, 3  # kinds of files, and files of a kind, that are named
_WHOSE = {
    OTHERS: "which others wrote",
    BOTH: "which others wrote, too",
    NOBODY: "which nobody wrote",
    YOURS: "which you wrote, but not to be read",
}


Plan = tuple[tuple[str, ...], str]
"""Lines about what an import would read, and whom it would take for the owner; and why
nothing can be read, empty if something can."""


def look(
    kind: str, path: Path, me: Sequence[str] = (), known: Sequence[str] = ()
) -> Plan:
    """The plan of an import of this kind. `me` are the addresses that the person gave,
    `known` those in the store. Raises SourceError, StoreError and OSError."""
    if kind != AUTO:
        return planned(of_kind(kind, path), me, known)
    discovery = discover(path)
    if not discovery.found:
        problem = f"nothing in {path} says by itself what it is: choose its kind"
        return tuple(unread(discovery)), problem
    return planned(discovery, me, known)


def of_kind(kind: str, path: Path, only: Collection[Path] = ()) -> Discovery:
    """What an importer reads of `only` these files, or of all; raises SourceError."""
    sources = tuple(
        source
        for source in importers.load(kind).sources(path)
        if not only or source.path in only
    )
    files = len({source.path for source in sources})
    size = sum(source.size for source in sources)
    return Discovery((Found(kind, sources, files, size),) if sources else ())


def planned(
    discovery: Discovery, me: Sequence[str] = (), known: Sequence[str] = ()
) -> Plan:
    """The plan of an import of all that was found; raises StoreError and OSError."""
    owners, problems = list[str](), list[str]()
    for found in discovery.found:
        try:
            owners += _owner(found, me, known)
        except SourceError as error:
            problems.append(str(error))
    lines = (*_kinds(discovery), *dict.fromkeys(owners), *unread(discovery))
    if len(problems) < len(discovery.found):
        return (*lines, *problems), ""
    return lines, problems[0]


def plan(discovery: Discovery) -> Iterator[str]:
    """The files that will be read, by kind, and those that will not, with reasons."""
    yield from _kinds(discovery)
    yield from unread(discovery)


def _kinds(discovery: Discovery) -> Iterator[str]:
    width = max((len(found.kind) for found in discovery.found), default=0)
    for found in discovery.found:
        files = "1 file" if found.files == 1 else f"{found.files:,} files"
        yield f"{found.kind:<{width}}  {files}, {in_words(found.size)}"


def _owner(found: Found, me: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Whom an import takes for the owner of what was found, and why."""
    importer = importers.load(found.kind)
    if isinstance(importer, MailImporter):
        readable = (source for source in found.sources if not source.fault)
        mails = chain.from_iterable(map(importer.envelopes, readable))
        count = len(list(islice(mails, SAMPLE)))
        more = "at least " if count == SAMPLE else ""
        yield f"{found.kind}: {more}{count:,} mail{'' if count == 1 else 's'}"
    owner = find_owner(importer, found.sources, me, known)
    yield from owner.sentences()
    if not isinstance(importer, MailImporter | TalkImporter):
        yield f"{found.kind}: all of it is taken for yours"
    elif not owner.why:
        said = "as you say" if me else "as before"
        yield f"taking {', '.join(owner.addresses or known)} for you, {said}"


def import_noted(
    store: Store,
    asked: Unfinished,
    progress: ProgressCallback,
    *,
    again: bool = False,
    discovery: Discovery | None = None,
    on_kind: Callable[[str, ImportReport | SourceError], None] | None = None,
) -> ImportReport:
    """Import what is asked for, as it was begun if it was broken off before; the store
    notes it as unfinished until it is done. Raises StoreError, and SourceError if
    nothing can be read.

    Of `auto`, one kind is imported after the other, and `on_kind` gets the outcome of
    each, as of any `discovery` that is given. `again` reads unchanged files, too.
    """
    asked = as_begun(store, asked)
    options: dict[str, Any] = {"me": asked.me, "mapping": asked.mapping, "again": again}
    with noted(store, asked, progress) as advance:
        if asked.kind != AUTO and discovery is None:
            return import_source(
                store, asked.kind, asked.path, progress=advance, **options
            )
        found = (discovery or discover(asked.path, mine=asked.mine)).found
        total, before = sum(one.size for one in found), 0
        reports, notes = list[ImportReport](), list[str]()

        def read(done: int, _: int) -> None:
            advance(before + done, total)

        for one in found:
            outcome: ImportReport | SourceError
            try:
                outcome = import_source(
                    store, one.kind, one.sources, progress=read, **options
                )
                reports.append(outcome)
            except StoreBusyError:
                raise
            except SourceError as error:
                outcome = error
                notes.append(f"{one.kind}: {error}")
            if on_kind is not None:
                on_kind(one.kind, outcome)
            before += one.size
        if not reports and on_kind is None:
            nothing = f"Nothing in {asked.path} can be imported by itself"
            raise SourceError("; ".join(notes) or f"{nothing}: name its kind.")
        report = joined(reports)
        report.notes += notes
        return report


def joined(reports: list[ImportReport]) -> ImportReport:
    """The counts of several imports as those of one."""
    total = ImportReport()
    for report in reports:
        for name in ("added", "updated", "received", "met", "failures", "reasons"):
            setattr(total, name, getattr(total, name) + getattr(report, name))
    return total


def unread(discovery: Discovery) -> Iterator[str]:
    """The files that are not read, as a sentence for each reason."""
    whose: dict[str, list[str]] = {}
    for file, row in discovery.kept_out:
        whose.setdefault(_WHOSE[row.whose], []).append(file.name)
    for why, names in whose.items():
        more = len(names) - _NAMED
        others = f" and {more:,} more" if more > 0 else ""
        yield f"not read: {', '.join(names[:_NAMED])}{others}, {why}"
    if discovery.unsigned:
        counted = ", ".join(f"{f.files:,} {f.kind}" for f in discovery.unsigned)
        yield (
            f"not read: {counted}, which do not say who wrote them; --mine says that "
            "you did"
        )
    if 0 < len(discovery.left) <= _NAMED:
        yield "not read: " + ", ".join(file.name for file in discovery.left)
    elif discovery.left:
        common = discovery.left_by_suffix().most_common(_SUFFIXES)
        shown = [f"{count:,} {name}" for name, count in common]
        if rest := len(discovery.left) - sum(count for _, count in common):
            shown.append(f"{rest:,} others")
        yield f"not read: {len(discovery.left):,} files ({', '.join(shown)})"
    yield from map(str, discovery.faults)
