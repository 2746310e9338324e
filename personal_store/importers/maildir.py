"""Maildir folders, as Dovecot, mutt, offlineimap and mbsync keep them."""

import re
from collections.abc import Iterator
from pathlib import Path

from personal_store.files.files import bundled
from personal_store.files.sources import Source, locate
from personal_store.mail.labels import folder_label
from personal_store.mail.mail import Mail
from personal_store.mail.splitting import MAX_MESSAGE
from personal_store.reading.bundles import envelopes_of, read_each
from personal_store.reading.letters import Letter, read_now
from personal_store.records import Item, ReadOptions, Skipped

# ":2,FS" as the format says; "!2," or ";2," where a file name cannot hold a colon.
_FLAGS = re.compile(r"[:!;]2,([A-Za-z]*)$")
_REASONS = {"T": "in the trash", "D": "drafts"}
# What programs keep beside the messages.
_FOREIGN = re.compile(r"\.(?:msf|dat|db|lock|lst)$|^(?:dovecot|\.)", re.IGNORECASE)


def sources(path: Path) -> list[Source]:
    """All messages in `cur` and `new`; half-written ones in `tmp` are left alone."""
    found = locate(
        path,
        lambda file: (
            file.folders[-1:] in (("cur",), ("new",)) and not _FOREIGN.search(file.name)
        ),
        "Maildir (with 'cur' and 'new')",
    )
    return bundled(path, found)


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    return envelopes_of(source, _folder)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, folder by folder, but those flagged as trashed or as drafts."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The messages as `read` gives them, not parsed yet."""

    def read_file(file: Source, _: int, position: int) -> Iterator[Letter | Item]:
        found = _FLAGS.search(file.name)
        flags = found[1].upper() if found else ""
        reason = next((_REASONS[flag] for flag in flags if flag in _REASONS), "")
        if reason:
            yield Skipped(position, reason)
            return
        yield Letter(
            file.head(MAX_MESSAGE),
            position=position,
            where=file.place,
            me=options.me,
            folder=_folder(file),
        )

    return read_each(source, options, read_file)


def _folder(file: Source) -> str:
    """The name of the folder around 'cur'."""
    return folder_label(file.folders[-2]) if len(file.folders) > 1 else ""
