"""The files behind a path: one file, every fitting one in a folder, or in an archive.

What an importer reads is a `Source`. Where it lies - on its own, in a zip, in a tar
inside a zip - is the business of this package's files.py and archives.py alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.archives import FAULTS, is_archive, unpack
from personal_store.files.files import HEAD, Source, Wanted, in_folder, of_file, why

__all__ = [
    "HEAD",
    "Selection",
    "Source",
    "Wanted",
    "everything",
    "locate",
    "only",
    "opened",
]

_INSTEAD = {
    ".pst": "is an Outlook archive: 'import pst' reads it",
    ".ost": "is an Outlook archive: 'import pst' reads it",
    ".olm": "is an archive of Outlook for Mac: drag the messages out of Outlook into a "
    "folder, which makes .eml files, and import that",
    ".msg": "is an Outlook message: save it as .eml and import that",
    ".gz": "is packed: unpack it and import what is in it",
    ".bz2": "is packed: unpack it and import what is in it",
    ".xz": "is packed: unpack it and import what is in it",
    ".7z": "is packed: unpack it and import what is in it",
    ".rar": "is packed: unpack it and import what is in it",
}


def ends_with(*suffixes: str) -> Wanted:
    """Wants files whose name ends with one of these, in whatever case."""
    return lambda source: source.name.lower().endswith(suffixes)


def locate(
    path: Path, wanted: Wanted, what: str, *, archives: bool = True
) -> list[Source]:
    """The sources behind a path, in a fixed order; raises SourceError if none.

    A single file is taken at its word; in folders and archives `wanted` chooses.
    Archives in a folder are looked into as well, unless told otherwise. A source that
    cannot be read is listed with its fault, as long as there are others.
    """
    selection = _selection.get()
    try:
        if selection is not None:
            found = selection.pick(wanted)
        else:
            _check(path)
            if path.is_file() and not is_archive(of_file(path)):
                found = [of_file(path)]
                hint = _INSTEAD.get(path.suffix.lower())
                if hint and not _tried(found[0], wanted):
                    raise SourceError(f"{path} {hint}.")
            else:
                listed = listing(path, wanted, archives=archives)
                found = [source for one in listed for source in _tried(one, wanted)]
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {why(error)}.") from error
    if found and all(source.fault for source in found):
        raise SourceError(found[0].fault)
    if not found:
        raise SourceError(f"There is no {what} in {path}.")
    return found


def everything(path: Path, worth: Wanted) -> list[Source]:
    """All that is behind a path; of packed tars only what is worth unpacking."""
    try:
        return list(listing(path, worth))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {why(error)}.") from error


def listing(path: Path, wanted: Wanted, *, archives: bool = True) -> Iterator[Source]:
    """Everything behind a path; of packed tars only what is wanted, for it takes room.

    Raises SourceError if there is nothing, or if the path is an archive that cannot be
    opened. One in a folder that cannot be opened is a source with a fault.
    """
    _check(path)
    if path.is_dir():
        yield from opened(in_folder(path), wanted, archives=archives)
    elif is_archive(file := of_file(path)):
        yield from unpack(file, wanted)
    else:
        yield file


def opened(
    files: Iterable[Source], wanted: Wanted, *, archives: bool = True
) -> Iterator[Source]:
    """The files, with what is in those that are archives in their place."""
    for file in files:
        try:
            if file.fault or not (archives and is_archive(file)):
                yield file
            else:
                yield from unpack(file, wanted)
        except SourceError as error:
            yield replace(file, fault=str(error))
        except OSError as error:
            yield replace(file, fault=f"{file.place} cannot be read: {why(error)}.")


@dataclass(slots=True)
class Selection:
    """Some of the sources behind a path, which `locate` then takes for all of them."""

    sources: Sequence[Source]
    accepts: Wanted = lambda _: True
    picked: list[Source] = field(default_factory=list)
    """What importers asked for and got."""

    def pick(self, wanted: Wanted) -> list[Source]:
        """The sources that an importer wants, if it may have them."""

        def both(source: Source) -> bool:
            return wanted(source) and self.accepts(source)

        found = [source for one in self.sources for source in _tried(one, both)]
        self.picked += found
        return found


_selection: ContextVar[Selection | None] = ContextVar("selection", default=None)


@contextmanager
def only(selection: Selection) -> Iterator[Selection]:
    """Let importers see these sources and no others, whatever the path."""
    before = _selection.set(selection)
    try:
        yield selection
    finally:
        _selection.reset(before)


def _tried(source: Source, wanted: Wanted) -> list[Source]:
    """The source if it is wanted; with its fault if it cannot even be looked at."""
    if source.fault:
        return [source]
    try:
        return [source] if wanted(source) else []
    except FAULTS as error:
        fault = f"{source.place} cannot be read: {why(error)}."
        return [replace(source, fault=fault)]


def _check(path: Path) -> None:
    if not path.exists():
        raise SourceError(f"There is no file or folder {path}.")
    if not (path.is_dir() or path.is_file()):
        raise SourceError(f"{path} is neither a file nor a folder.")
    if path.is_file() and path.stat().st_size == 0:
        raise SourceError(f"{path} is empty.")
