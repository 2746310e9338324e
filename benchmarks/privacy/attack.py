"""The attack: how much likelier what left is under one history than under none.

The attacker holds all that the server saw (`seen.py`) and the weights of both models.
As the base *is* the specialist's weights without a history, there is no worse case of
stolen weights: S under any guess at a history can be computed. Temperature, method and
strength stand in the terms; top-p is taken as known too.

For a guessed private prompt c the evidence of a token that left is

    log P(token given c) - log P(token given no history)

with P what the device really drew it from: S for a draft, behind refused drafts too;
what the method draws from for a redrawn token, T or the residual (T - S)+; and where
the device decides on a draft, the chance that it stays or not, which depends on S as
well. Evidence adds up over tokens and texts; whoever wrote it has the most.

A guess is compared with numbers of another machine or of another order of summing, so a
token that top-p or argmax cuts off by a hair must not rule a guess out: a hundredth of
each distribution is what it was before the cut.

V vocabulary, E departures, K candidates. Nats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from decoding_core.errors import MessageError
from decoding_core.messages import Candidates, DraftBlock, OpenSession
from decoding_core.protocols import Engine, Method
from decoding_core.residual import keep_probability, residual_distribution
from decoding_core.sampling import (
    TIED,
    Draw,
    Drawn,
    Floats,
    Noise,
    likeliest_ids,
    log_softmax,
    log_sum_exp,
    weights_of,
)
from decoding_core.settings import Terms
from decoding_core.verifier import VerifierRole, read_text, role_of
from edge_app.privacy.ledger import Entry
from edge_app.privacy.reading import decoded

Origin = Literal["draft", "redraw", "other"]
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Departure:
    """One token that left the device."""

    prefix: Ids
    """The text before it, as the server knew it; the public prompt stands before."""
    token: int
    origin: Origin
    """`other` if nothing was refused in its place: nobody drew it from a target."""
    refused: int = -1
    """The drafted token in whose place a redrawn one stands; -1: none was drafted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One text, as a server that keeps everything has it at the end."""

    prompt: Ids
    terms: Terms
    departures: tuple[Departure, ...]
    """In the order in which they left; one that was sent twice stands once."""
    settled: Ids  # what the last block says of the text before it: those drafts stayed

    def kept(self, at: Departure) -> bool:
        """Whether a drafted token is known to have stayed."""
        place = len(at.prefix)
        return self.settled[: place + 1] == (*at.prefix, at.token)


def seen_in(entries: Iterable[Entry]) -> Seen:
    """What a server saw of the text of these sendings; raises MessageError if
    they hold no opening."""
    opening: OpenSession | None = None
    found = _Departures()
    for message in decoded(entries):
        if isinstance(message.says, OpenSession):
            opening = opening or message.says
            found.opened(message.says)
        elif message.says is not None:
            found.block(message.says)
    if opening is None:
        raise MessageError("nothing was sent that begins a text")
    settled = tuple(found.settled)
    return Seen(opening.prompt_ids, opening.terms, tuple(found.found.values()), settled)


class _Departures:
    """Departures in their order, each once: a block that is sent again after a loss
    holds the same tokens, and so does one that is drafted again behind the same words,
    as noise is a function of the place. Only where a refused place is drafted anew with
    fresh noise is each epoch's draft one of its own."""

    def __init__(self) -> None:
        self.found: dict[tuple[Ids, int, str, int], Departure] = {}
        self._drafts: dict[Ids, int] = {}
        self._text: list[int] = []
        self._redrafts = False
        self.settled: list[int] = []

    def opened(self, said: OpenSession) -> None:
        """A text that goes on may hold tokens that no block has brought."""
        self._redrafts = role_of(said.terms).redrafts
        text = list(said.text_ids)
        for place, token in enumerate(text):
            if self._drafts.get(tuple(text[:place])) != token:
                self._drew(tuple(text[:place]), token)
        self.settled = self._text = text

    def block(self, block: DraftBlock) -> None:
        """What was settled since, then what was drafted."""
        text = self._text[: block.position]
        for token in block.settled:
            self._drew(tuple(text), token)
            text.append(token)
        self.settled = list(text)
        for token in block.drafted:
            prefix, epoch = tuple(text), block.epoch if self._redrafts else 0
            self.found.setdefault(
                (prefix, token, "draft", epoch), Departure(prefix, token, "draft")
            )
            self._drafts[prefix] = token
            text.append(token)
        self._text = text

    def _drew(self, prefix: Ids, token: int) -> None:
        """The device settled a token: in place of a refused one, if one was drafted
        there, which may have been the same."""
        refused = self._drafts.get(prefix, -1)
        origin: Origin = "redraw" if refused >= 0 else "other"
        self.found.setdefault(
            (prefix, token, origin, 0), Departure(prefix, token, origin, refused)
        )


_UNCUT = 0.01  # share of a distribution that is taken as it was before anything was cut
_MOST_ROWS = 256  # rows of logits in memory at once


def rows_after(
    engine: Engine, prompt: Sequence[int], prefixes: Sequence[Ids]
) -> Iterator[tuple[Ids, Floats]]:
    """What an engine thinks follows each of these texts behind a prompt: each text with
    its logits (V,), in an order in which what two of them share is read once."""
    chain: list[Ids] = []

    def read() -> Iterator[tuple[Ids, Floats]]:
        if chain:
            rows = read_text(engine, [*prompt, *chain[-1]], len(chain))
            yield from zip(chain, rows, strict=True)
            chain.clear()

    for prefix in sorted(set(prefixes)):
        if chain and (prefix[:-1] != chain[-1] or len(chain) == _MOST_ROWS):
            yield from read()
        chain.append(prefix)
    yield from read()


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the tokens of one text were drawn, as its terms say."""

    role: VerifierRole
    method: Method
    draw: Draw
    coupled: bool  # whether drafts and targets are drawn with the same noise

    @classmethod
    def of(cls, seen: Seen, top_p: float) -> Drawing:
        """From what a server saw; the device draws with `top_p`."""
        role = role_of(seen.terms)
        draw = Draw(seen.terms.temperature, top_p, Noise(0))
        return cls(role, role.method, draw, seen.terms.method == "coupled")

    @property
    def by_device(self) -> bool:
        """Whether the device decides on its drafts: then none is added to a row."""
        return self.role.draft_limit > 0 and not self.role.adds_draft

    def candidates(self, generalist: Floats, base: Floats, drafted: int) -> Candidates:
        """The row that the server sent, from the logits (V,) of both its models."""
        terms = self.role.terms
        scale = terms.temperature or 1.0
        ids = likeliest_ids(generalist, terms.candidates, TIED * scale)
        if self.role.adds_draft and drafted >= 0:
            ids = np.union1d(ids, [drafted])
        of_base = log_softmax(base, terms.temperature)[ids].astype(np.float32)
        return Candidates(
            ids.astype(np.int32),
            log_softmax(generalist, terms.temperature)[ids].astype(np.float32),
            of_base if self.role.uses_base else None,
        )

    def drafted(self, logits: Floats, token: int) -> float:
        """Log-probability of a drafted token under logits (V,)."""
        return _mixed(self._drawn(logits)[token], self._uncut(logits, token))

    def replaced(
        self, logits: Floats, row: Candidates, token: int, refused: int
    ) -> float:
        """Log-probability that a draft was refused, if the device decides that, and
        this token drawn in its place."""
        target = self.target(logits, row)
        wanted, before, refusal = self.draw.distribution(target), target, 0.0
        if refused >= 0 and self.by_device:
            drawn = self._drawn(logits)
            stays = keep_probability(wanted, drawn, row, refused)
            refusal = _mixed(1.0 - stays, 0.5)
            if not self.coupled:
                wanted = residual_distribution(wanted, drawn, row)
        at = np.flatnonzero(row.token_ids == token)
        if not at.size:
            return refusal + float(np.log(_UNCUT / len(logits)))
        return refusal + _mixed(float(wanted[at[0]]), float(before[at[0]]))

    def stayed(self, logits: Floats, row: Candidates, token: int) -> float:
        """Log-probability that the device kept a token that it had drafted."""
        wanted = self.draw.distribution(self.target(logits, row))
        return _mixed(keep_probability(wanted, self._drawn(logits), row, token), 0.5)

    def target(self, logits: Floats, row: Candidates) -> Floats:
        """What a token is drawn from on a row (K,), before anything is cut."""
        return self.method.target(self.draw.unnormalised(logits[row.token_ids]), row)

    def _drawn(self, logits: Floats) -> Drawn:
        return self.draw.distribution_of(logits)

    def _uncut(self, logits: Floats, token: int) -> float:
        scale = self.draw.temperature or 1.0
        total = log_sum_exp(logits, scale)
        return float(np.exp(float(logits[token]) / scale - total))


def _weights(logits: Floats, draw: Draw) -> Floats:
    return weights_of(logits.astype(np.float64), draw.temperature)


def _mixed(cut: float, before: float) -> float:
    return float(np.log((1.0 - _UNCUT) * cut + _UNCUT * before + 1e-12))


@dataclass(frozen=True, slots=True)
class Bound:
    """How much a device lets its draws reveal: the attacker knows this too.

    A draw comes from M = (1 - w) R + w S with the largest w with which no token reveals
    more than is left; R is the distribution without the history, of which a tenth
    is not cut by top-p (docs/privacy.md, the budget).
    """

    text: float | None  # nats of a text; None: any number
    token: float | None
    """Nats of a draw where nothing of a text's is left, and where there is no such
    limit."""

    def mixture(self, own: Floats, without: Floats, spent: float) -> Floats:
        """M (V,) from S and R, after `spent` nats."""
        weight = 0.0
        if self.text is not None:
            weight = _largest_weight(own, without, self.text - spent, -np.inf)
        if self.token is not None:
            token = _largest_weight(own, without, self.token, -self.token)
            weight = max(weight, token)
        return np.asarray((1.0 - weight) * without + weight * own)


_REFERENCE_UNCUT = 0.1  # share of R that top-p does not cut


def _largest_weight(
    own: Floats, without: Floats, highest: float, lowest: float
) -> float:
    """The largest share of S with which log M/R lies between two bounds at all tokens:
    log(1 + w (S/R - 1)) grows with w and with S/R, or falls with both."""
    if highest <= 0.0 or own[without <= 0.0].any():
        return 0.0
    known = without > 0.0
    excess = own[known] / without[known] - 1.0
    weight, most, least = 1.0, float(excess.max()), float(excess.min())
    if most > 0.0:
        weight = min(weight, float(np.expm1(min(highest, 700.0))) / most)
    if least < 0.0 and np.isfinite(lowest):
        weight = min(weight, float(np.expm1(lowest)) / least)
    return max(weight, 0.0)


class PublicView:
    """A text as the server itself reads it: what no history is needed for."""

    def __init__(
        self,
        seen: Seen,
        top_p: float,
        base: Engine,
        generalist: Engine,
        most: int,
        bound: Bound | None = None,
    ) -> None:
        """Read the first `most` departures with both models of the server; the device
        drew within a bound, or as it liked."""
        self.seen = seen
        # A device that decides by itself bounds its decisions, too: those are left out.
        self.bound = bound
        self.without: dict[Ids, Floats] = {}
        """The base's logits (V,) behind each prefix, if a bound needs them."""
        self.departures = seen.departures[:most]
        self.how = Drawing.of(seen, top_p)
        self.of_prefix: dict[Ids, list[int]] = {}
        """Which departures stand behind each prefix."""
        for number, one in enumerate(self.departures):
            self.of_prefix.setdefault(one.prefix, []).append(number)
        self.rows: dict[int, Candidates] = {}
        """The rows of candidates that some departures depend on."""
        self.base = np.zeros(len(self.departures))
        """Log-probability (E,) of each departure without a history."""
        needing = [p for p, of in self.of_prefix.items() if any(map(self._row_of, of))]
        large = {
            prefix: row.copy()
            for prefix, row in rows_after(generalist, seen.prompt, needing)
        }
        for prefix, logits in rows_after(base, seen.prompt, list(self.of_prefix)):
            for number in self.of_prefix[prefix]:
                one = self.departures[number]
                if self._row_of(number):
                    drafted = one.token if one.origin == "draft" else one.refused
                    self.rows[number] = self.how.candidates(
                        large[prefix], logits, drafted
                    )
                self.base[number] = self.logprob(number, logits)
            if bound is not None:
                self.without[prefix] = logits.copy()

    def bounded(self, logits: Mapping[Ids, Floats]) -> Floats:
        """Evidence (E,) of departures that were drawn within the bound, from the
        logits (V,) of a guess behind each prefix: one draw after the other, as each
        leaves less to the next."""
        assert self.bound is not None
        found, spent, draw = np.zeros(len(self.departures)), 0.0, self.how.draw
        for number, one in enumerate(self.departures):
            guess, base = logits[one.prefix], self.without[one.prefix]
            row = self.rows.get(number)
            if one.origin == "draft":
                own, without = _weights(guess, draw), _weights(base, draw)
                index = one.token
            elif row is not None:
                own, without = self.how.target(guess, row), self.how.target(base, row)
                at = np.flatnonzero(row.token_ids == one.token)
                if not at.size:
                    continue
                index = int(at[0])
            else:
                continue
            reference = (1.0 - _REFERENCE_UNCUT) * draw.distribution(without)
            reference += _REFERENCE_UNCUT * without / without.sum()
            drawn = self.bound.mixture(draw.distribution(own), reference, spent)
            told = _mixed(float(drawn[index]), float(reference[index]))
            found[number] = told - float(np.log(reference[index] + 1e-12))
            spent += found[number]
        return found

    def logprob(self, number: int, logits: Floats) -> float:
        """Log-probability of a departure where the specialist's logits at its place
        are these (V,)."""
        one, how = self.departures[number], self.how
        row = self.rows.get(number)
        if one.origin == "draft":
            found = how.drafted(logits, one.token)
            return found if row is None else found + how.stayed(logits, row, one.token)
        if row is None:
            return 0.0  # nobody drew it from what the history changes
        return how.replaced(logits, row, one.token, one.refused)

    def _row_of(self, number: int) -> bool:
        """Whether what the history did to a departure is known with a row alone."""
        one, how = self.departures[number], self.how
        if one.origin == "draft":
            return how.by_device and not how.coupled and self.seen.kept(one)
        drawn = one.origin == "redraw" or not how.role.draft_limit
        return drawn and (how.by_device or how.role.reads_specialist)


def evidence_of(
    engine: Engine, views: Mapping[str, PublicView], prompt: Sequence[int]
) -> dict[str, Floats]:
    """The evidence (E,) of each departure of some texts, by their names, for a guessed
    private prompt, which the engine reads once; what the texts share is read once
    too."""
    found: dict[str, Floats] = {
        name: np.zeros(len(view.departures)) for name, view in views.items()
    }
    wanted = [prefix for view in views.values() for prefix in view.of_prefix]
    kept: dict[Ids, Floats] = {}
    for prefix, logits in rows_after(engine, prompt, wanted):
        for name, view in views.items():
            if view.bound is not None:
                if prefix in view.of_prefix and prefix not in kept:
                    kept[prefix] = logits.copy()
                continue
            for number in view.of_prefix.get(prefix, ()):
                found[name][number] = view.logprob(number, logits) - view.base[number]
    for name, view in views.items():
        if view.bound is not None:
            found[name] = view.bounded(kept)
    return found
