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

import numpy as np

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import NOTHING_LEFT_OUT, Candidates

LONGEST_PIECE = 1024  # bytes of a token; longer ones are no words
_LOWEST = -700.0
"""The logarithm of what is as good as nothing, and no zero yet."""

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
        self._ids: dict[bytes, int] = {}
        for token, piece in enumerate(pieces):
            if piece and token not in self.end_ids:
                self._ids.setdefault(piece, token)
        self._longest = max(map(len, self._ids), default=0)

    def text(self, token_ids: Sequence[int]) -> bytes:
        """The bytes of tokens."""
        return b"".join(self.pieces[token] for token in token_ids)

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
            sizes = range(min(self._longest, len(data) - at), 0, -1)
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
    rows: Sequence[Candidates], stretch: bytes, vocabulary: ByteVocabulary
) -> list[Border]:
    """The borders that a server's rows stand at, one behind the other, each leading to
    the next by a token of its row. Raises MessageError if the rows do not follow the
    text: then the server's tokens have other bytes than it said."""
    found: list[Border] = []
    for row in rows:
        row.check(len(vocabulary.pieces))
        if not found:
            found.append(Border(row.start, 0.0, row))
            continue
        last = found[-1]
        between = stretch[last.start : row.start]
        leading = [
            (float(logprob), token)
            for token, logprob in zip(
                last.row.token_ids.tolist(), last.row.generalist_logprobs, strict=True
            )
            if between and vocabulary.pieces[token] == between
        ]
        if not leading:
            raise MessageError(
                "the server's tokens do not spell the text that it was sent; it is "
                "faulty, so choose another with --server, or write with --offline"
            )
        logprob, token = max(leading)
        weight = last.log_weight + logprob
        found.append(Border(row.start, weight, row, last, token))
    return found


@dataclass(frozen=True, slots=True)
class _Strings:
    """The candidates at a border, sorted by their bytes."""

    pieces: Sequence[bytes]
    ids: Sequence[int]
    probabilities: Sequence[float]
    end: float  # probability that the text ends here
    missing: float  # what the candidates leave out

    @classmethod
    def of(
        cls, row: Candidates, vocabulary: ByteVocabulary, but: int | None
    ) -> _Strings:
        probabilities = np.exp(row.generalist_logprobs.astype(np.float64)).tolist()
        found, end = [], 0.0
        for token, probability in zip(
            row.token_ids.tolist(), probabilities, strict=True
        ):
            if token == but:
                continue
            if token in vocabulary.end_ids:
                end += probability
            elif vocabulary.pieces[token]:
                found.append((vocabulary.pieces[token], token, probability))
        found.sort()
        pieces, ids, masses = zip(*found, strict=True) if found else ((), (), ())
        return cls(pieces, ids, masses, end, max(0.0, 1.0 - end - sum(masses)))

    def beginning(self, prefix: bytes) -> range:
        """The places of the strings that begin with `prefix`."""
        low = high = bisect_left(self.pieces, prefix)
        while high < len(self.pieces) and self.pieces[high].startswith(prefix):
            high += 1
        return range(low, high)


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
        after = {id(one.before): one.through for one in borders}
        self._borders = []
        for one in borders:
            more = most is not None and len(one.row.token_ids) > most
            but = after.get(id(one)) if more else None
            self._borders.append((one, _Strings.of(one.row, wording.other, but)))
        self._agrees: dict[int, bool] = {}  # by the id of a border

    def row(
        self, index: int, end_id: int, added: int | None = None
    ) -> Candidates | None:
        """The candidates (K,) over one's own tokens before the token of this index,
        among them `added`; None: the other model says nothing of this place. `end_id`
        is the token that ends a text."""
        at = self._places[index]
        masses, missing = self._masses(index, at, end_id)
        if not masses:
            return None
        total = sum(masses.values()) + missing
        if added is not None and added not in masses:
            logprob = -math.inf
            if piece := self._wording.own.pieces[added]:
                logprob = self._reached(at + len(piece)) - self._reached(at)
            masses[added] = total * math.exp(max(_LOWEST, min(0.0, logprob)))
        ids = sorted(masses)
        logprobs = np.log(np.array([masses[token] for token in ids]) / total)
        tail = math.log(missing / total) if missing > 0.0 else NOTHING_LEFT_OUT
        return Candidates(
            np.array(ids, np.int32),
            np.clip(logprobs, _LOWEST, 0.0),
            None,
            tail,
        )

    def _masses(
        self, index: int, at: int, end_id: int
    ) -> tuple[dict[int, float], float]:
        """What may be each token: by strings that agree with one's own tokens before
        the place, or by their bytes alone if none does; and what the candidates leave
        out. All but for one factor."""
        for strictly in (True, False):
            said = [
                (border.log_weight, found, strings.missing if border.start == at else 0)
                for border, strings in self._borders
                if border.start <= at and (self._agree(border) or not strictly)
                for found in [self._next(border, strings, index, end_id, strictly)]
                if found or border.start == at
            ]
            if any(found for _, found, _ in said):
                break
        else:
            return {}, 0.0
        highest = max(weight for weight, _, _ in said)
        masses, missing = dict[int, float](), 0.0
        for log_weight, found, left_out in said:
            weight = math.exp(max(_LOWEST, log_weight - highest))
            missing += weight * left_out
            for token, probability in found:
                masses[token] = masses.get(token, 0.0) + weight * probability
        return {token: mass for token, mass in masses.items() if mass}, missing

    def _next(
        self,
        border: Border,
        strings: _Strings,
        index: int,
        end_id: int,
        strictly: bool,
    ) -> list[tuple[int, float]]:
        """The token of each string of a border that comes next at a place."""
        at, wording = self._places[index], self._wording
        found = list[tuple[int, float]]()
        if border.start == at:
            if strings.end:
                found.append((end_id, strings.end))
            for token, probability in zip(
                strings.ids, strings.probabilities, strict=True
            ):
                if own := wording.token(token):
                    found.append((own[0], probability))
            return found
        begun = self._text[border.start : at]
        path = self._tokens[self._index.get(border.start, index) : index]
        for i in strings.beginning(begun):
            if len(strings.pieces[i]) == len(begun):
                continue
            if not strictly:
                own = wording.rest(strings.pieces[i][len(begun) :])
            elif (own := wording.token(strings.ids[i]))[: len(path)] == path:
                own = own[len(path) :]
            else:
                continue
            if own:
                found.append((own[0], strings.probabilities[i]))
        return found

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
                mass = sum(
                    strings.probabilities[i]
                    for i in strings.beginning(data)
                    if not met or len(strings.pieces[i]) > len(data)
                )
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
    ends = [0]
    for token in token_ids:
        ends.append(ends[-1] + len(vocabulary.pieces[token]))
    begin = len(text) - drafted
    before = bisect_right(ends, begin) - 1
    first = max(0, before - 1)
    last = min(len(token_ids), first + rows - 1)
    starts = [at - begin for at in ends[first : last + 1]]
    return ByteReading(token_ids[:last], first, starts)
