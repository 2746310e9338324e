"""What happens while a text is written, as a stream of values.

The screen, the command line, the ledger and the statistics are readers of this one
stream, their only source. `EventEmitter` makes the events of the loop,
with texts for its token ids; `Tally` sums them up. `to_json` and `event_from` are their
form in tapes, journals and the ledger: a value that is read is of the kind that its
field names, whoever wrote the line.
"""

from __future__ import annotations

import base64
import codecs
import json
import sys
import time
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import zip_longest
from statistics import median
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from decoding_core.settings import Origin

if TYPE_CHECKING:
    from decoding_core.messages import TokenBlock

FinishReason = Literal["end", "length", "stopped", "full", "refused"]
"""The model ended the text; it reached the limit; the person stopped; no room; the
server refused every draft at one place."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as read; a character that spans tokens stands in the last of them."""

    id: int
    text: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Source:
    """One of the writer's own texts that stands in the private prompt."""

    record_id: int
    title: str  # such as `email to Ana, 2024-08-19: pier photos`
    score: float
    score_parts: dict[str, float]
    excerpt: str


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """Which of the writer's texts were read for this draft."""

    sources: tuple[Source, ...]
    personalisation: str = ""  # how they were chosen
    adapter: str = ""  # name of the LoRA that the specialist wears; empty: none


@dataclass(frozen=True, slots=True)
class Opened:
    """The session with the verifier has begun; `local` when no server takes part."""

    verifier: str
    local: bool


@dataclass(frozen=True, slots=True)
class PublicPrompt:
    """The request as the verifier gets it, if it leaves at all."""

    tokens: tuple[tuple[int, str], ...]  # ids and texts of the public prompt


@dataclass(frozen=True, slots=True)
class Given:
    """The text goes on from `count` tokens that stand, which positions count too."""

    count: int
    texts: tuple[tuple[int, str], ...] = ()  # ids and texts of those tokens


@dataclass(frozen=True, slots=True)
class Drafted:
    """A token was drafted and waits to be verified."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes were handed to the socket."""

    time: float  # seconds since 1970
    url: str
    what: str  # `open`, `block`, `close` or `other`
    size: int  # all bytes, headers and framing included
    token_ids: tuple[int, ...]  # the draft's ids among them, settled ones first
    payload: bytes  # the message itself, before WebSocket masking


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came back."""

    time: float
    what: str
    size: int


@dataclass(frozen=True, slots=True)
class PrivacySpent:
    """What the tokens of the last message tell of the history, in nats: for each, how
    much likelier it was to be drawn with it than without."""

    nats: float
    tokens: int  # how many of them had not left before
    total: float  # of the text so far
    total_tokens: int
    largest: float  # the most that one draw told so far, for or against the history
    today: float  # of all texts for this server today
    limit: float | None  # on the total; None: there is none
    exact: bool  # false at temperature 0: an indication
    unread: int
    """Tokens that left and are not in the total: the base had no room to read them, or
    they stand in for what was held back."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A block was verified: `accepted` of the drafted tokens stay."""

    drafted: int
    accepted: int
    refused: tuple[str, ...]  # texts of the refused token and those after it
    seconds: float  # from sending to the answer
    truncation_bound: float | None = None
    """How much of what a token was to be drawn from lay outside of the candidates, at
    most; None: unknown."""
    in_vain: int = 0  # drafted behind a refused token, never verified


@dataclass(frozen=True, slots=True)
class Settled:
    """Tokens that will not change any more, without those of thoughts."""

    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A token that could stand at a place, with each model's probability at the text's
    temperature, before top-p; None: unknown."""

    id: int
    text: str
    specialist: float | None
    base: float | None = None
    generalist: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What the models thought of a place of the text."""

    choices: tuple[Choice, ...]  # the token itself, a refused one, the likeliest others
    refused: bool = False  # whether the second choice was drafted there, and refused


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What the models thought of the tokens that settled last, at no extra cost."""

    position: int  # how many settled tokens stand before the first place
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Tokens were kept from the server, which reads a stand-in in their place."""

    kind: str  # such as `person` or `phone`
    reason: str
    text: str  # as the person reads it; it stays on this device
    stand_in: str  # as the server reads it
    position: int = 0  # how many tokens that the person reads stand before them
    tokens: int = 0  # how many there are


@dataclass(frozen=True, slots=True)
class StandsIn:
    """Tokens that will be sent in the place of what is held back."""

    tokens: tuple[tuple[int, str], ...]  # ids and texts


@dataclass(frozen=True, slots=True)
class Quoted:
    """What the messages of a text so far share with the letters that were read for it,
    beyond the request, greetings and sign-offs."""

    stock: tuple[str, ...]  # runs of words that tell little
    facts: tuple[str, ...]  # names, numbers and runs of words that the guard finds


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person, such as that the server is gone."""

    text: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of one text."""

    drafted: int = 0
    accepted: int = 0
    recovered: int = 0
    bonus: int = 0
    local: int = 0
    rounds: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    seconds: float = 0.0
    tokens_per_second: float = 0.0
    acceptance_rate: float | None = None  # accepted / drafted; None: none verified
    round_trip_ms: float | None = None  # median, block to verdict
    truncation_bound: float | None = None
    """The largest of the blocks' bounds: the text is exact but for this share per
    token; None: unknown."""
    in_vain: int = 0  # drafted behind a refused token, never verified
    held_back: int = 0  # spans that were kept from the server


@dataclass(frozen=True, slots=True)
class Finished:
    """The text is done."""

    reason: FinishReason
    statistics: Statistics


Event = (
    SourcesFound
    | PublicPrompt
    | Opened
    | Given
    | Drafted
    | Sent
    | Received
    | PrivacySpent
    | Verified
    | Settled
    | Alternatives
    | StandsIn
    | HeldBack
    | Quoted
    | Notice
    | Finished
)
Emit = Callable[[Event], None]


def emit_to(*readers: Emit) -> Emit:
    """Hands each event to all readers, in this order."""

    def emit(event: Event) -> None:
        for read in readers:
            read(event)

    return emit


def text_of(heard: Iterable[Event]) -> str:
    """The text that events settle."""
    settled = (one.tokens for one in heard if isinstance(one, Settled))
    return "".join(token.text for tokens in settled for token in tokens)


class ThoughtRemover:
    """Takes a block of thoughts off the beginning of a text that comes in pieces."""

    __slots__ = ("_end", "_held", "_state")

    def __init__(self) -> None:
        self._held = ""
        self._end = ""
        self._state = "beginning"

    @property
    def thinking(self) -> bool:
        """Whether what came last belongs to the block, or to the space behind it."""
        return self._state in ("block", "behind")

    def push(self, text: str) -> str:
        """What of the text so far is now known to be none of the block. A text that
        ends with the beginning of a mark, and nothing before it, loses that."""
        if self._state == "text":
            return text
        self._held += text
        space = ""
        if self._state == "beginning":
            words = self._held.lstrip()
            space = self._held[: len(self._held) - len(words)]
            self._held = words
            from models.never_drawn import MARKS  # numpy comes with it

            for opening, end in MARKS:
                # One that the prompt closed may be closed once more.
                if words.startswith((opening, end)):
                    self._state, self._end = "block", end
            marks = (mark for both in MARKS for mark in both)
            if words and self._state == "beginning":
                waits = any(mark.startswith(words) for mark in marks)
                self._state = "beginning" if waits else "text"
        if self._state == "block":
            _, closed, behind = self._held.partition(self._end)
            if closed:
                self._held, self._state = behind, "behind"
        if self._state == "behind":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "text"
        if self._state == "text":
            text, self._held = space + self._held, ""
            return text
        return space


class TextDecoder:
    """Decodes pieces of UTF-8, without a block of thoughts at the beginning, nor the
    blank of a first word in vocabularies whose tokens hold it."""

    def __init__(self, piece: Callable[[int], bytes], *, blank: bool = False) -> None:
        self._piece = piece
        self._blank = blank
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._thoughts = ThoughtRemover()

    @property
    def thinking(self) -> bool:
        """Whether the last token belongs to a block of thoughts."""
        return self._thoughts.thinking

    def push(self, token_id: int) -> str:
        """Text that the token completes; may be empty."""
        text = self._decoder.decode(self._piece(token_id))
        if text and self._blank:
            text, self._blank = text.removeprefix(" "), False
        return self._thoughts.push(text)

    def fork(self) -> TextDecoder:
        """A decoder in the same state, for tokens that may yet be refused."""
        other = TextDecoder(self._piece, blank=self._blank)
        other._decoder.setstate(self._decoder.getstate())
        other._thoughts = copy(self._thoughts)
        return other


class EventEmitter:
    """Turns what the decode loop does into events with texts."""

    def __init__(
        self,
        emit: Emit,
        piece: Callable[[int], bytes],
        *,
        weighs: bool = False,
        blank: bool = False,
    ) -> None:
        """`blank` is a vocabulary's `begins_with_blank`."""
        self.weighs = weighs
        """Whether anybody wants to know what the models thought of each token: over a
        large vocabulary it costs about as much as drawing one."""
        self._emit = emit
        self._piece = piece = cache(piece)
        self._settled = TextDecoder(piece, blank=blank)
        self._waiting = self._settled.fork()
        self._texts: list[str] = []
        self._thoughts = 0  # how many settled tokens are left out
        self._places: Sequence[Place] = ()
        self.tokens: list[Token] = []  # all that is settled

    def prompted(self, token_ids: Sequence[int]) -> None:
        """These tokens are the public prompt."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        pieces = ((token, decode(self._piece(token))) for token in token_ids)
        self._emit(PublicPrompt(tuple(pieces)))

    def given(self, token_ids: Sequence[int]) -> None:
        """What is written goes on from these tokens."""
        texts = tuple((token, self._settled.push(token)) for token in token_ids)
        self._waiting = self._settled.fork()
        self._emit(Given(len(texts), texts))

    def drafted(self, token_id: int) -> None:
        """A token was drafted."""
        text = self._waiting.push(token_id)
        self._texts.append(text)
        if not self._waiting.thinking:
            self._emit(Drafted(token_id, text))

    def shortened(self, length: int) -> None:
        """All but the draft's first `length` tokens was given up before it was sent."""
        del self._texts[length:]

    def verified(
        self,
        drafted: int,
        accepted: int,
        seconds: float,
        truncation_bound: float | None = None,
    ) -> None:
        """The oldest block of the draft, of `drafted` tokens, was verified."""
        refused = tuple(self._texts[accepted:]) if accepted < drafted else ()
        in_vain = len(refused) - (drafted - accepted) if refused else 0
        if refused:
            del self._texts[accepted:]
        self._emit(
            Verified(drafted, accepted, refused, seconds, truncation_bound, in_vain)
        )

    def weighed(self, places: Sequence[Place]) -> None:
        """This was thought of the tokens that settle next."""
        self._places = places

    def settled(self, block: TokenBlock) -> None:
        """Tokens are fixed; what is drafted behind them still waits."""
        tokens, places = [], []
        thought = zip_longest(self._places, block.token_ids)
        self._places = ()
        for origin, (place, token_id) in zip(block.origins, thought, strict=True):
            text = self._settled.push(token_id)
            if self._settled.thinking:
                self._thoughts += 1
                continue
            tokens.append(Token(token_id, text, origin))
            if place is not None:
                places.append(self._with_texts(place))
        self.tokens += tokens
        drafted = sum(origin in ("accepted", "local") for origin in block.origins)
        del self._texts[:drafted]
        if not self._texts:
            self._waiting = self._settled.fork()
        self._emit(Settled(tuple(tokens)))
        if places:
            self._emit(Alternatives(len(self.tokens) - len(tokens), tuple(places)))

    def _with_texts(self, place: Place) -> Place:
        shown = (
            replace(one, text=self._piece(one.id).decode("utf-8", "replace"))
            for one in place.choices
        )
        return replace(place, choices=tuple(shown))

    def stands_in(self, token_ids: Sequence[int]) -> None:
        """These tokens will be sent in the place of what is held back."""
        decoder = TextDecoder(self._piece)
        texts = tuple((token, decoder.push(token)) for token in token_ids)
        self._emit(StandsIn(texts))

    def held_back(self, held: HeldBack) -> None:
        """Tokens were kept from the server; the position counts thoughts, too."""
        if not self.thinking:
            self._emit(replace(held, position=held.position - self._thoughts))

    @property
    def thinking(self) -> bool:
        """Whether the text has not begun, as the model still thinks aloud."""
        return self._settled.thinking

    def notice(self, sentence: str) -> None:
        """Something the person must know."""
        self._emit(Notice(sentence))

    def text(self) -> str:
        """The settled text."""
        return "".join(token.text for token in self.tokens)


class Tally:
    """The numbers of one text: counts events as they pass."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started = clock()
        self._counts: Counter[str] = Counter()
        self._origins: Counter[str] = Counter()
        self._round_trips: list[float] = []
        self._bound: float | None = None

    def add(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case Settled(tokens=tokens):
                self._origins.update(token.origin for token in tokens)
            case Verified():
                self._counts["drafted"] += event.drafted
                self._counts["kept"] += event.accepted
                self._counts["in_vain"] += event.in_vain
                self._round_trips.append(event.seconds)
                if event.truncation_bound is not None:
                    self._bound = max(event.truncation_bound, self._bound or 0.0)
            case HeldBack():
                self._counts["held_back"] += 1
            case Sent(size=size):
                self._counts["bytes_up"] += size
            case Received(size=size):
                self._counts["bytes_down"] += size
            case _:
                pass

    def statistics(self) -> Statistics:
        """The numbers so far."""
        seconds, counts = self._clock() - self._started, self._counts
        drafted, trips = counts["drafted"], self._round_trips
        measured = trips and counts["bytes_up"]
        pace = self._origins.total() / seconds if seconds > 0 else 0.0
        counted = ("drafted", "in_vain", "held_back", "bytes_up", "bytes_down")
        origins = ("accepted", "recovered", "bonus", "local")
        return Statistics(
            **{name: counts[name] for name in counted},
            **{name: self._origins[name] for name in origins},
            rounds=len(trips),
            seconds=round(seconds, 4),
            tokens_per_second=round(pace, 2),
            acceptance_rate=round(counts["kept"] / drafted, 4) if drafted else None,
            round_trip_ms=round(1000 * median(trips), 3) if measured else None,
            truncation_bound=self._bound,
        )


_T = TypeVar("_T")
_KINDS = {kind.__name__: kind for kind in get_args(Event)}


def to_json(event: Event, **more: Any) -> str:
    """One line of JSON with the event's name under `event`, behind `more` fields."""
    return dumped({**more, "event": type(event).__name__, **asdict(event)})


def event_from(body: dict[str, Any]) -> Event:
    """The event that `to_json` wrote; raises ValueError for any other object."""
    name = body.pop("event", None)
    if not isinstance(name, str) or name not in _KINDS:
        raise ValueError(f"no such event: {name}")
    event: Event = decoded(_KINDS[name], body)
    return event


def dumped(body: dict[str, Any]) -> str:
    """An object as a line of ASCII, so that half a surrogate pair comes back too."""
    return json.dumps(body, default=_plain)


def decoded(kind: type[_T], body: object) -> _T:
    """The value of `kind` in what JSON gave; raises ValueError if it holds none."""
    return typing.cast(_T, _read(kind, body))


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _read(kind: Any, value: Any) -> Any:
    """As `decoded`, for the kinds that fields have."""
    if type(value) is kind and kind in _AS_THEY_ARE:
        return value
    origin, arguments = _shape(kind)
    if origin is Union:
        for one in arguments:
            with suppress(ValueError):
                return _read(one, value)
    elif origin is Literal:
        if value in arguments:
            return value
    elif isinstance(value, dict) and origin is dict:
        key, item = arguments
        return {_read(key, name): _read(item, one) for name, one in value.items()}
    elif isinstance(value, dict) and isinstance(kind, type) and is_dataclass(kind):
        hints, needed = _fields_of(kind)
        if needed <= value.keys() <= hints.keys():
            read = {name: _read(hints[name], one) for name, one in value.items()}
            return kind(**read)
    elif isinstance(value, list) and origin in (tuple, frozenset):
        if origin is tuple and arguments[-1] is not Ellipsis:
            pairs = zip(arguments, value, strict=True)
            return tuple(_read(one, item) for one, item in pairs)
        return origin(_read(arguments[0], one) for one in value)
    elif isinstance(value, str) and kind is bytes:
        return base64.b64decode(value, validate=True)
    elif type(value) is int and kind is float and abs(value) <= sys.float_info.max:
        return float(value)
    raise ValueError(f"{type(value).__name__} is no {kind}")


_AS_THEY_ARE = frozenset((int, str, bool, float, NoneType))


@cache
def _shape(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a kind is made of; both ways to write a union are one."""
    origin = get_origin(kind)
    return Union if origin is UnionType else origin, get_args(kind)


@cache
def _fields_of(kind: type) -> tuple[dict[str, Any], set[str]]:
    """The kinds of a dataclass's fields, and the names of those without a default."""
    needed = (
        one for one in fields(kind) if one.default is MISSING is one.default_factory
    )
    return typing.get_type_hints(kind), {one.name for one in needed}
