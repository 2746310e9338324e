"""Apple Mail's own files: a byte count, the message, and a property list.

The list holds flags in one number: bit 0 read, 1 deleted, 2 answered, 6 draft, 8
forwarded, and from bit 10 on how many attachments there are, how urgent it is, what the
junk filter thought. Apple documents none of it; all public readers agree on these bits.
A public sample with bit 6 looks like an answer that was sent, with Message-ID and Date,
but also names itself a draft in X-Uniform-Type-Identifier: Mail gives the other two to
drafts as well. So the bit is believed, unless what it stands on has left for certain:
it lies in a mailbox of sent mail, or a server has put a Received header on it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from personal_store.files.files import bundled
from personal_store.files.sources import Source, ends_with, locate
from personal_store.mail.labels import folder_label, is_sent
from personal_store.mail.mail import Mail, parse_headers
from personal_store.mail.splitting import MAX_MESSAGE
from personal_store.reading.bundles import envelopes_of, read_each
from personal_store.reading.letters import Letter, read_now
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped

_COUNT = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n")
_FLAGS = re.compile(rb"<key>flags</key>\s*<integer>(\d{1,19})</integer>")
_LIST = 65_536
"""Bytes of the property list that are looked at."""
_DELETED = 1 << 1
_DRAFT = 1 << 6


def sources(path: Path) -> list[Source]:
    """All messages below a folder such as ~/Library/Mail; partial ones as well."""
    return bundled(path, locate(path, ends_with(".emlx"), ".emlx file"))


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    return envelopes_of(source, _folder, lambda file: _COUNT.sub(b"", file.head(), 1))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, but those Apple Mail marked as deleted or as drafts."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The messages as `read` gives them, not parsed yet."""

    def read_file(file: Source, _: int, position: int) -> Iterator[Letter | Item]:
        found = _message(file)
        if found is None:
            reason = "its first line is no byte count"
            yield ImportFailure(position, file.place, reason)
            return
        raw, flags = found
        if flags & _DELETED:
            yield Skipped(position, "in the trash")
            return
        # A draft may have been sent all the same: its folder, or a server, says so.
        draft = flags & _DRAFT and not is_sent((_folder(file),))
        if draft and "received" not in parse_headers(raw).headers:
            yield Skipped(position, "drafts")
            return
        yield Letter(
            raw,
            position=position,
            where=file.place,
            me=options.me,
            folder=_folder(file),
        )

    return read_each(source, options, read_file)


def _message(file: Source) -> tuple[bytes, int] | None:
    """(the message, its flags); None if the file begins otherwise."""
    with file.open() as stream:
        first = stream.read(64)
        count = _COUNT.match(first)
        if count is None:
            return None
        length = int(count[1])
        stream.seek(count.end())
        raw = stream.read(min(length, MAX_MESSAGE))
        stream.seek(count.end() + length)
        flags = _FLAGS.search(stream.read(_LIST))
    return raw, int(flags[1]) if flags else 0


def _folder(file: Source) -> str:
    """The mailbox: .../Sent Messages.mbox/<id>/Data/Messages/7.emlx."""
    boxes = (name for name in reversed(file.folders) if name.endswith(".mbox"))
    return folder_label(next(boxes, ""))
