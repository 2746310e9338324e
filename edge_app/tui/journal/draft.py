"""A draft: one request, its versions and their edits, folded from a journal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from edge_app.decoding.events import Source
from edge_app.tui.journal.entries import (
    Asked,
    Begun,
    Edited,
    Ended,
    Entry,
    LeftOut,
    Offline,
    PutAside,
    ReplyTo,
    Saved,
    Shown,
    Stopped,
    Styled,
    TakenUp,
    Written,
)
from edge_app.tui.journal.style import Style
from edge_app.tui.runs import Run, cut, spliced
from edge_app.tui.variant import Variant
from models.prompts import Request


class Draft:
    """What the entries so far make of a draft; `apply` alone changes it."""

    def __init__(self, request: Request | None = None) -> None:
        self.request = request or Request("")
        """The brief as it stands, which may be ahead of what was drafted from it."""
        self.attempts: list[Variant] = []
        """Every version asked for: each took a seed, and may have sent something."""
        self.variants: list[Variant] = []
        """Versions that F7 and F8 show: those with words, and the one being written."""
        self.current = -1
        self.excluded: dict[int, Source] = {}
        self.reply_to: Source | None = None
        """The received text that is answered; None: none."""
        self.style = Style()
        """How it is to be written."""
        self.offline = False
        self.aside = False
        """Whether the person was done with it."""
        self._before: Variant | None = None
        """What was shown before the newest version."""

    @property
    def variant(self) -> Variant | None:
        """The version on screen."""
        return self.variants[self.current] if self.variants else None

    def apply(self, entry: Entry, now: float = 0.0) -> None:  # noqa: C901
        """Let `entry` happen at `now`.

        Raises:
            ValueError: it speaks of a version or letters that are not there; the draft
                is as it was.
        """
        self.aside = isinstance(entry, PutAside)
        match entry:
            case Asked(task, recipient, at, removed, text):
                before = self.request.text
                _within(at + removed, len(before))
                text = before[:at] + text + before[at + removed :]
                self.request = Request(text, task, recipient)
            case Begun(request, samples, stretch):
                stands, back = list[Run](), list[Run]()
                if stretch is not None:
                    stood = self._at(stretch.version).runs()
                    length = sum(len(text) for text, _ in stood)
                    _within(stretch.at + stretch.rest, length)
                    stands = cut(stood, 0, stretch.at)
                    back = cut(stood, length - stretch.rest, length)
                self._before = self.variant
                number = len(self.attempts)
                variant = Variant(
                    request,
                    number,
                    samples=samples,
                    started=now,
                    before=stands,
                    after=back,
                    stretch=stretch,
                )
                self.attempts.append(variant)
                self.variants = [known for known in self.variants if not known.empty]
                self.variants.append(variant)
                self.current = len(self.variants) - 1
            case Written(version, event):
                self._at(version).apply(event, now)
            case Stopped(version, kept, cut_off):
                variant = self._at(version)
                variant.stop(now)
                variant.unfinished = cut_off
                if not kept:
                    self._give_way(variant)
            case Ended(version):
                variant = self._at(version)
                variant.end(now)
                if variant is self.attempts[-1] and not variant.stopped:
                    self._give_way(variant)
            case Edited(version, at, removed, runs):
                variant = self._at(version)
                before_runs = variant.runs()
                _within(at + removed, sum(len(text) for text, _ in before_runs))
                variant.edited = spliced(before_runs, at, removed, runs)
            case Shown(version):
                variant = self._at(version)
                if all(known is not variant for known in self.variants):
                    raise ValueError("a version that is not there")
                self.current = _place(variant, self.variants)
            case Saved(version, text):
                self._at(version).saved = text
            case LeftOut(source, taken):
                self.excluded.pop(source.record_id, None)
                if not taken:
                    self.excluded[source.record_id] = source
            case ReplyTo(source):
                self.reply_to = source
            case Styled(style):
                self.style = style
            case Offline(on):
                self.offline = on
            case PutAside() | TakenUp():
                pass

    def unended(self) -> list[Entry]:
        """What a draft lacks that was cut off: the stops of what was being written."""
        cut_off = (known.number for known in self.attempts if known.writing)
        return [Stopped(number, cut=True) for number in cut_off]

    def known_by_name(self) -> tuple[int, ...]:
        """The records of letters that were read for the draft, whose texts a journal
        does not hold."""
        sources = (one for known in self.attempts for one in known.sources)
        return tuple(sorted({one.record_id for one in sources if not one.excerpt}))

    def _at(self, version: int) -> Variant:
        if version >= len(self.attempts):
            raise ValueError("a version that is not there")
        return self.attempts[version]

    def _give_way(self, variant: Variant) -> None:
        """Remove `variant` if it has no word, and show the version before it."""
        if not variant.empty or all(known is not variant for known in self.variants):
            return
        self.variants = [known for known in self.variants if known is not variant]
        self.current = _place(self._before, self.variants)


def folded(entries: Iterable[Entry]) -> Draft:
    """The draft that all `entries` make; raises ValueError as `apply` does."""
    draft = Draft()
    for entry in entries:
        draft.apply(entry)
    return draft


def asked(before: Request, after: Request) -> Asked | None:
    """The entry that makes the one brief the other; None if they are the same."""
    if before == after:
        return None
    old, new = before.text, after.text
    same = _alike(old, new)
    end = _alike(old[same:][::-1], new[same:][::-1])
    return Asked(
        after.task,
        after.recipient,
        same,
        len(old) - same - end,
        new[same : len(new) - end],
    )


def _alike(one: str, other: str) -> int:
    """How many first letters are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _place(variant: Variant | None, variants: list[Variant]) -> int:
    """Where `variant` is among `variants`; the last place if it is not."""
    places = [at for at, known in enumerate(variants) if known is variant]
    return places[0] if places else len(variants) - 1


def _within(end: int, length: int) -> None:
    if end > length:
        raise ValueError("letters that are not there")
