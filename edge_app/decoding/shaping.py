"""How a voice shifts the specialist's logits, before anything is drawn from them.

What the person always takes out of drafts becomes less likely, what they put in its
place takes over its probability, and beyond the usual length an end becomes likelier.
So does one behind the sentence that says the last of what was asked for, if nothing
more is to be said. Sentences begin with the letters of the person, small or great.
A word that was just said becomes less likely, unless what is read has it twice, too.
Every shift is bounded, so that nothing is forbidden or forced.

The shifted distribution is the specialist's S wherever S stands: drafts, redraws, and
the account of what a text tells, whose reference is the base, which is not shifted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from decoding_core.sampling import Floats
from models.revising import stems
from models.running.interface import Vocabulary

_Turned = tuple[bool, int, int]
"""Whether a token begins with a blank, the token, and the one in its place."""


class Shape(Protocol):
    """Shifts logits; it is shown the last `reach` places of a text one by one before
    the next, so that what it does follows from the text alone."""

    @property
    def reach(self) -> int:
        """How many places back it may have to look."""

    def __call__(self, before: Sequence[int], logits: Floats) -> Floats:
        """Shift logits (V,) at the place behind these tokens of a text."""


MOST = 6.0  # nats of a shift
FAR = 12.0  # of one to how a letter goes on that began as all of them do
_STOPS = (b".", b"!", b"?")
_LACKING = 5  # one word in so many may be said in other words
BEGINS = r"(?:\A[^\n]{0,40}\n\n|(?<=[\w)'’\"]{2})[.!?…]+[\"'”’)\]]*(\s*))"
"""What stands before a sentence: a greeting, or a stop, which no "e.g." has."""
_BEGINS = re.compile(rf"{BEGINS}\Z")
_TAIL = 200  # characters in which the beginning of a phrase is looked for
_JUST_SAID = re.compile(r"(?<![\w'’-])([^\W\d_]+)(?:(,? )\1)*(,?)( ?[^\W\d_]*)$", re.I)
"""A word, once or several times over, and what may begin it anew."""
_STOP = re.compile(rb"[.!?]|\xe2\x80\xa6")


@dataclass(frozen=True, slots=True)
class Turn:
    """A phrase that the person takes out of drafts."""

    out: str
    into: str = ""  # what they put in its place
    nats: float = 3.0  # how much less likely it becomes
    lead: int = 0  # how many of its words say nothing yet, as they go on otherwise too

    def cases(self) -> Iterator[Turn]:
        """The turn, and with first letters in the other case if both have one case."""
        yield self
        if self.out[:1].isupper() == (self.into or self.out)[:1].isupper():
            out, into = (one[:1].swapcase() + one[1:] for one in (self.out, self.into))
            if out != self.out:
                yield replace(self, out=out, into=into)


@dataclass(frozen=True, slots=True)
class Length:
    """The words of a text: an end is not pressed up to `high`, and put off up to
    `low`; sentences are said besides up to `usual`."""

    low: float
    high: float
    usual: float = 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """How a letter begins and ends, word for word; each part may be empty."""

    greeting: str = ""
    opening: str = ""
    closing: str = ""
    sign_off: str = ""
    name: str = ""
    paragraphs: int = 0  # of a letter, if all have the same number; else 0
    besides: tuple[str, ...] = ()  # whole sentences that many letters hold
    lead: float = MOST  # nats above all others

    @property
    def top(self) -> str:
        """What stands above the body, and its first words."""
        return f"{self.greeting}\n\n{self.opening}" if self.greeting else ""

    @property
    def end(self) -> str:
        """What stands below the body."""
        return "\n".join(filter(None, (self.sign_off, self.name)))

    @property
    def words(self) -> tuple[str, ...]:
        """All that is said, part by part."""
        return self.greeting, self.opening, *self.besides, self.closing, self.end


class _Sentence:
    """A sentence that is said behind a body."""

    def __init__(self, vocabulary: Vocabulary, text: str, end: str) -> None:
        """`end` is what stands below the body."""
        self.said = f" {text}".encode()
        self.small = text.casefold().rstrip(".!?…")
        self.words = len(text.split())
        self._going_on = _steps(vocabulary, f" {text}")
        self._last = _steps(vocabulary, f" {text}\n\n{end}")

    def steps(self, *, last: bool) -> list[tuple[bytes, int]]:
        """Its tokens, each with what stands before it; those of the end as well if it
        is the last."""
        return self._last if last else self._going_on


class _Way:
    """The tokens of a turn behind one beginning."""

    def __init__(self, vocabulary: Vocabulary, turn: Turn, blank: str) -> None:
        self.before, out, into = _parted(turn.out, turn.into)
        self.blank = blank
        if not self.before:
            out, into = blank + out, blank + into if into else ""
        self.nats = min(turn.nats, MOST)
        self.out, self.into = (
            [
                (begun.decode("utf-8", "ignore"), token)
                for begun, token in steps
                if vocabulary.piece(token).strip()
            ]
            for steps in (_steps(vocabulary, out), _steps(vocabulary, into))
        )
        words = len(self.before.split())
        self.begin = 0
        while self.begin < len(self.out) and (
            words + len(self.out[self.begin][0].split()) < turn.lead
        ):
            self.begin += 1

    def at(self, tail: str, steps: Sequence[tuple[str, int]]) -> int | None:
        """How many steps of a phrase the text ends with; None if it does not."""
        for number in range(len(steps) - 1, -1, -1):
            begun = self.before + steps[number][0]
            if not tail.endswith(begun):
                continue
            behind = tail[: len(tail) - len(begun)]
            if self.before or not self.blank:
                apart = not behind or not (behind[-1].isalnum() and begun[:1].isalnum())
                line = self.before or behind.endswith("\n") or not behind
                if apart and line:
                    return number
            elif behind and not behind[-1].isspace():
                return number
        return None

    def shift(self, tail: str, logits: Floats) -> None:
        """Shift the tokens that go on with the phrases of the turn."""
        number = self.at(tail, self.out)
        if number is not None and number >= self.begin:
            token = self.out[number][1]
            if number == 0 and self.into:
                first = self.into[0][1]
                logits[first] = np.logaddexp(logits[first], logits[token])
            logits[token] -= self.nats
        number = self.at(tail, self.into) if self.into else None
        if number and self.into[number][0].strip():
            logits[self.into[number][1]] += self.nats / 2


def _parted(out: str, into: str) -> tuple[str, str, str]:
    """The beginning that two phrases share, as far as whole words, and their rests."""
    same = 0
    while same < min(len(out), len(into)) and out[same] == into[same]:
        same += 1
    while same and out[same - 1].isalnum() and (out[same:] + into[same:])[:1].isalnum():
        same -= 1
    begun = out[:same].rstrip(" ")
    return begun, out[len(begun) :], into[len(begun) :]


def _steps(vocabulary: Vocabulary, text: str) -> list[tuple[bytes, int]]:
    """Each token of a text with what stands before it."""
    steps, before = list[tuple[bytes, int]](), b""
    for token in vocabulary.tokenize(text) if text else ():
        steps.append((before, token))
        before += vocabulary.piece(token)
    return steps


_stops: WeakKeyDictionary[Vocabulary, list[tuple[int, int]]] = WeakKeyDictionary()


def _stops_of(vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Tokens that end a line behind other signs, each with the token of those alone."""
    if vocabulary in _stops:
        return _stops[vocabulary]
    found = _stops[vocabulary] = list[tuple[int, int]]()
    for token in range(vocabulary.size):
        stop, newline, _ = vocabulary.piece(token).partition(b"\n")
        if newline and stop.strip():
            alone = vocabulary.tokenize(stop.decode("utf-8", "ignore"))
            if len(alone) == 1:
                found.append((token, alone[0]))
    return found


class Shaping:
    """The shifts of one text; a `Shape`."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        turns: Sequence[Turn] = (),
        length: Length | None = None,
        frame: Frame | None = None,
        read: str = "",
        asked: Sequence[str] = (),
        small: bool | None = None,
        openers: Collection[str] = (),
    ) -> None:
        """`read` is what the text is written from; behind the words of which `asked`
        are the stems nothing more is to be said, if there are any. `small` is how
        sentences begin, if that is known; `openers` are words that begin many."""
        self._vocabulary, self._piece = vocabulary, cache(vocabulary.piece)
        self._read, self._addressed = read, frame is not None
        self._ways = [
            _Way(vocabulary, turn, blank)
            for one in turns
            for turn in one.cases()
            for blank in ("", " ")
            if not (blank and _parted(turn.out, turn.into)[0])
        ]
        self._length, self._frame = length or Length(0.0, inf), frame or Frame()
        self._ends = sorted(vocabulary.end_ids)
        self._lines = vocabulary.tokenize("\n\n")
        self._top = _steps(vocabulary, self._frame.top)
        closing, end = self._frame.closing, self._frame.end
        self._besides = [_Sentence(vocabulary, s, end) for s in self._frame.besides]
        self._closing = [_Sentence(vocabulary, closing, end)] if closing else []
        self._end = _steps(vocabulary, end)
        self._stops = _stops_of(vocabulary)
        self._asked = asked
        self._first = [] if small is None else list(self._turned(small, openers))
        self._ending: set[bytes] = set()
        """Texts, each up to a stop, behind which the body would have ended."""

    @property
    def reach(self) -> int:
        """Back from the midst of what is said behind a body to its last stop."""
        said = [len(one.steps(last=True)) for one in (*self._besides, *self._closing)]
        return sum(said) + 1 if said else 0

    def __call__(self, before: Sequence[int], logits: Floats) -> Floats:
        """The shifted logits."""
        data = b"".join(map(self._piece, before))
        tail = data[-_TAIL:].decode("utf-8", "ignore")
        if self._first:
            self._shift_first(tail, logits)
        for way in self._ways:
            way.shift(tail, logits)
        self._shift_again(tail, logits)
        _, newlines, below = data.partition(b"\n\n")
        for begun, token in self._top:
            _, lines, first = begun.partition(b"\n\n")
            # First words stand below a greeting that came out otherwise, too.
            if data == begun or (newlines and lines and below == first):
                _lead(logits, self._frame.lead, token)
        if not self._top or b"\n" in data:
            self._shift_end(data, logits)
        return logits

    def _turned(self, small: bool, openers: Collection[str]) -> Iterator[_Turned]:
        """Tokens that may begin no sentence. A name that is read stays great, and so
        does a word that is neither read small nor among the `openers`."""
        piece, tokenize = self._piece, self._vocabulary.tokenize
        words = re.findall(r"[^\W\d_]+", self._read)
        within = set(re.findall(r"(?<=[\w,] )[^\W\d_]+", self._read))
        names = {one for one in within if not one.islower()}
        kept = {tokenize(a + one)[0] for one in names for a in ("", " ")}
        kept.update(token for _, token in self._end[:1])
        known = {*filter(str.islower, words), *openers} - {*map(str.casefold, names)}
        ids = {piece(token): token for token in range(self._vocabulary.size)}
        for token in {*ids.values()} - kept:
            text = piece(token).decode("utf-8", "ignore")
            word = text.removeprefix(" ")
            may = len(word) < 3 or word.casefold() in known  # a piece begins any word
            great = word[:1].isupper() and word != "I" and not word[1:2].isupper()
            if (great and may) if small else word[:1].islower():
                turned = text[: -len(word)] + word[0].swapcase() + word[1:]
                twin = ids.get(turned.encode())
                yield text != word, token, tokenize(turned)[0] if twin is None else twin

    def _shift_first(self, tail: str, logits: Floats) -> None:
        """Give the probability of first letters of one case to those of the other."""
        found = _BEGINS.search(tail)
        behind = found and found[1]
        sign_off = "\n\n" in (behind or "") and self._addressed and not self._end
        if sign_off or (found is None and (tail or self._addressed)):
            return
        both = [one[1:] for one in self._first if one[0] == (behind == "")]
        tokens, twins = np.array(both, np.intp).reshape(-1, 2).T
        np.logaddexp.at(logits, twins, logits[tokens])
        logits[tokens] -= MOST

    def _shift_again(self, tail: str, logits: Floats) -> None:
        """Shift a word that was just said: behind a comma, or a third time."""
        found = _JUST_SAID.search(tail)
        if found is None:
            return
        word, before, comma, begun = found.groups("")
        again = f"{tail[found.start() : found.start(4)]} {word}".casefold()
        if not (before or comma) or again in self._read.casefold():
            return
        for said in {word, word.lower(), word.capitalize()}:
            if f" {said}".startswith(begun):
                rest = self._vocabulary.tokenize(f" {said}"[len(begun) :])
                if len(rest) == 1:
                    logits[rest] -= MOST

    def _shift_end(self, data: bytes, logits: Floats) -> None:
        """Shift where a text ends, and how."""
        length, frame = self._length, self._frame
        if frame.end and data.endswith(frame.end.encode()):
            _lead(logits, frame.lead, *self._ends)
            return
        words = len(data.split())
        press = 0.0
        if words > length.high:
            press = min(MOST, 2 * MOST * (words / max(length.high, 1.0) - 1))
        elif words < length.low:
            press = -MOST / 2 * (1 - words / length.low)
        logits[self._ends] += press
        parts = data.count(b"\n\n") + 1
        for begun, token in self._end:
            if begun and data.endswith(b"\n" + begun):
                _lead(logits, frame.lead, token)
                return
        if data.endswith(b"\n"):
            if parts == frame.paragraphs:
                _lead(logits, frame.lead, *(token for _, token in self._end[:1]))
            elif parts > 2:
                logits[[token for _, token in self._end[:1]]] += press + MOST
            return
        lined = [token for token, _ in self._stops]
        logits[lined] += press / 2
        if self._says_all(data):
            self._end_body(data, logits)
        self._shift_behind_body(data, logits)

    def _says_all(self, data: bytes) -> bool:
        """Whether the last word that was asked for is said, and nearly all others."""
        said = stems(data.decode("utf-8", "ignore")) if self._asked else set()
        lacking = [one for one in self._asked if one not in said]
        return bool(said) and (
            self._asked[-1] in said and len(lacking) <= len(self._asked) // _LACKING
        )

    def _end_body(self, data: bytes, logits: Floats) -> None:
        """Have the body end with this sentence, and a text without a frame as well."""
        framed = bool(self._top or self._end)
        if data[-1:] in _STOPS:
            logits[[*self._lines[:framed], *self._ends]] += MOST / 2
        for stop in {stop for _, stop in self._stops} if framed else ():
            if self._piece(stop)[-1:] in _STOPS:
                ids = [lined for lined, one in self._stops if one == stop]
                together = np.logaddexp.reduce(logits[ids])
                logits[ids] += np.logaddexp(together, logits[stop]) - together
                logits[stop] -= MOST / 2

    def _shift_behind_body(self, data: bytes, logits: Floats) -> None:
        """Let what is said behind a body stand where the body would have ended."""
        if any(data.endswith(one.said) for one in self._closing):
            _lead(logits, self._frame.lead, *self._lines[:1])
            return
        for one in (*self._besides, *self._closing):
            last = one in self._closing or not self._left(data + one.said)
            for begun, token in one.steps(last=last):
                before = data[: len(data) - len(begun)]
                said = begun and data.endswith(begun) and one in self._left(before)
                whole = one in self._closing and _STOP.search(begun.strip())
                if said and (whole or self._ended(before)):
                    _lead(logits, self._frame.lead, token)
                    return
        left = self._left(data)
        if left and self._ended(data):
            besides, closing = (
                [one.steps(last=False)[0][1] for one in left if one in some]
                for some in (self._besides, self._closing)
            )
            _lead(logits, self._frame.lead, *(besides or closing))
            # What the checker takes if it refuses those: the last words, or the end.
            best = logits.max()
            end = MOST if closing else MOST / 1.5
            for ids, below in (closing, MOST / 3), (self._lines[:1], end):
                lifted = np.minimum(logits[ids] + FAR, best - below)
                logits[ids] = np.maximum(logits[ids], lifted)
            return
        best = logits.max()
        for lined, stop in self._stops if left else ():
            if logits[lined] >= best - 1.0:  # the body may well end here
                self._ending.add(data + self._piece(stop))
                logits[stop] = np.logaddexp(logits[stop], logits[lined])
                logits[lined] -= MOST

    def _ended(self, data: bytes) -> bool:
        """Whether a body would have ended here, or did before what was said since."""
        return data in self._ending or any(
            data.endswith(one.said) and self._ended(data[: len(data) - len(one.said)])
            for one in self._besides
        )

    def _closed(self, data: bytes) -> bool:
        """Whether the usual last words were said, if there are any."""
        text = data.decode("utf-8", "ignore").casefold()
        return all(one.small in text for one in self._closing)

    def _left(self, data: bytes) -> list[_Sentence]:
        """What may be said behind a body: sentences that the person often says, if the
        text is shorter than usual by half of one, and the usual last words."""
        if self._closing and self._closed(data):
            return []
        text, closing = data.decode("utf-8", "ignore").casefold(), self._closing
        words = len(data.split()) + sum(one.words for one in closing)
        room = self._length.usual - words - len(self._frame.end.split())
        fit = (one for one in self._besides if one.words <= 2 * room)
        return [*(one for one in fit if one.small not in text), *closing]


def _lead(logits: Floats, nats: float, *tokens: int) -> None:
    """Lift these tokens, the likeliest of them `nats` above all others, if `FAR` nats
    are enough for that."""
    if tokens:
        ids, others = list(set(tokens)), logits.copy()
        others[ids] = -inf
        lift = others.max() + nats - logits[ids].max()
        logits[ids] += min(max(lift, 0.0), FAR)
