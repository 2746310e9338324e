"""Mail in files: mbox, single messages (.eml), Maildir and Apple Mail's .emlx.

Apple Mail writes a byte count, the message, and a property list with flags in one
number: bit 0 read, 1 deleted, 2 answered, 6 draft, 8 forwarded. Apple documents none of
it; all public readers agree on these bits. Mail gives Message-ID and Date to drafts as
well, so the bit is believed, unless what it stands on has left for certain: it lies in
a mailbox of sent mail, or a server has put a Received header on it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files import (
    FAULTS,
    Bundle,
    Source,
    Wanted,
    bundled,
    ends_with,
    locate,
)
from personal_store.importers.exports import read_each, readable
from personal_store.mail.labels import folder_label, is_sent, unwanted
from personal_store.mail.mail import Mail, parse_headers
from personal_store.mail.mailbox import (
    MAX_MESSAGE,
    RawMessage,
    Stretch,
    begins_message,
    looks_like_mailbox,
    split,
    stretches,
)
from personal_store.reading.letters import Letter, read_now
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped


class _Mbox:
    """Mailbox files: Gmail Takeout, Thunderbird, Apple Mail, anything mbox."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every mailbox in a folder or zip such as a Takeout."""
        found = locate(path, _is_mbox, "mbox file")
        if path.is_file() and not found[0].member:
            head = found[0].head(4096)
            if not looks_like_mailbox(head):
                hint = "its first line is not 'From ', a sender and a date"
                if parse_headers(head).headers.get("from"):
                    hint = "it looks like a single message, which 'import eml' reads"
                raise SourceError(f"{found[0].path} is not an mbox file: {hint}.")
        return found

    def envelopes(self, source: Source) -> Iterator[Mail]:
        """The headers of each message."""
        folder = _box(source)
        with source.open() as stream:
            for message in split(stream):
                yield parse_headers(message.content, folder)

    def begins_at(self, source: Source, position: int) -> bool:
        """Whether a message begins there, as `split` finds them."""
        with source.open() as stream:
            return begins_message(stream, position)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """The messages after options.start, which is where one begins."""
        return map(read_now, self.letters(source, options))

    def letters(self, source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
        """The messages after options.start, not read yet; of a plain file only where
        each lies, so that other processes can read them."""
        folder = _box(source)

        def letter(place: RawMessage | Stretch, raw: bytes | Stretch) -> Letter:
            where = f"{source.name}, message at byte {place.begin:,}"
            return Letter(raw, place.end, where, options.me, folder=folder)

        if source.content is None:
            for one in stretches(source.path, options.start):
                yield letter(one, one)
            return
        with source.open() as stream:
            for message in split(stream, options.start):
                found = letter(message, message.content)
                yield replace(found, envelope=message.envelope)


def _is_mbox(file: Source) -> bool:
    suffix = Path(file.name).suffix.lower()
    return suffix in (".mbox", ".mbx", "") and looks_like_mailbox(file.head(512))


def _box(source: Source) -> str:
    """The name of a mailbox that programs keep for sent mail, drafts, trash or spam;
    Apple Mail gives it to the folder around a file called 'mbox'."""
    inner = source.name == "mbox" and source.folders
    label = folder_label(source.folders[-1] if inner else source.name)
    return label if is_sent((label,)) or unwanted((label,)) else ""


@dataclass(frozen=True, slots=True)
class _Messages:
    """Files or folders with one message in each file."""

    what: str
    wanted: Wanted
    message_of: Callable[[Source], bytes | str]
    """The message in a file, or the reason why it is skipped; raises SourceError if it
    is absent."""
    folder_of: Callable[[Source], str] = lambda _: ""
    head_of: Callable[[Source], bytes] = Source.head
    check: Callable[[Source], None] = lambda _: None
    """Raises SourceError for a file given by itself that is something else."""

    def sources(self, path: Path) -> list[Bundle]:
        """One source that stands for all the messages behind the path."""
        found = locate(path, self.wanted, self.what)
        if path.is_file() and not found[0].member:
            self.check(found[0])
        return bundled(path, found)

    def envelopes(self, source: Source) -> Iterator[Mail]:
        """The headers of each message that can be read."""
        for file in readable(source):
            with suppress(*FAULTS):
                yield parse_headers(self.head_of(file), self.folder_of(file))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """The messages, in the order of their names."""
        return map(read_now, self.letters(source, options))

    def letters(self, source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
        """The messages as `read` gives them, not parsed yet."""

        def read_file(file: Source, _: int, after: int) -> Iterator[Letter | Item]:
            try:
                raw = self.message_of(file)
            except SourceError as error:
                yield ImportFailure(after, file.place, str(error))
                return
            if isinstance(raw, str):
                yield Skipped(after, raw)
                return
            folder = self.folder_of(file)
            yield Letter(raw, after, file.place, options.me, folder=folder)

        return read_each(source, options, read_file)


def _check_single(file: Source) -> None:
    head = file.head(4096)
    if looks_like_mailbox(head):
        raise SourceError(f"{file.path} is a mailbox: 'import mbox' reads it.")
    if not parse_headers(head).headers.get("from"):
        raise SourceError(f"{file.path} is not a mail message: it has no 'From:'.")


# Maildir, as Dovecot, mutt, offlineimap and mbsync keep it: the flags are ":2,FS" as
# the format says; "!2," or ";2," if a file name cannot hold a colon.
_MAILDIR_FLAGS = re.compile(r"[:!;]2,([A-Za-z]*)$")
_REASONS = {"T": "in the trash", "D": "drafts"}
_FOREIGN = re.compile(r"\.(?:msf|dat|db|lock|lst)$|^(?:dovecot|\.)", re.IGNORECASE)
"""What programs keep beside the messages."""


def _in_maildir(file: Source) -> bool:
    """Half-written messages in `tmp` are left alone."""
    inside = file.folders[-1:] in (("cur",), ("new",))
    return inside and not _FOREIGN.search(file.name)


def _of_maildir(file: Source) -> bytes | str:
    found = _MAILDIR_FLAGS.search(file.name)
    flags = found[1].upper() if found else ""
    reasons = (_REASONS[flag] for flag in flags if flag in _REASONS)
    return next(reasons, "") or file.head(MAX_MESSAGE)


def _around_cur(file: Source) -> str:
    return folder_label(file.folders[-2]) if len(file.folders) > 1 else ""


_COUNT = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n")
_FLAGS = re.compile(rb"<key>flags</key>\s*<integer>(\d{1,19})</integer>")
_LIST = 65_536  # bytes of the property list that are looked at
_DELETED, _DRAFT = 1 << 1, 1 << 6


def _of_apple(file: Source) -> bytes | str:
    with file.open() as stream:
        count = _COUNT.match(stream.read(64))
        if count is None:
            raise SourceError("its first line is no byte count")
        length = int(count[1])
        stream.seek(count.end())
        raw = stream.read(min(length, MAX_MESSAGE))
        stream.seek(count.end() + length)
        found = _FLAGS.search(stream.read(_LIST))
    flags = int(found[1]) if found else 0
    if flags & _DELETED:
        return "in the trash"
    # A draft may have been sent all the same: its folder, or a server, says so.
    draft = flags & _DRAFT and not is_sent((_apple_box(file),))
    if draft and "received" not in parse_headers(raw).headers:
        return "drafts"
    return raw


def _apple_box(file: Source) -> str:
    """The mailbox: .../Sent Messages.mbox/<id>/Data/Messages/7.emlx."""
    boxes = (name for name in reversed(file.folders) if name.endswith(".mbox"))
    return folder_label(next(boxes, ""))


mbox = _Mbox()
eml = _Messages(
    ".eml file",
    ends_with(".eml"),
    lambda file: file.head(MAX_MESSAGE),
    check=_check_single,
)
maildir = _Messages(
    "Maildir (with 'cur' and 'new')", _in_maildir, _of_maildir, _around_cur
)
emlx = _Messages(
    ".emlx file",
    ends_with(".emlx"),
    _of_apple,
    _apple_box,
    lambda file: _COUNT.sub(b"", file.head(), count=1),
)
