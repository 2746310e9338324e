"""Reading many small files as one source, so that an import of them can go on."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from personal_store.files.archives import FAULTS
from personal_store.files.files import Source, parts, why
from personal_store.mail.mail import Mail, parse_headers
from personal_store.records import ImportFailure, ReadOptions

Read = TypeVar("Read")
ReadFile = Callable[[Source, int, int], Iterable[Read]]
"""(file, position before it, position after it) to its items. All but the last item
carry the position before it: a run that is cut in between reads the file again."""


def read_each(
    source: Source, options: ReadOptions, read_file: ReadFile[Read]
) -> Iterator[Read | ImportFailure]:
    """The items of every file after options.start; what cannot be read is a failure."""
    after = 0
    for file in parts(source):
        before, after = after, after + file.size
        if after <= options.start:
            continue
        if file.fault:
            reason = file.fault.removeprefix(f"{file.place} ").rstrip(".")
            yield ImportFailure(after, file.place, reason)
            continue
        try:
            yield from read_file(file, before, after)
        except FAULTS as error:
            yield ImportFailure(after, file.place, f"it cannot be read: {why(error)}")


def envelopes_of(
    source: Source,
    folder: Callable[[Source], str] = lambda _: "",
    head: Callable[[Source], bytes] = Source.head,
) -> Iterator[Mail]:
    """The headers of each message that can be read, with the folder it lies in."""
    for file in parts(source):
        if file.fault:
            continue
        try:
            yield parse_headers(head(file), folder(file))
        except FAULTS:
            continue
