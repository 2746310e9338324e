"""What happens to a draft, as entries of its journal, and what they fold to. Letters
are counted as Python counts them; versions are numbered from 0."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args

from decoding_core.errors import InvalidSettingsError
from decoding_core.settings import MethodSettings
from edge_app.decoding import events
from edge_app.decoding.events import Event, Source, decoded, dumped, event_from, to_json
from edge_app.service.requests import LengthWanted, Letter, WriteRequest
from edge_app.tui.text import Run, State, alike, counted, cut, spliced
from edge_app.tui.variant import Stretch, Variant
from models.prompts import TASKS, Request

TONES = ("", "warm", "formal", "brief", "cheerful", "plain", "polite but firm")
"""Adjectives of what is asked for; empty: as the person writes."""
MOST_STARS = 5
LENGTHS: tuple[LengthWanted, ...] = get_args(LengthWanted)

THRESHOLDS = (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 2.0)
"""From nearly all that the device drafts being kept to little of it."""
THRESHOLD_WORDS = (
    "closest to you: the checker refuses next to nothing",
    "much closer to you: it refuses only what it finds odd",
    "closer to you: it refuses a little",
    "in the middle: the checker refuses what it finds unlikely",
    "closer to the checker: it refuses what it likes less",
    "much closer to the checker: only what both like stays",
    "closest to the checker: it refuses most of what you would say",
)
STRENGTHS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
STRENGTH_WORDS = (
    "what is redrawn is the checker's alone",
    "what is redrawn leans to the checker",
    "what is redrawn is half yours, half the checker's",
    "what is redrawn leans to you",
    "what is redrawn is much more you",
    "what is redrawn is as much you as it can be",
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a draft is to be written; None stands for what the settings say."""

    tone: str = ""
    stars: int = 0  # of a review, from 1 to 5; 0: none are named
    threshold: float | None = None
    strength: float | None = None
    length: LengthWanted = "usual"

    def __post_init__(self) -> None:
        """Raise ValueError for what no person can have set."""
        if self.tone not in TONES or type(self.stars) is not int:
            raise ValueError("no such tone or number of stars")
        if self.length not in LENGTHS:
            raise ValueError("no such length")
        if not 0 <= self.stars <= MOST_STARS:
            raise ValueError("no such number of stars")
        for number, known in ((self.threshold, THRESHOLDS), (self.strength, STRENGTHS)):
            if number is not None and number not in known:
                raise ValueError("no such place of a slider")

    def request(self, brief: Request) -> Request:
        """The brief with the tone, and with a sentence that names the stars."""
        parts = [brief.text]
        if self.stars and brief.task == "review":
            parts.append(f"I give it {counted(self.stars, 'star')} of {MOST_STARS}.")
        text = "\n".join(part for part in parts if part.strip())
        return replace(brief, text=text, tone=self.tone)

    def settings(self, usual: MethodSettings) -> MethodSettings:
        """The settings with both sliders where they stand."""
        if self.threshold is not None:
            usual = replace(usual, threshold=self.threshold)
        if self.strength is not None:
            usual = replace(usual, strength=self.strength)
        return usual

    def words(self) -> str:
        """The style in a few words; empty where nothing is set."""
        parts = [self.tone] if self.tone else []
        if self.length != "usual":
            parts.append(self.length)
        if self.threshold is not None:
            parts.append(
                THRESHOLD_WORDS[THRESHOLDS.index(self.threshold)].split(":")[0]
            )
        if self.strength is not None and self.strength != STRENGTHS[2]:
            more = "more" if self.strength > STRENGTHS[2] else "less"
            parts.append(f"{more} of you in what is redrawn")
        return " · ".join(parts)


_AT_REST: tuple[State, ...] = ("kept", "replaced", "typed", "pasted", "held")
"""States of words that no longer wait for a verdict."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The brief changed: `text` stands for `removed` letters from `at` on."""

    task: str
    recipient: str
    at: int
    removed: int
    text: str


@dataclass(frozen=True, slots=True)
class Begun:
    """Another version was asked for; it is the one on screen."""

    request: WriteRequest
    samples: bool = False  # whether it is written from sample letters
    stretch: Stretch | None = None  # what of another version it is written anew from


@dataclass(frozen=True, slots=True)
class Written:
    """The service said something of a version that its text or its figures need."""

    version: int
    event: Event


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person stopped the writing, or it was cut off."""

    version: int
    kept: bool = False
    cut: bool = False
    """Whether the app ended while it was written, and nobody stopped it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The service is done with a version, whatever came of it."""

    version: int


@dataclass(frozen=True, slots=True)
class Edited:
    """The person changed a version: `runs` stand for `removed` letters from `at`."""

    version: int
    at: int
    removed: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A version was brought to the screen."""

    version: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A file holds `text` of a version."""

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A source is to be left out of later versions, or, if `taken`, is in again."""

    source: Source | Letter
    taken: bool


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The draft answers a received text, None: none; the store has what it says."""

    source: Source | Letter | None


@dataclass(frozen=True, slots=True)
class Styled:
    """How the draft is to be written was set."""

    style: Style


@dataclass(frozen=True, slots=True)
class Offline:
    """The checker was switched off or on."""

    on: bool


@dataclass(frozen=True, slots=True)
class PutAside:
    """The person is done with the draft for now: the next start begins another."""


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The person goes on with the draft."""


Entry = (
    Asked
    | Begun
    | Written
    | Stopped
    | Ended
    | Edited
    | Shown
    | Saved
    | LeftOut
    | ReplyTo
    | Styled
    | Offline
    | PutAside
    | TakenUp
)
_KINDS = {kind.__name__: kind for kind in get_args(Entry)}


_KEPT = (
    *(events.Quoted, events.Opened, events.Verified, events.Settled, events.HeldBack),
    *(events.PrivacySpent, events.Finished, events.Alternatives),
)


def worth_keeping(event: Event) -> Event | None:
    """What a journal keeps of an event, without the texts of sources; None: nothing."""
    match event:
        case events.SourcesFound(sources=sources):
            bare = tuple(replace(source, excerpt="") for source in sources)
            return replace(event, sources=bare)
        case events.Given(count):
            return events.Given(count)
        case events.Sent():
            return replace(event, token_ids=(), payload=b"")
        case _:
            return event if isinstance(event, _KEPT) else None


def to_line(entry: Entry) -> str:
    """The entry as a line of JSON, its kind under `kind`."""
    if isinstance(entry, LeftOut | ReplyTo) and entry.source is not None:
        entry = replace(entry, source=replace(entry.source, excerpt=""))
    body = asdict(entry)
    if isinstance(entry, Written):
        body["event"] = json.loads(to_json(entry.event))
    return dumped({"kind": type(entry).__name__, **body})


def from_line(line: str) -> Entry:
    """The entry that `to_line` wrote, with default settings if it has unknown ones;
    raises ValueError or TypeError for any other line."""
    body: dict[str, Any] = json.loads(line)
    kind = _KINDS.get(body.pop("kind", None))
    if kind is Written:
        return Written(decoded(int, body["version"]), event_from(body["event"]))
    if kind is Begun:
        known = {field.name for field in fields(MethodSettings)}
        given = body["request"]["settings"]
        given = {name: value for name, value in given.items() if name in known}
        try:
            decoded(MethodSettings, given)
        except (InvalidSettingsError, ValueError):
            given = {}
        body["request"]["settings"] = given
    if kind is None:
        raise ValueError("no such entry")
    entry: Entry = decoded(kind, body)
    return entry


class Draft:
    """What the entries so far make of a draft; `apply` alone changes it."""

    def __init__(self) -> None:
        self.request = Request("")
        """The brief as it stands, which may be ahead of what was drafted from it."""
        self.attempts: list[Variant] = []
        """Every version asked for: each took a seed, and may have sent something."""
        self.variants: list[Variant] = []
        """Versions that F7 and F8 show: those with words, and the one being written."""
        self.current = -1
        self.excluded: dict[int, Source] = {}
        self.reply_to: Source | None = None
        self.style = Style()
        self.offline = False
        self.aside = False
        self._before: Variant | None = None
        """What was shown before the newest version."""

    @property
    def variant(self) -> Variant | None:
        """The version on screen."""
        return self.variants[self.current] if self.variants else None

    def apply(self, entry: Entry, now: float = 0.0) -> None:  # noqa: C901
        """Apply `entry`; raises ValueError, and changes nothing, if it is invalid."""
        self.aside = isinstance(entry, PutAside)
        match entry:
            case Asked(task, recipient, at, removed, text):
                before = self.request.text
                _check(task in TASKS)
                _check_within(at, removed, len(before))
                text = before[:at] + text + before[at + removed :]
                self.request = Request(text, task, recipient)
            case Begun(request, samples, stretch):
                stands, back = list[Run](), list[Run]()
                if stretch is not None:
                    stood = self._at(stretch.version).runs()
                    length = sum(len(text) for text, _ in stood)
                    _check_within(stretch.at, stretch.rest, length)
                    stands = cut(stood, 0, stretch.at)
                    back = cut(stood, length - stretch.rest, length)
                self._before = self.variant
                variant = Variant(
                    request,
                    len(self.attempts),
                    samples,
                    started=now,
                    before=stands,
                    after=back,
                    stretch=stretch,
                )
                self.attempts.append(variant)
                self.variants = [
                    known for known in self.variants if known.writing or not known.empty
                ]
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
                _check(all(state in _AT_REST for _, state in runs))
                length = sum(len(text) for text, _ in before_runs)
                _check_within(at, removed, length)
                variant.edited = spliced(before_runs, at, removed, runs)
            case Shown(version):
                _check(self._at(version) in self.variants)
                self.current = self.variants.index(self._at(version))
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

    def _at(self, version: int) -> Variant:
        _check(0 <= version < len(self.attempts))
        return self.attempts[version]

    def _give_way(self, variant: Variant) -> None:
        """Remove `variant` if it has no word, and show the version before it."""
        if variant.empty and variant in self.variants:
            self.variants.remove(variant)
            self.current = len(self.variants) - 1
            if self._before in self.variants:
                self.current = self.variants.index(self._before)


def asked(before: Request, after: Request) -> Asked | None:
    """The entry that makes the one brief the other; None if they are the same."""
    if before == after:
        return None
    old, new = before.text, after.text
    same = alike(old, new)
    end = alike(old[same:][::-1], new[same:][::-1])
    return Asked(
        after.task,
        after.recipient,
        same,
        len(old) - same - end,
        new[same : len(new) - end],
    )


def _check_within(at: int, removed: int, length: int) -> None:
    _check(at >= 0 and removed >= 0 and at + removed <= length)


def _check(true: bool) -> None:
    if not true:
        raise ValueError("an entry of what is not there")
