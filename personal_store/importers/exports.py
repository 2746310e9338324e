"""What importers of exports share: finding their files, reading them, whose they are.

An export is many files, of which some hold texts. They are read one after the other as
one source, so that an import has one place to go on from and one name in the store.
"""

import hashlib
import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.cleaning.markup import own_text
from personal_store.errors import SeveralOwnersError, SourceError
from personal_store.files import FAULTS, Bundle, Source, bundled, locate, parts, why
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date
from personal_store.text.tokens import tokens

FEWEST_WORDS = 3  # A message with fewer words says nothing about how somebody writes
WITHOUT_TEXT = "without text"
WITHOUT_WORDS = "without own words"

_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|i|li|ol|p|pre|s|span|spoiler|strong|u|ul)\b"
    r"[^<>]*>",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"<(?:br|p|div|li)\b", re.IGNORECASE)
_QUOTE = re.compile(
    r"<blockquote\b(?:(?!<blockquote\b).)*?</blockquote\s*>", re.IGNORECASE | re.DOTALL
)
_OPEN_QUOTE = re.compile(r"<blockquote\b.*", re.IGNORECASE | re.DOTALL)
_DEEPEST_QUOTE = 20
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_TO = re.compile(r"\s*((?:@[\w.-]+(?:@[\w.-]+)?[,:]?\s+)+|@[\w.-]+(?:@[\w.-]+)?\s*\Z)")
_GONE = re.compile(
    r"\W*\[\s*(?:deleted|removed|unavailable)\b[^\]\n]{0,100}\]\W*", re.IGNORECASE
)
_NAMES_SHOWN = 12


ReadFile = Callable[[Source], Iterator[Item]]
"""Reads one file of an export; positions count from the start of that file."""
OwnerOf = Callable[[Source], Iterable[str]]
"""The names that a file gives to the owner, the most distinct one last."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How to tell the files of a service from others."""

    what: str  # what to call such a file in a refusal
    names: str  # pattern for the base name; ignored for a file that is given by itself
    shaped: Callable[[bytes], bool]  # whether a file may begin like this
    elsewhere: str = r"(?!)"
    """Pattern for a folder, among the four nearest, or an archive, whose files are not
    meant."""

    def fits(self, source: Source) -> bool:
        """Whether a file in a folder or an archive is one of the service's."""
        archive = (source.path.name,) if source.member else ()
        around = (*source.folders[-4:], *archive)
        return (
            re.fullmatch(self.names, source.name, re.IGNORECASE) is not None
            and not any(re.search(self.elsewhere, f, re.I) for f in around)
            and self.shaped(source.head())
        )


@dataclass(frozen=True, slots=True)
class Service:
    """The importer of one service's exports."""

    texts: Shape
    read_file: ReadFile
    aside: Shape | None = None
    owner: OwnerOf = lambda _: ()  # reads the owner's names from a file aside
    more: Shape | None = None  # other files with texts

    def sources(self, path: Path) -> list[Bundle]:
        """One source for all files behind a path that hold texts.

        A file given by itself may have any name, but not any content.

        Raises:
            SourceError: no such file exists.
            SeveralOwnersError: they are of several people.
        """
        what = self.texts.what
        texts = [shape for shape in (self.texts, self.more) if shape]

        def is_aside(file: Source) -> bool:
            return self.aside is not None and not file.fault and self.aside.fits(file)

        def wanted(file: Source) -> bool:
            return is_aside(file) or any(shape.fits(file) for shape in texts)

        found = locate(path, wanted, what)
        others = [file for file in found if is_aside(file)]
        files = [file for file in found if file not in others]
        if len(files) == 1 and path.is_file() and not files[0].member:
            head = files[0].head()
            if not any(shape.shaped(head) for shape in texts):
                raise SourceError(f"{path} is not a {what}.")
        if not files:
            raise SourceError(f"There is no {what} in {path}.")
        # Posts and comments are not signed: those of two people cannot be told apart.
        owners: dict[str, str] = {}
        for file, names in self._named(others):
            name = plain_name(names[-1]).lower()
            owners.setdefault(name, f"{names[-1]} ({file.place})")
        if len(owners) > 1:
            raise SeveralOwnersError(
                f"{path} holds the exports of several people or accounts: "
                f"{'; '.join(owners.values())}. Import each that is yours by itself."
            )
        return bundled(path, files, others)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """Everything in the files after options.start."""
        return read_files(source, options, self.read_file)

    def owners(self, source: Source) -> tuple[str, ...]:
        """The owner by the first file aside that names one; empty if none does."""
        aside = source.aside if isinstance(source, Bundle) else ()
        return next((names for _, names in self._named(aside)), ())

    def _named(
        self, files: Iterable[Source]
    ) -> Iterator[tuple[Source, tuple[str, ...]]]:
        for file in files:
            with suppress(*FAULTS):
                names = tuple(filter(None, self.owner(file)))
                if names:
                    yield file, names


def read_files(
    source: Source, options: ReadOptions, read_file: ReadFile
) -> Iterator[Item]:
    """Everything in the files after options.start.

    One of several files that cannot be read is a failure like a bad record; if there
    is only one, it raises SourceError.
    """
    before = 0
    files = parts(source)
    for file in files:
        try:
            if file.fault:
                raise SourceError(file.fault)
            for item in read_file(file):
                position = before + min(item.position, file.size)
                if position > options.start:
                    yield replace(item, position=position)
        except FAULTS as error:
            if len(files) == 1:
                raise
            yield ImportFailure(before + file.size, file.name, why(error))
        before += file.size


def read_each(
    source: Source,
    options: ReadOptions,
    read_file: Callable[[Source, int, int], Iterable[Any]],
) -> Iterator[Any]:
    """The items of every file after options.start; what cannot be read is a failure.

    `read_file` gets a file and the positions before and after it. All but its last
    item carry the position before it: a run that is cut in between reads it again.
    """
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


def each(
    entries: Iterable[Any], item_of: Callable[[Any], Document | str]
) -> Iterator[Item]:
    """The document in each `Row` or `Element` of a file, or why it is skipped; an
    `ImportFailure` stays as it is."""
    for entry in entries:
        if isinstance(entry, ImportFailure):
            yield entry
        else:
            yield placed(item_of(entry), entry.position)


def written(
    key: str, kind: str, said: str, date: Any, *, fewest: int = 1, **fields: Any
) -> Document | str:
    """A text as a document, still without its position; a reason to skip it if it has
    fewer words."""
    if says_little(said, fewest):
        return WITHOUT_TEXT if fewest == 1 else WITHOUT_WORDS
    return Document(0, key, kind, said, sent_at=parse_date(date), **fields)


def placed(item: Document | str, position: int) -> Document | Skipped:
    """A document, or the reason why it is left out, with its position."""
    if isinstance(item, str):
        return Skipped(position, item)
    return replace(item, position=position, cleaning=VERSION)


def readable(source: Source) -> Iterator[Source]:
    """The files with texts that can at least be looked at."""
    return (file for file in parts(source) if not file.fault)


def digest(service: str, *parts: Any) -> str:
    """A key for what has no id of its own: the same for the same parts."""
    said = json.dumps(parts, default=str)
    return f"{service}:{hashlib.sha256(said.encode()).hexdigest()}"


def prose(value: Any) -> str:
    """A text as its writer saw it: tags and entities resolved, line breaks kept.

    What is marked as a quote is not the writer's and goes.
    """
    if not isinstance(value, str):
        return ""
    if not _TAG.search(value):
        return tidy(html.unescape(value)).strip()
    # The inner quotes first; one that is not closed takes the rest with it.
    for _ in range(_DEEPEST_QUOTE):
        value, count = _QUOTE.subn("\n", value)
        if not count:
            break
    value = _OPEN_QUOTE.sub("", value)
    if not _BLOCK.search(value):
        value = value.replace("\r\n", "\n").replace("\n", "<br>")
    return tidy(own_text(value)).strip()


def addressed(text: str) -> tuple[str, str]:
    """(first person, rest) of an answer that begins with the people it is for."""
    match = _TO.match(text)
    if match is None:
        return "", text
    return match.group(1).split()[0].rstrip(",:"), text[match.end() :].strip()


def says_little(text: str, fewest: int = FEWEST_WORDS) -> bool:
    """Whether fewer words than this remain when links are taken out."""
    return len(tokens(_LINK.sub(" ", text[:2_000]))) < fewest


def is_gone(text: str) -> bool:
    """Whether a service put it in place of a text, such as '[ Removed by Reddit ]'."""
    return len(text) < 200 and _GONE.fullmatch(text) is not None


@dataclass(slots=True)
class People:
    """The writers of an export whose messages are signed with names.

    The names of a service are identities of the store like addresses, with the service
    in front, as in "whatsapp:ana": an Ana in another service may be somebody else.
    """

    service: str
    writers: Counter[str] = field(default_factory=Counter)
    owners: tuple[str, ...] = ()
    """What the export itself calls the person whose export it is."""

    def mine(
        self, given: Collection[str], identities: Collection[str]
    ) -> tuple[list[str], str]:
        """(names, why) that are the owner's; why is empty if nobody has to guess.

        What was given may be meant for other services, or for mail: a name that nobody
        has here is passed over, as long as somebody is known to be the owner. Raises
        SourceError if nobody is, or it is the export of somebody who is known to be
        another.
        """
        owned = set(map(self.identity, self.owners))
        there = set(map(self.identity, self.writers))
        names = [n for n in given if self.identity(n) in owned | there]
        known = self._known(identities)
        if self.owners and known and not names and not owned & {*known}:
            # An export says whose it is; its posts and comments are not signed.
            raise SourceError(
                f"This is the export of {self.owners[0]}, and you are "
                f"{', '.join(known.values())} here: if both are you, say "
                f"--me '{self.owners[0]}'."
            )
        if names or not self.writers:
            return names, ""
        owners = [name for name in self.owners if self.identity(name) in there]
        if owners:
            return owners, "the export says so"
        if known:
            return [], ""
        wrong = next((name for name in given if "@" not in name), "")
        raise SourceError(
            f"Nobody is called '{wrong}' here. The names are: {self._listed()}."
            if wrong
            else "It is not clear which name is yours: say so with --me NAME. The "
            f"names are: {self._listed()}."
        )

    def nothing_from(self, identities: Collection[str]) -> str:
        """A sentence for an import without one own message."""
        return (
            f"nothing here was written by {', '.join(self._known(identities).values())}"
            f"; the names are: {self._listed()} (--me NAME adds one)"
        )

    def identity(self, name: str) -> str:
        """What the store calls the bearer of a name."""
        return identity(self.service, name)

    def _known(self, identities: Collection[str]) -> dict[str, str]:
        """The identities that are names of this service, with these names."""
        ours = (i for i in identities if i.startswith(f"{self.service}:"))
        return {i: i.partition(":")[2] for i in ours}

    def _listed(self) -> str:
        """The names and how much each wrote, the most first."""
        most = self.writers.most_common(_NAMES_SHOWN)
        more = len(self.writers) - len(most)
        ending = f" and {more:,} more" if more > 0 else ""
        return ", ".join(f"{name} ({count:,})" for name, count in most) + ending


@dataclass(frozen=True, slots=True)
class TalkService(Service):
    """The importer of a service whose messages are signed with names."""

    name: str = ""
    writers: Callable[[Source], Iterable[str]] = lambda _: ()
    """The names of the writers of a file, as often as each wrote."""

    def people(self, source: Source) -> People:
        """Who signed the messages."""
        found = People(self.name, owners=self.owners(source))
        for file in readable(source):
            with suppress(*FAULTS):
                found.writers.update(self.writers(file))
        return found


def identity(service: str, name: str) -> str:
    """What the store calls whoever has this name at a service; empty without a name."""
    name = plain_name(name).lower()
    return f"{service}:{name}" if name else ""


def is_name(identity: str) -> bool:
    """Whether an identity of the store is a name and no address."""
    return ":" in identity


def plain_name(name: str) -> str:
    """A name without the invisible marks and the '~' that some exports put there."""
    folded = unicodedata.normalize("NFKC", name)
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.split()).removeprefix("~").strip()
