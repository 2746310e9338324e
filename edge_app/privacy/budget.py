"""The account of a text: the nats about the history in what left the device.

Each token that leaves was drawn, with the history, from some distribution S. The
reference R is the one it would have been drawn from without: the base's in place of the
specialist's, but for `mixture.UNCUT`. It tells log S(x)/R(x) nats to somebody who holds
the base, and what a text tells is the sum. A draw counts once, when it leaves, however
often the same bytes do.

With a limit or a mixture, what is drawn from is a mixture of S and R, with the largest
weight of S with which no token can pass the bound. So the bound holds before anything
leaves, and nothing that was drawn is thrown away. docs/adr/0029-what-a-text-tells.md
says why, docs/privacy.md what the number promises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.messages import (
    Candidates,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.mixture import (
    Probabilities,
    Reference,
    largest_weight,
    mixed,
    reference,
    reference_of,
)
from decoding_core.protocols import Engine, Verifier
from decoding_core.sampling import Draw, Floats, Use
from decoding_core.verifier import common_prefix, read_text
from edge_app.config.settings import PrivacyLimits
from edge_app.decoding.deciders import DraftedToken, Draws
from edge_app.decoding.events import Emit, Event, Notice, PrivacySpent, Sent
from edge_app.decoding.loop import Gate
from models.never_drawn import NeverDrawn

DECIDED_ANEW = 0.01
"""Share of the reference of a decision in which the draft plays no part. With none, a
draft that would never be refused without the history would tell infinitely much when it
is."""
_NEARLY = 0.05  # share of a limit that is left when the person is told that it is spent
_AT_ONCE = 64  # places of which the base is asked at once, at most
_LEAST = 1e-300  # in place of a probability that is 0 as a float


class PublicText:
    """How the verifier reads a text, by what the gate says of each stretch. The end, if
    that is not clear yet, is read as it is; so is all without a gate.

    What has left stays as it left, though the gate would hold it back now, with other
    tokens behind it.
    """

    def __init__(self, gate: Gate | None = None, most: int | None = None) -> None:
        """A text ends with its token `most`, if not before; None: that is not known."""
        self._gate = gate
        self._most = most
        self._own: list[int] = []
        self._read: list[tuple[int, Sequence[int], bool]] = []
        """Where each stretch ends, what the verifier reads, and whether that stands in
        for it."""
        self._left = 0  # tokens of the text that have left, or their stand-ins

    def __call__(self, text_ids: Sequence[int]) -> list[int]:
        """Token ids as the verifier reads them."""
        self._look(text_ids)
        return self.first(len(text_ids))

    def first(self, length: int) -> list[int]:
        """How the verifier reads the first tokens of the text that was given last."""
        return [token for token, _ in self._tokens(length)]

    def places(self, text_ids: Sequence[int]) -> list[int | None]:
        """For each public token its place in the text; None: a stand-in."""
        self._look(text_ids)
        return [place for _, place in self._tokens(len(text_ids))]

    def _tokens(self, length: int) -> Iterator[tuple[int, int | None]]:
        """The public tokens for the first `length` of the text, and their places."""
        begin = 0
        for end, read, held in self._read:
            if end > length:
                break
            for at, token in enumerate(read, begin):
                yield token, None if held else at
            begin = end
        for at in range(begin, length):
            yield self._own[at], at

    def has_left(self, length: int) -> None:
        """Note that the verifier holds `length` tokens of what was sent last."""
        begin = 0
        for end, read, held in self._read:
            if length < len(read):
                begin += 0 if held else length
                self._left = max(self._left, begin)
                return
            length -= len(read)
            begin = end
        if length:  # nothing was to follow, so it left before that was clear
            rest = self._own[begin : begin + length]
            begin += len(rest)
            self._read.append((begin, rest, False))
        self._left = max(self._left, begin)

    def _look(self, text_ids: Sequence[int]) -> None:
        """Ask the gate about what is new, and again about stretches whose end hung on
        tokens that are others now."""
        same = common_prefix(self._own, text_ids)
        self._left = min(self._left, same)
        anew = same < len(self._own)
        while anew and self._read and self._read[-1][0] > self._left:
            end, _, held = self._read[-1]
            if held and end <= same:
                break
            self._read.pop()
            begin = self._read[-1][0] if self._read else 0
            if not held and begin < self._left:
                kept = text_ids[begin : self._left]
                self._read.append((self._left, kept, False))
        self._own = list(text_ids)
        at = self._read[-1][0] if self._read else 0
        final = self._most is not None and len(text_ids) >= self._most
        while self._gate is not None and at < len(text_ids):
            piece = self._gate.next(text_ids, at, final=final)
            if piece is None:
                break
            read = piece.stand_in
            if piece.held is None:
                read = tuple(text_ids[at : at + piece.length])
            at += piece.length
            self._read.append((at, read, piece.held is not None))


@dataclass(slots=True)
class _Entry:
    """A draw for a place of the person's text, or the decision on the draft there."""

    place: int
    read: Sequence[int] = ()  # the public text before it, as it was clear then
    epoch: int = -1
    own: Probabilities | None = None  # what it is drawn with; None: free of history
    base: Probabilities | None = None  # the reference; None: not asked
    mixed: bool = False  # whether it is drawn with others than without an account
    decides: bool = False  # whether it is a decision
    token: int = -1
    own_log: float = 0.0
    nats: float | None = None  # what it tells; None: not known so far
    left: bool = False


class Account(Draws):
    """The account of one text: the `Draws` of its loop, which counts what each draw
    tells, and draws from something else if a limit asks for it."""

    def __init__(
        self,
        draw: Draw,
        base: Engine,
        emit: Emit,
        limits: PrivacyLimits | None = None,
        *,
        judges: bool = False,
        never: NeverDrawn | None = None,
        today: float = 0.0,
        note: Callable[[float], float] | None = None,
        public: PublicText | None = None,
    ) -> None:
        """`base` runs on this device. `judges`: the device decides which drafts stay.
        `today` nats were told the same server before this text; `note` is told of
        further ones, and gives the sum. `public` says how the server reads a text;
        None: as it is.
        """
        super().__init__(draw)
        self.exact = draw.temperature > 0.0
        """Whether the number is a sum over draws. At temperature 0 nothing is drawn; it
        is what drawing at temperature 1 would have told, an indication."""
        if not self.exact:
            draw = replace(draw, temperature=1.0, top_p=1.0)
        self._draw = draw
        self._base = base
        self._emit = emit
        self._limits = limits or PrivacyLimits()
        self.binds = self._limits.binds
        self._judges = judges
        self._never = never
        self._today = today
        self._note = note or (lambda nats: self._today + nats)
        self._public = public or PublicText()
        self._own: list[int] = []  # as the person reads it, with what is drafted
        self._prompt: list[int] = []
        self._text: list[int] = []  # as the server has it
        self._draws: dict[int, _Entry] = {}  # the last at each place of that text
        self._asked = _Entry(0)
        self._decided = 0.0  # nats of decisions that nothing has shown so far
        self._noted = 0.0  # nats of what is leaving, that today's sum holds
        self._warned = False
        self.total = 0.0  # nats that have left
        self.tokens = 0  # how many drawn tokens have left
        self.largest = 0.0
        """Nats of the draw that told most, for or against the history."""
        self.unread = 0
        """How many tokens have left that are not in the total: the base had no room to
        read them, or nobody drew them. Placeholders are not drawn tokens and cost no
        budget."""

    # What the loop draws: see `Draws`.

    def draft(
        self, logits: Floats, before: Sequence[int], attempt: int, epoch: int
    ) -> int:
        """A drafted token; from a bounded mixture each epoch has noise of its own."""
        other = self._to_draft_from(logits, before, epoch)
        if other is None:
            token = super().draft(logits, before, attempt, epoch)
        else:
            noise = len(before), Use.DRAFT, epoch
            token = self.draw.from_distribution(other, *noise)
        self._drawn(token, token)
        return token

    def redraw(
        self,
        target: Floats,
        without: Callable[[], Floats] | None,
        row: Candidates,
        before: Sequence[int],
    ) -> int:
        """The place in a row of the token after those that stay."""
        other = self._to_redraw_from(target, without, before)
        if other is None:
            index = super().redraw(target, without, row, before)
        else:
            index = self.draw.from_distribution(other, len(before))
        self._drawn(index, int(row.token_ids[index]))
        return index

    def decide(self, judged: DraftedToken, before: Sequence[int]) -> int | None:
        """The place in the row of the token that replaces a draft; None: it stays."""
        other = self._to_decide_from(judged, before)
        if other is None:
            index = judged.refusal()
        else:
            place = self.draw.from_distribution(other, len(before))
            index = place - 1 if place else None
        if index is None:
            self._drawn(0, judged.token)
        else:
            self._drawn(1 + index, int(judged.row.token_ids[index]))
        return index

    def _to_draft_from(
        self, logits: Floats, text_ids: Sequence[int], epoch: int
    ) -> Floats | None:
        """Probabilities (V,) to draw from; None: the specialist's. Without a limit the
        base is asked once the token has left."""
        public = self._public(text_ids)
        self._own = list(text_ids)
        asked = self._asked = _Entry(len(text_ids), public, epoch)
        own = asked.own = self._draw.distribution_of(logits)
        if not self._limits.binds:
            return None
        base = asked.base = self._reference(
            read_text(self._base, [*self._prompt, *public])[0], text_ids
        )
        # Nearly all tokens are none that can be drawn with the history.
        ids = own.ids()
        some, without = own[ids], base[ids]
        weight = self._weight(some, without, all_there=len(ids) == len(logits))
        if weight == 1.0:
            return None
        whole = np.zeros(len(logits))
        whole[ids] = some
        asked.own, asked.mixed = mixed(whole, base[:], weight), True
        return asked.own

    def _to_redraw_from(
        self,
        target: Floats,
        without: Callable[[], Floats] | None,
        text_ids: Sequence[int],
    ) -> Floats | None:
        """Probabilities (K,) to draw from instead; None: the target's."""
        self._own = list(text_ids)
        self._asked = _Entry(len(text_ids), self._public(text_ids))
        if without is None:
            return None
        return self._bounded(
            self._draw.distribution(target), reference(self._draw, without())
        )

    def _to_decide_from(
        self, judged: DraftedToken, text_ids: Sequence[int]
    ) -> Floats | None:
        """Probabilities (1 + K,) of the outcomes, by what the draft was drawn from."""
        place = len(text_ids)
        draft = self._draws.get(place)
        # What is drafted behind it is there yet.
        self._public(self._own)
        self._asked = _Entry(place, self._public.first(place), decides=True)
        if not self.exact:
            return None
        if draft is None or draft.base is None:
            self.unread += 1
            return None
        own = draft.own if draft.mixed else self._draw.distribution_of(judged.logits)
        assert own is not None
        row, token, draw = judged.row, judged.token, self._draw
        outcomes = judged.outcomes(draw.distribution(judged.target), own, row, token)
        wanted = reference(draw, judged.without())
        without = judged.outcomes(wanted, draft.base, row, token)
        here = row.token_ids == token
        anew = np.concatenate([[wanted[here].sum()], np.where(here, 0.0, wanted)])
        probs = self._bounded(
            outcomes, (1.0 - DECIDED_ANEW) * without + DECIDED_ANEW * anew
        )
        draft.own = draft.base = None
        return outcomes if probs is None and draft.mixed else probs

    def _drawn(self, index: int, token: int) -> None:
        """Keep what it tells, until the token leaves."""
        asked, nats = self._asked, None
        asked.token = token
        if asked.own is None:
            nats = 0.0
        else:
            asked.own_log = _log(asked.own[index])
            if asked.base is not None:
                nats = asked.own_log - _log(asked.base[index])
        if asked.decides:
            assert nats is not None
            self._decided += nats
            self.largest = max(self.largest, abs(nats))
            if not index:
                return
            nats = 0.0  # of the token that shows it
            del self._own[asked.place :]
        asked.nats = nats
        self._own.append(token)
        drafted = asked.epoch >= 0
        if not (self._judges and drafted):
            asked.own = asked.base = None
        before = self._draws.get(asked.place)
        key = asked.epoch, token
        if before and before.left and drafted and (before.epoch, before.token) == key:
            return  # the same draw, made again as the server had no room
        self._draws[asked.place] = asked

    # What the verifier at the socket tells.

    def open(self, prompt_ids: Sequence[int]) -> None:
        """A session begins, or begins again, with this public prompt."""
        self._prompt = list(prompt_ids)

    def before_leaving(self, position: int, token_ids: Sequence[int]) -> None:
        """Note what these public tokens tell, as far as known, before they leave."""
        self._text[position:] = token_ids
        fresh = [draw for _, draw in self._fresh(position, token_ids)]
        self._add_today(self._decided + sum(draw.nats or 0.0 for draw in fresh))

    def stayed(self) -> None:
        """Take back what `before_leaving` noted last: those tokens did not leave."""
        self._add_today(-self._noted)
        self._noted = 0.0

    def leave(self, position: int, token_ids: Sequence[int]) -> None:
        """They have left; whatever of them had left before counts no more."""
        self._text[position:] = token_ids
        found = self._fresh(position, token_ids)
        fresh = [draw for _, draw in found]
        for _, own, token in self._stretch(position, token_ids):
            draw = None if own is None else self._draws.get(own)
            if own is not None and (draw is None or draw.token != token):
                # Not drawn here.
                self._draws[own] = _Entry(own, token=token, nats=0.0, left=True)
                self.unread += 1
        self._public.has_left(position + len(token_ids))
        for place, draw in found:
            draw.left = True
            if list(draw.read) != self._text[:place]:
                draw.nats = None  # it was asked about before a stretch was held back
        self._ask_base([one for one in found if one[1].nats is None])
        told = [draw.nats for draw in fresh if draw.nats is not None]
        self.unread += len(fresh) - len(told)
        nats, self._decided = sum(told) + self._decided, 0.0
        self._add_today(nats - self._noted)
        self._noted = 0.0
        self.largest = max([self.largest, *map(abs, told)])
        self.total += nats
        self.tokens += len(fresh)
        if fresh or nats:
            self._emit(
                PrivacySpent(
                    nats,
                    len(fresh),
                    self.total,
                    self.tokens,
                    self.largest,
                    self._today,
                    self._limits.text,
                    self.exact,
                    self.unread,
                )
            )

    def _fresh(
        self, position: int, token_ids: Sequence[int]
    ) -> list[tuple[int, _Entry]]:
        """The draws of these public tokens that have not left, and their places."""
        found = []
        for place, own, token in self._stretch(position, token_ids):
            draw = None if own is None else self._draws.get(own)
            if draw is not None and draw.token == token and not draw.left:
                found.append((place, draw))
        return found

    def _stretch(
        self, position: int, token_ids: Sequence[int]
    ) -> Iterator[tuple[int, int | None, int]]:
        """For each of these public tokens its place, its place in the person's text
        (None: a stand-in), and the token."""
        places = self._public.places(self._own)[position:]
        missing = len(token_ids) - len(places)
        for at, own in enumerate([*places, *[None] * missing][: len(token_ids)]):
            yield position + at, own, token_ids[at]

    def _add_today(self, nats: float) -> None:
        self._noted += nats
        if nats:
            self._today = self._note(nats)

    def _ask_base(self, draws: Sequence[tuple[int, _Entry]]) -> None:
        """Count what these draws, at their public places, tell, in a few passes."""
        left = list(draws)
        while left:
            first = left[0][0]
            some = [one for one in left if one[0] < first + _AT_ONCE]
            del left[: len(some)]
            last = some[-1][0]
            try:
                rows = read_text(
                    self._base, [*self._prompt, *self._text[:last]], last + 1 - first
                )
            except (ContextFullError, StoppedError):
                return  # who stops is heard by the loop
            for place, draw in some:
                before = self._text[:place]
                base = self._reference(rows[place - first], before, draw.token)
                draw.nats = draw.own_log - _log(base[draw.token])
                draw.base = base if self._judges else None

    def _reference(
        self, logits: Floats, before: Sequence[int], drawn: int = -1
    ) -> Reference:
        """What the base would have drawn from; `drawn` is always possible."""
        logits = logits.copy()
        if self._never is not None:
            never = np.asarray(self._never(before), np.intp)
            logits[never[never != drawn]] = -np.inf
        return reference_of(self._draw, logits)

    def _bounded(self, own: Floats, base: Floats) -> Floats | None:
        """Probabilities to draw from, of those with and without the history; None: the
        first as they are."""
        asked, weight = self._asked, self._weight(own, base)
        asked.base, asked.mixed = base, weight < 1.0
        asked.own = mixed(own, base, weight) if asked.mixed else own
        return asked.own if asked.mixed else None

    def _weight(self, own: Floats, base: Floats, *, all_there: bool = True) -> float:
        """The weight of the history in the draw asked about; if not `all_there`, only
        `base` is above 0 elsewhere."""
        limits = self._limits
        if not limits.binds:
            return 1.0
        room = self._room(self._asked.place)
        weight = 0.0 if room is None else largest_weight(own, base, room)
        if limits.mixture is not None:
            most = limits.mixture
            bounded = largest_weight(own, base, most, -most)
            if not all_there:
                bounded = min(bounded, -math.expm1(-most))
            weight = max(weight, bounded)
        return weight

    def _room(self, place: int) -> float | None:
        """How many nats the draw for a place may tell; None: there is no such limit."""
        limits = self._limits
        may_leave = set(self._public.places(self._own))
        waiting = self._decided + sum(
            draw.nats
            for draw in self._draws.values()
            if draw.place < place
            and draw.place in may_leave
            and not draw.left
            and draw.nats is not None
        )
        rooms = []
        if limits.text is not None:
            rooms.append((limits.text - self.total - waiting, limits.text))
        if limits.day is not None:
            rooms.append((limits.day - self._today - waiting, limits.day))
        if not rooms:
            return None
        room, limit = min(rooms)
        if room <= _NEARLY * limit and not self._warned:
            self._warned = True
            self._emit(
                Notice(
                    "the privacy budget is spent: your history hardly shows in what is "
                    "drafted from here on"
                )
            )
        return room


def _log(probability: float) -> float:
    return math.log(max(float(probability), _LEAST))


class CountingVerifier:
    """Stands before the one at the socket; changes nothing.

    What is handed to the verifier inside has left, unless that fails. Then it has left
    if bytes of it did, of which `hear` is told.
    """

    local = False

    def __init__(self, inner: Verifier, account: Account) -> None:
        self._inner = inner
        self._account = account
        self._left = False

    def hear(self, event: Event) -> None:
        """A reader of the events of the socket."""
        if isinstance(event, Sent) and event.what in ("open", "block"):
            self._left = True

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._account.open(request.prompt_ids)
        with self._counted(0, request.text_ids):
            return self._inner.open(request)

    def submit(self, block: DraftBlock) -> None:
        """Hand the block on; raises what the verifier inside raises."""
        with self._counted(block.position, (*block.settled, *block.drafted)):
            self._inner.submit(block)

    def collect(self) -> Verdict:
        """The verdict of the verifier inside; raises what that raises."""
        return self._inner.collect()

    def ready(self) -> bool:
        """Whether the verdict of the verifier inside is there."""
        return self._inner.ready()

    def close(self) -> None:
        """End the text."""
        self._inner.close()

    @contextmanager
    def _counted(self, position: int, token_ids: tuple[int, ...]) -> Iterator[None]:
        self._left = False
        self._account.before_leaving(position, token_ids)
        try:
            yield
            self._left = True
        finally:
            if self._left:
                self._account.leave(position, token_ids)
            else:
                self._account.stayed()
