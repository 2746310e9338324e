"""Two vocabularies: a generalist's rows, said in the tokens of another model.

Two token lists have only bytes in common. The server cuts a text into the tokens of its
own model and gives a row of candidates at each of their borders; here the row at a
place of the device's text is made of them, over the device's tokens. A candidate is a
string; it is written in device tokens, t1 t2 ..., and

    L(t | tokens so far) = the sum over all strings that go on so and have t next,

each with the probability of the border that it begins at. Where a border lies at the
place, that is every candidate there, under its first device token. Where the
generalist's token goes on beyond the place, it is what is left of those candidates that
agree with the device tokens since the border. So L is a distribution over device
tokens, whose steps together give each text the probability that the generalist's tokens
give it, and every method works on it as it does for one vocabulary. Where both lists
share their strings and borders, it is the generalist's row with other ids.

A drafted token that no string is written with, say one that is two tokens of the
generalist, has the probability of its bytes: P(text to its end) / P(text before it),
P(x) being the sum over borders q of P(tokens to q) times the probability of all
candidates there that begin with x[q:]. What the candidates leave out, and texts whose
tokens have none of these borders, is left out here, too; the first is bounded by the
tail of a row.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import NOTHING_LEFT_OUT, Candidates
from decoding_core.sampling import Floats

LONGEST_PIECE = 1024  # bytes of a token; longer ones are no words
_LOWEST = -700.0
_LEAST = math.exp(_LOWEST)  # as good as nothing, and no zero yet
_NO_TOKEN, _UNKNOWN, _END = -1, -2, -3  # in the place of a token of one's own

Tokenize = Callable[[str], Sequence[int]]


class ByteVocabulary:
    """A vocabulary by the bytes of its tokens."""

    def __init__(
        self,
        pieces: Sequence[bytes],
        end_ids: Sequence[int],
        tokenize: Tokenize | None = None,
    ) -> None:
        """`pieces` (V,) are the bytes of each token, b"" for one that is no text; of
        the tokens that end a text the first is the usual one. `tokenize` is the model's
        own tokenizer: without it texts are cut greedily."""
        self.pieces = pieces
        self.end_ids = frozenset(end_ids)
        self.end_id = end_ids[0] if end_ids else -1
        self._tokenize = tokenize
        self._wording: Wording | None = None
        self._ids: dict[bytes, int] = {}
        self._again: dict[bytes, list[int]] = {}  # tokens of the same bytes as another
        for token, piece in enumerate(pieces):
            if not piece or token in self.end_ids:
                continue
            if self._ids.setdefault(piece, token) != token:
                self._again.setdefault(piece, []).append(token)
        self.longest = max(map(len, self._ids), default=0)  # bytes of a token

    @cached_property
    def _sorted(self) -> tuple[list[bytes], NDArray[np.int32]]:
        strings = sorted(
            (piece, token)
            for token, piece in enumerate(self.pieces)
            if piece and token not in self.end_ids
        )
        places = np.full(len(self.pieces), -1, np.int32)
        places[[token for _, token in strings]] = np.arange(len(strings))
        return [piece for piece, _ in strings], places

    @property
    def places(self) -> NDArray[np.int32]:
        """The place (V,) of each token among all strings by their bytes; below 0 for
        one that is none."""
        return self._sorted[1]

    def beginning(self, prefix: bytes) -> tuple[int, int, int]:
        """Among all strings the first place of those that begin with `prefix`, that
        behind those that are it, and that behind all of them."""
        strings, _ = self._sorted
        low = bisect_left(strings, prefix)
        if low == len(strings) or not strings[low].startswith(prefix):
            return low, low, low
        same = bisect_right(strings, prefix, low)
        rising = prefix.rstrip(b"\xff")  # whose last byte has one above it
        behind = rising[:-1] + bytes([rising[-1] + 1]) if rising else None
        high = bisect_left(strings, behind, same) if behind else len(strings)
        return low, same, high

    def tokens_of(self, piece: bytes) -> list[int]:
        """The tokens that are these bytes."""
        first = self._ids.get(piece)
        return [] if first is None else [first, *self._again.get(piece, ())]

    def wording(self, other: ByteVocabulary) -> Wording:
        """How the tokens of another vocabulary are written in these; the last one is
        kept, with all that it has looked up."""
        if self._wording is None or self._wording.other is not other:
            self._wording = Wording(self, other)
        return self._wording

    def text(self, token_ids: Sequence[int]) -> bytes:
        """The bytes of tokens."""
        return b"".join(map(self.pieces.__getitem__, token_ids))

    def spelled(self, data: bytes) -> list[int]:
        """Tokens whose bytes are exactly `data`: those of the model's own tokenizer up
        to where that changes the text (as one that composes accents does), and from
        there on the longest that fit. Raises VocabularyMismatchError if the vocabulary
        has no tokens for these bytes."""
        found, at = list[int](), 0
        if self._tokenize is not None and data:
            for token in self._tokenize(data.decode("utf-8", "replace")):
                piece = self.pieces[token]
                if not at and piece[:1] == b" " != data[:1]:
                    piece = piece[1:]  # SentencePiece writes a blank before a text
                    token = self._ids.get(piece, -1)
                if token < 0 or not piece or not data.startswith(piece, at):
                    break
                found.append(token)
                at += len(piece)
        while at < len(data):
            sizes = range(min(self.longest, len(data) - at), 0, -1)
            fitting = (data[at : at + size] for size in sizes)
            piece = next((one for one in fitting if one in self._ids), b"")
            if not piece:
                raise VocabularyMismatchError(
                    f"the vocabulary has no token for the byte {data[at]:#04x}"
                )
            found.append(self._ids[piece])
            at += len(piece)
        return found

    def going_on(self, data: bytes) -> list[int]:
        """Tokens whose bytes are exactly `data`, a text that goes on. Raises as
        `spelled`."""
        if data[-1:].strip():
            return self.spelled(data)
        # Two line breaks are one token at the end of a text and, as GPT-2 has it, two
        # before a word: a row behind the one token is of a text that no model has read.
        found, at = list[int](), 0
        for token in self.spelled(data + b"a"):
            if at + len(self.pieces[token]) > len(data):
                break
            found.append(token)
            at += len(self.pieces[token])
        return found + self.spelled(data[at:])


class Wording:
    """How the tokens of another vocabulary are written in one's own."""

    def __init__(self, own: ByteVocabulary, other: ByteVocabulary) -> None:
        self.own, self.other = own, other
        self._of_token: dict[int, tuple[int, ...]] = {}
        self._of_bytes: dict[bytes, tuple[int, ...]] = {}
        self._first = np.full(len(other.pieces), _UNKNOWN, np.int32)
        self._first[[one for one in other.end_ids if one < len(other.pieces)]] = _END

    def first(self, token_ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """The first of one's own tokens (K,) of tokens of the other vocabulary (K,);
        below 0 where there is none, and `_END` for one that ends a text."""
        found = self._first[token_ids]
        if (unknown := token_ids[found == _UNKNOWN]).size:
            self._first[unknown] = [
                next(iter(self.token(token)), _NO_TOKEN) for token in unknown.tolist()
            ]
            found = self._first[token_ids]
        return found

    def token(self, token_id: int) -> tuple[int, ...]:
        """One's own tokens of a token of the other vocabulary; () if there are none."""
        found = self._of_token.get(token_id)
        if found is None:
            found = self.rest(self.other.pieces[token_id])
            self._of_token[token_id] = found
        return found

    def rest(self, data: bytes) -> tuple[int, ...]:
        """One's own tokens of any bytes; () if there are none."""
        found = self._of_bytes.get(data)
        if found is None:
            try:
                found = tuple(self.own.spelled(data))
            except VocabularyMismatchError:
                found = ()
            self._of_bytes[data] = found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Border:
    """A border of the other model's tokens, and what may follow there."""

    start: int  # the byte of the stretch at which it lies
    log_weight: float
    """Log-probability of the other model's tokens up to here; of all borders of a
    stretch but for one constant."""
    row: Candidates  # over the other vocabulary
    before: Border | None = None
    through: int = -1  # the token of the other vocabulary that leads here from `before`


def borders_of(
    rows: Sequence[Candidates],
    stretch: bytes,
    vocabulary: ByteVocabulary,
    reach: int = 0,
) -> list[Border]:
    """The borders that a server's rows stand at, one behind the other, each leading to
    the next by a token of its row. The starts of the rows count from `reach` bytes of
    the stretch on; what begins before the stretch is left out. Raises MessageError if
    the rows do not follow the text: then the server's tokens have other bytes than it
    said."""
    found: list[Border] = []
    for row in rows:
        start = reach + row.start
        row.check(len(vocabulary.pieces))
        if not found:
            if start >= 0:
                found.append(Border(start, 0.0, row))
            continue
        last = found[-1]
        between = stretch[last.start : start]
        ids, logprobs = last.row.token_ids, last.row.generalist_logprobs
        leading = [
            (float(logprobs[place]), token)
            for token in vocabulary.tokens_of(between)
            for place in (ids == token).nonzero()[0]
        ]
        if not leading:
            raise MessageError(
                "the server's tokens do not spell the text that it was sent; it is "
                "faulty, so choose another with --server, or write with --offline"
            )
        logprob, token = max(leading)
        weight = last.log_weight + logprob
        found.append(Border(start, weight, row, last, token))
    return found


@dataclass(slots=True, eq=False)
class _Strings:
    """The candidates at a border that are strings, K of them."""

    ids: NDArray[np.int32]  # (K,)
    probabilities: Floats  # (K,)
    own: NDArray[np.int32]  # (N,) their first tokens of one's own, rising
    masses: Floats  # (N,) the probabilities of the strings with each of these
    end: float  # probability that the text ends here
    missing: float  # what the candidates leave out

    def within(
        self, vocabulary: ByteVocabulary, low: int, high: int
    ) -> NDArray[np.intp]:
        """The indices of the strings whose places lie there."""
        places = vocabulary.places[self.ids]
        return ((low <= places) & (places < high)).nonzero()[0]


def _strings_of(
    borders: Sequence[Border], wording: Wording, most: int | None
) -> list[_Strings]:
    """The strings at each border, of all borders at once: they are many and small."""
    if not borders:
        return []
    count, numbers = len(borders), np.arange(len(borders) + 1)
    at = numbers[:-1].repeat([len(one.row.token_ids) for one in borders])
    ids = np.concatenate([one.row.token_ids for one in borders])
    logprobs = np.concatenate([one.row.generalist_logprobs for one in borders])
    probabilities = np.exp(logprobs.astype(np.float64))
    own = wording.first(ids)
    most = len(ids) if most is None else most
    for number, one in enumerate(borders[1:]):
        if one.before is borders[number] and len(one.before.row.token_ids) > most:
            own[(at == number) & (ids == one.through)] = _NO_TOKEN
    ends = np.bincount(at, probabilities * (own == _END), count)
    strings = (own >= 0).nonzero()[0]
    at, ids, probabilities = at[strings], ids[strings], probabilities[strings]
    missing = 1.0 - ends - np.bincount(at, probabilities, count)
    keys, masses = _merged(at * len(wording.own.pieces) + own[strings], probabilities)
    of_strings = at.searchsorted(numbers).tolist()
    of_own = keys.searchsorted(numbers * len(wording.own.pieces)).tolist()
    own = (keys % len(wording.own.pieces)).astype(np.int32)
    lost, end = missing.tolist(), ends.tolist()
    found = []
    for number in range(count):
        low, high = of_strings[number : number + 2]
        start, stop = of_own[number : number + 2]
        found.append(
            _Strings(
                *(ids[low:high], probabilities[low:high]),
                *(own[start:stop], masses[start:stop]),
                *(end[number], max(0.0, lost[number])),
            )
        )
    return found


def _merged(keys: NDArray[Any], masses: Floats) -> tuple[NDArray[Any], Floats]:
    """Each key once, rising, with the sum of its masses."""
    if not len(keys):
        return keys, masses
    order = keys.argsort(kind="stable")
    keys = keys[order]
    begins = np.concatenate([[True], keys[1:] != keys[:-1]]).nonzero()[0]
    return keys[begins], np.add.reduceat(masses[order], begins)


class ProjectedRows:
    """The other model's rows over a stretch of text, in one's own tokens."""

    def __init__(
        self,
        wording: Wording,
        borders: Sequence[Border],
        token_ids: Sequence[int],
        most: int | None = None,
    ) -> None:
        """`token_ids` are one's own tokens of the stretch, in whose bytes the borders
        lie. Of a row that holds more than the `most` likeliest, the one that leads to
        the next border is no candidate: it is there because it was drafted."""
        self._wording = wording
        self._tokens = tuple(token_ids)
        self._places = [0]
        for token in token_ids:
            self._places.append(self._places[-1] + len(wording.own.pieces[token]))
        self._text = wording.own.text(token_ids)
        self._index = dict(
            zip(reversed(self._places), range(len(token_ids), -1, -1), strict=True)
        )
        strings = _strings_of(borders, wording, most)
        self._borders = list(zip(borders, strings, strict=True))
        self._agrees: dict[int, bool] = {}  # by the id of a border

    def at_border(self, index: int) -> bool:
        """Whether a border lies before the token of this index."""
        return any(one.start == self._places[index] for one, _ in self._borders)

    def row(
        self, index: int, end_id: int, added: int | None = None
    ) -> Candidates | None:
        """The candidates (K,) over one's own tokens before the token of this index,
        among them `added`; None: the other model says nothing of this place. `end_id`
        is the token that ends a text."""
        at = self._places[index]
        ids, masses, missing = self._masses(index, at, end_id)
        if not ids.size:
            return None
        total = float(np.add.reduce(masses)) + missing
        if added is not None:
            place = int(ids.searchsorted(added))
            if place == len(ids) or ids[place] != added:
                logprob = -math.inf
                if piece := self._wording.own.pieces[added]:
                    logprob = self._reached(at + len(piece)) - self._reached(at)
                mass = total * math.exp(max(_LOWEST, min(0.0, logprob)))
                ids = np.insert(ids, place, added)
                masses = np.insert(masses, place, mass)
        tail = math.log(missing / total) if missing > 0.0 else NOTHING_LEFT_OUT
        probabilities = np.maximum(masses / total, _LEAST)
        return Candidates(ids, np.minimum(np.log(probabilities), 0.0), None, tail)

    def _masses(
        self, index: int, at: int, end_id: int
    ) -> tuple[NDArray[np.int32], Floats, float]:
        """What may be each token (K,), rising: by strings that agree with one's own
        tokens before the place; if none does, with those since a border; or by their
        bytes alone; and what the candidates leave out. All but for one factor."""
        longest = self._wording.other.longest
        near = [one for one in self._borders if 0 <= at - one[0].start <= longest]
        known: tuple[Callable[[Border], bool], ...]
        known = (self._agree, lambda one: one.start in self._index, lambda _: True)
        for place, counts in enumerate(known):
            strictly = place < len(known) - 1
            said = [
                (border, strings, *self._next(border, strings, index, end_id, strictly))
                for border, strings in near
                if counts(border)
            ]
            said = [one for one in said if one[2].size or one[0].start == at]
            if any(ids.size for _, _, ids, _ in said):
                break
        else:
            return np.empty(0, np.int32), np.empty(0), 0.0
        if len(said) == 1:
            [(border, strings, ids, masses)] = said
            return ids, masses, strings.missing if border.start == at else 0.0
        highest = max(border.log_weight for border, *_ in said)
        shares, missing = list[Floats](), 0.0
        for border, strings, _, probabilities in said:
            weight = math.exp(max(_LOWEST, border.log_weight - highest))
            shares.append(weight * probabilities)
            if border.start == at:
                missing += weight * strings.missing
        every = np.concatenate([ids for _, _, ids, _ in said])
        ids, masses = _merged(every, np.concatenate(shares))
        return ids, masses, missing

    def _next(
        self,
        border: Border,
        strings: _Strings,
        index: int,
        end_id: int,
        strictly: bool,
    ) -> tuple[NDArray[np.int32], Floats]:
        """The tokens (N,) that come next at a place by the strings of a border, rising,
        and their probabilities."""
        at, wording = self._places[index], self._wording
        if border.start == at:
            if not strings.end:
                return strings.own, strings.masses
            return _merged(
                np.append(strings.own, np.int32(end_id)),
                np.append(strings.masses, strings.end),
            )
        begun = self._text[border.start : at]
        _, same, high = wording.other.beginning(begun)
        path = self._tokens[self._index.get(border.start, index) : index]
        found, firsts = list[int](), list[int]()
        for i in (
            strings.within(wording.other, same, high).tolist() if same < high else ()
        ):
            token = int(strings.ids[i])
            if not strictly:
                own = wording.rest(wording.other.pieces[token][len(begun) :])
            elif (own := wording.token(token))[: len(path)] == path:
                own = own[len(path) :]
            else:
                continue
            if own:
                found.append(i)
                firsts.append(own[0])
        return _merged(np.array(firsts, np.int32), strings.probabilities[found])

    def _agree(self, border: Border) -> bool:
        """Whether the tokens up to a border are written as the text is."""
        known = self._agrees.get(id(border))
        if known is None:
            before, places = border.before, self._index
            known = border.start in places
            if known and before is not None:
                if before.start in places:
                    between = self._tokens[places[before.start] : places[border.start]]
                    through = self._wording.token(border.through)
                    known = self._agree(before) and through == between
                else:  # the stretch begins within one of one's own tokens
                    known = before.before is None
            self._agrees[id(border)] = known
        return known

    def _reached(self, place: int) -> float:
        """Log-probability of the bytes up to a place, but for one constant."""
        logs = []
        met = any(border.start == place for border, _ in self._borders)
        for border, strings in self._borders:
            if border.start == place:
                logs.append(border.log_weight)
            elif border.start < place:
                data = self._text[border.start : place]
                if border.start + len(data) < place:
                    continue  # the place lies behind the stretch
                low, same, high = self._wording.other.beginning(data)
                going_on = strings.within(
                    self._wording.other, same if met else low, high
                )
                mass = float(strings.probabilities[going_on].sum())
                if mass:
                    logs.append(border.log_weight + math.log(mass))
        return float(np.logaddexp.reduce(logs)) if logs else -math.inf


@dataclass(frozen=True, slots=True)
class ByteReading:
    """What of a text in bytes a server's model reads for a block."""

    token_ids: Sequence[int]  # of the text, up to the last border that gets a row
    first: int  # how many of them stand before the first such border
    starts: Sequence[int]  # bytes of each such border, from the drafted bytes on


def reading_of(
    vocabulary: ByteVocabulary, text: bytes, drafted: int, rows: int
) -> ByteReading:
    """What is read of `text`, whose last `drafted` bytes are a draft, for at most
    `rows` rows: the first stands one token before the last border in front of the
    draft, as a token may go on there. Raises VocabularyMismatchError as `spelled`."""
    token_ids = vocabulary.going_on(text)
    before = vocabulary.going_on(text[: len(text) - drafted])
    if token_ids[: len(before)] != before:
        token_ids = before  # the draft would cut what stands before it otherwise
    ends = [0]
    for token in token_ids:
        ends.append(ends[-1] + len(vocabulary.pieces[token]))
    begin = len(text) - drafted
    first = max(0, bisect_right(ends, begin) - 2)
    last = min(len(token_ids), first + rows - 1)
    starts = [at - begin for at in ends[first : last + 1]]
    return ByteReading(token_ids[:last], first, starts)
