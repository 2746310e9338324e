"""What lies in the exports of services, and whose words these are.

One table for all, in service_files.toml: `import auto` lists what it leaves by it,
tables of any service are checked against it, and docs/importing.md prints it. What no
row knows is left as well, as long as it lies in an export.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from personal_store.files import FAULTS, Source
from personal_store.importers.structured import has_columns

YOURS, OTHERS, BOTH, NOBODY = "yours", "others'", "both", "nobody's"


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """A kind of file in the export of a service."""

    service: str  # the importer of the service
    label: str  # what the file is called
    whose: str
    done: str  # what is done with it; begins with "not read" if nothing is
    names: str  # pattern for its base name
    columns: tuple[str, ...] = ()
    """Names of columns, as `plain` spells them, by which it is recognised
    outside of an export, too; empty if only its name counts there."""

    @property
    def is_read(self) -> bool:
        """Whether the importer takes words out of it."""
        return not self.done.startswith("not read")

    def fits(self, source: Source) -> bool:
        """Whether a source is such a file."""
        if re.fullmatch(self.names, source.name, re.IGNORECASE) is None:
            return False
        return not self.columns or has_columns(
            source.head(), *((column,) for column in self.columns)
        )


def _rows() -> Iterator[ServiceFile]:
    path = Path(__file__).with_suffix(".toml")
    for service, rows in tomllib.loads(path.read_text("utf-8")).items():
        for row in rows:
            done = row.get("done") or f"not read{row.get('because', '')}"
            columns = tuple(row.get("columns", ()))
            yield ServiceFile(
                service, row["files"], row["whose"], done, row["names"], columns
            )


FILES = tuple(_rows())

ALONE = frozenset(("goodreads", "storygraph", "whatsapp"))
"""Services whose export is one file: what lies beside it in a folder is not theirs."""

_TAKEOUT = r"takeout"
_INNER = {
    "amazon_reviews": r"(?:retail|digital)\..*|datasets|additional data|your .*",
    "facebook": r"your_.*activity.*|messages|inbox|archived_threads|filtered_threads"
    r"|message_requests|e2ee_cutover|posts|comments.*|groups|personal_information",
    "google_play": _TAKEOUT,
    "google_reviews": _TAKEOUT,
    "instagram": r"your_.*activity.*|messages|inbox|comments.*|media|content"
    r"|personal_information",
    "keep": _TAKEOUT,
    "letterboxd": r"deleted|orphaned|lists|likes",
    "linkedin": r"jobs|verifications",
    "x_archive": r"data",
    "youtube_comments": _TAKEOUT,
}
"""Folders that lie in the export of a service, never around it."""
_DEEPEST = 6  # levels of folders in an export


def unread_file(source: Source, service: str = "") -> ServiceFile | None:
    """The row of a file that is not read; None if no row fits.

    Within the export of a service its name is enough; elsewhere its columns decide.
    """
    rows = (row for row in FILES if row.service == service or row.columns)
    with suppress(*FAULTS):
        return next((row for row in rows if not row.is_read and row.fits(source)), None)
    return None


def keep_out(path: Path, sources: Sequence[Source]) -> list[Source]:
    """The sources, with a fault for known files that hold words of others.

    A file that is given by itself stays as it is.
    """
    if len(sources) == 1 and not sources[0].member and path.is_file():
        return list(sources)
    found = []
    for source in sources:
        row = None if source.fault else unread_file(source)
        if row is not None and row.whose != YOURS:
            fault = (
                f"{source.place} is a file of {row.service} with {_WORDS[row.whose]}: "
                "give it by itself if it is yours all the same."
            )
            source = replace(source, fault=fault)
        found.append(source)
    return found


_WORDS = {
    OTHERS: "words of others",
    BOTH: "words of others beside yours",
    NOBODY: "nobody's words",
}


@dataclass(slots=True)
class Exports:
    """Where the exports of services lie among other files."""

    archives: dict[Path, str] = field(default_factory=dict)
    """The service by archive; all that is in one belongs to its export."""
    folders: dict[Path, str] = field(default_factory=dict)

    def meet(self, service: str, files: Iterable[Source]) -> None:
        """Take files that are a service's for certain."""
        for file in files:
            if file.member:
                self.archives.setdefault(file.path, service)
            elif service not in ALONE:
                self.folders.setdefault(_top(service, file.path.parent), service)

    def service_of(self, source: Source) -> str:
        """The service in whose export a file lies; empty if it lies in none."""
        if source.member:
            return self.archives.get(source.path, "")
        return next(
            (self.folders[up] for up in source.path.parents if up in self.folders), ""
        )


def _top(service: str, folder: Path) -> Path:
    """The folder that is the whole export of which this one is a part."""
    inner = _INNER.get(service, "")
    above = [folder, *folder.parents][:_DEEPEST]
    parts = [up for up in above if re.fullmatch(inner, up.name, re.IGNORECASE)]
    if not parts:
        return folder
    return parts[-1] if inner == _TAKEOUT else parts[-1].parent
