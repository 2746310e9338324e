"""An import of everything behind a path: what it will read, in lines, and doing it."""

from __future__ import annotations

from collections.abc import Iterator

from personal_store import ImportReport, Store, import_source
from personal_store.errors import SourceError, StoreBusyError
from personal_store.importers.formats.service_files import BOTH, NOBODY, OTHERS, YOURS
from personal_store.ingest.discovery import Discovery, discover
from personal_store.ingest.guards import in_words
from personal_store.ingest.importing import import_sources
from personal_store.ingest.unfinished import Unfinished, as_begun, noted
from personal_store.records import ProgressCallback

AUTO = "auto"
"""The kind that stands for whatever is found."""
_SUFFIXES = 6
_NAMED = 3
"""Files that are named where no importer knows more than these."""


def plan(discovery: Discovery) -> Iterator[str]:
    """What will be read, by kind, what will not and why, and what cannot be."""
    width = max((len(found.kind) for found in discovery.found), default=0)
    for found in discovery.found:
        files = "1 file" if found.files == 1 else f"{found.files:,} files"
        yield f"{found.kind:<{width}}  {files}, {in_words(found.size)}"
    yield from unread(discovery)
    yield from map(str, discovery.faults)


def import_noted(
    store: Store, asked: Unfinished, progress: ProgressCallback
) -> ImportReport:
    """Import what is asked for, as it was begun where it was broken off before; until
    it is done the store knows that it was not finished. Raises as `import_all` and
    `import_source` do."""
    asked = as_begun(store, asked)
    with noted(store, asked, progress) as advance:
        if asked.kind == AUTO:
            return import_all(store, asked, advance)
        return import_source(
            store,
            asked.kind,
            asked.path,
            me=asked.me,
            mapping=asked.mapping,
            progress=advance,
        )


def import_all(
    store: Store, asked: Unfinished, progress: ProgressCallback
) -> ImportReport:
    """Import whatever is found behind a path, one kind after the other; a kind that
    cannot be imported is noted, and others go on.

    Raises:
        SourceError: there is nothing at the path, or nothing that says who wrote it.
        StoreError: as `import_sources` does.
    """
    discovery = discover(asked.path, mine=asked.mine)
    if not discovery.found:
        raise SourceError(
            f"Nothing in {asked.path} can be imported by itself: name its kind."
        )
    total = sum(found.size for found in discovery.found)
    reports, notes, before = list[ImportReport](), list[str](), 0
    for found in discovery.found:

        def advance(done: int, _: int, before: int = before) -> None:
            progress(before + done, total)

        try:
            reports.append(
                import_sources(
                    store,
                    found.kind,
                    found.sources,
                    me=asked.me,
                    mapping=asked.mapping,
                    progress=advance,
                )
            )
        except StoreBusyError:
            raise
        except SourceError as error:
            notes.append(f"{found.kind}: {error}")
        before += found.size
    if not reports:
        raise SourceError("; ".join(notes))
    report = joined(reports)
    report.notes += notes
    return report


def joined(reports: list[ImportReport]) -> ImportReport:
    """The counts of several imports as those of one."""
    total = ImportReport()
    for report in reports:
        total.added += report.added
        total.updated += report.updated
        total.received += report.received
        total.met += report.met
        total.failures += report.failures
        total.reasons += report.reasons
    return total


def unread(discovery: Discovery) -> Iterator[str]:
    """What is not read, as sentences, by the reason why."""
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


_WHOSE = {
    OTHERS: "which others wrote",
    BOTH: "which others wrote, too",
    NOBODY: "which nobody wrote",
    YOURS: "which you wrote, but not to be read",
}
