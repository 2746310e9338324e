"""The account of a text: each draw that left is counted once, and none passes a
limit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decoding_core.errors import CloudRefusedError, InvalidSettingsError
from decoding_core.messages import Candidates, DraftBlock
from decoding_core.mixture import largest_weight, mixed, reference
from decoding_core.residual import coupling_outcomes, rejection_outcomes
from decoding_core.sampling import Draw, Noise
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, role_of
from edge_app.config.settings import PrivacyLimits
from edge_app.decoding.deciders import DraftedToken
from edge_app.decoding.events import HeldBack, Notice, PrivacySpent
from edge_app.decoding.loop import Piece
from edge_app.decoding.on_device import EdgeBaseVerifier, RememberedRows
from edge_app.decoding.session import Patience
from edge_app.privacy.budget import DECIDED_ANEW, Account, CountingVerifier, PublicText
from tests.edge_app.decoding.losing_server import DISTURBANCES
from tests.edge_app.decoding.test_methods_in_the_loop import FixedEngine, emission
from tests.fakes import HashEngine
from tests.writing import PRIVATE, PUBLIC, Run, Writing

STEERING = MethodSettings(
    method="steering", temperature=0.8, top_p=0.9, seed=3, draft_length=4, window=3
)
ALONE = Patience(pauses=(), first_return=2.0)
"""Whoever has it goes on alone, and comes back."""


def account_of(settings, limits=None, events=None, seed="", **options):
    emit = (events if events is not None else []).append
    base = RememberedRows(HashEngine("base" + seed))
    return Account(settings.draw(), base, emit, limits, **options)


def row(name, ids):
    return HashEngine(name).evaluate(ids)[0].astype(np.float64)


def weights(logits, temperature):
    return np.exp((logits - logits.max()) / temperature)


class Recount:
    """The same sum from what left and from the models alone, with no account."""

    def __init__(self, run):
        self.settings, self.draw = run.settings, run.settings.draw()
        self.origins, self.epochs = run.origins, run.epochs
        self.total, self.places = 0.0, []
        self._drafts, self._redrawn = set(), set()
        text = []
        for message in run.server.left:
            if isinstance(message, DraftBlock):
                text = [*text[: message.position], *message.settled]
                self._settled(text, message.position)
                for token in message.drafted:
                    self._drafted(text, token, message.epoch)
                    text.append(token)
            else:
                text = list(message.text_ids)
                self._settled(text, 0)

    def _settled(self, text, first):
        for place in range(first, len(text)):
            before, token = tuple(text[:place]), text[place]
            if self.origins[place] == "recovered":
                if place not in self._redrawn:
                    self._redrawn.add(place)
                    self._count(self._redraw(before, token), place)
            else:  # drawn alone, or in a block that has left
                self._drafted(before, token, self.epochs[place])

    def _drafted(self, text, token, epoch):
        before = tuple(text)
        if (epoch, before) in self._drafts:
            return
        self._drafts.add((epoch, before))
        t = self.settings.temperature
        own = weights(row("small", [*PRIVATE, *before]), t)
        without = weights(row("base", [*PUBLIC, *before]), t)
        nats = self.draw.distribution(own)[token] / reference(self.draw, without)[token]
        self._count(math.log(nats), len(before))

    def _redraw(self, before, token):
        t = self.settings.temperature
        large, base = (row(name, [*PUBLIC, *before]) for name in ("large", "base"))
        small = row("small", [*PRIVATE, *before])
        own = self.draw.distribution(weights(large + small - base, t))
        return math.log(own[token] / reference(self.draw, weights(large, t))[token])

    def _count(self, nats, place):
        self.total += nats
        self.places.append(place)


@settings(max_examples=8)
@given(
    st.dictionaries(
        st.integers(0, 20),
        st.lists(st.sampled_from(DISTURBANCES), min_size=1, max_size=3),
        max_size=6,
    ),
    st.sampled_from(["steering", "rejection"]),
    st.sampled_from([Patience(), ALONE]),
    st.integers(0, 5),
    st.integers(0, 99),
    st.booleans(),
)
@example(
    disturbances={0: ["lose the block"] * 2, 2: ["lose the block", "restart"]},
    method="steering",
    patience=Patience(),
    seed=0,
    timing=0,
    limited=False,
)
@example(  # what was drafted before a refusal is drawn again, alone, and is the same
    disturbances={4: ["repeat the block"], 11: ["restart"]},
    method="rejection",
    patience=ALONE,
    seed=2,
    timing=0,
    limited=False,
)
def test_each_draw_that_left_counts_once(
    disturbances, method, patience, seed, timing, limited
):
    """Through restarts, lost frames and answers, resyncs, texts that go on alone and
    come back, and refused drafts; against the bytes that left."""
    events = []
    settings = replace(STEERING, method=method, seed=seed)
    limits = PrivacyLimits(text=1e6) if limited else None
    account = account_of(settings, limits, events)
    run = Run(
        settings, disturbances, 30, patience=patience, timing=timing, account=account
    )
    recount = Recount(run)
    assert account.tokens == len(recount.places)
    assert account.total == pytest.approx(recount.total, abs=1e-3)
    told = [event for event in events if isinstance(event, PrivacySpent)]
    assert sum(event.nats for event in told) == pytest.approx(account.total)
    assert sum(event.tokens for event in told) == account.tokens
    assert not account.unread


def written(settings, limits, seed="", base_on_edge=False, tokens=24):
    """A text over models in this process: writing, account, what was told."""
    events, terms = [], settings.terms()
    role = role_of(terms)
    account = account_of(
        settings,
        limits,
        events,
        seed,
        judges=role.draft_limit > 0 and not role.adds_draft,
    )
    large, base = HashEngine("large" + seed), HashEngine("base" + seed)
    inner = CountingVerifier(
        EngineVerifier(large) if base_on_edge else EngineVerifier(large, base), account
    )
    verifier = EdgeBaseVerifier(inner, base) if base_on_edge else inner
    small = HashEngine("small" + seed)
    writing = Writing(settings, small, verifier, tokens, (), account=account)
    writing.run()
    return writing, account, events


METHODS = [
    *("steering", "lossless"),
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("rejection", "coupled", "speculative", "costeer")
    ),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [0.0, 2.0, pytest.param(8.0, marks=pytest.mark.slow)])
def test_no_message_passes_a_limit(method, limit):
    """Not even for a moment; with nothing left, nothing is told any more."""
    settings = replace(STEERING, method=method, threshold=0.3)
    for seed in "ab":
        _, account, events = written(settings, PrivacyLimits(text=limit), seed)
        told = [event.total for event in events if isinstance(event, PrivacySpent)]
        assert max(told) <= limit + 1e-6
        assert account.tokens > 20
        if limit == 0.0:
            assert account.total == pytest.approx(0, abs=1e-6)
            assert account.largest == pytest.approx(0, abs=1e-6)
        assert limit or [e for e in events if isinstance(e, Notice)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base_on_edge", [False, True])
def test_with_a_mixture_no_draw_tells_more_than_its_bound(method, base_on_edge):
    base = "edge" if base_on_edge else "cloud"
    settings = replace(STEERING, method=method, base=base)
    for bound in (0.1, 1.0):
        limits = PrivacyLimits(mixture=bound)
        _, account, _ = written(settings, limits, base_on_edge=base_on_edge)
        assert 0 < account.largest <= bound + 1e-9


def test_after_the_limit_a_mixture_goes_on_telling_a_little():
    limits = PrivacyLimits(text=3.0, mixture=0.2)
    _, account, events = written(STEERING, limits)
    told = [event for event in events if isinstance(event, PrivacySpent)]
    spent = next(i for i, event in enumerate(told) if event.total > 2.8)
    for event in told[spent + 1 :]:
        assert abs(event.nats) <= 0.2 * event.tokens + 1e-9 or event.total < 3.0
    assert account.largest > 0.2


class HoldsSix:
    """A gate that sends 9 and 8 for a 6, once something stands behind that."""

    def next(self, token_ids, start, *, final):
        if token_ids[start] != 6:
            return Piece(1)
        held = HeldBack("word", "why", "six", "nine eight")
        clear = final or start + 1 < len(token_ids)
        return Piece(1, (9, 8), held) if clear else None


def test_what_is_replaced_before_it_leaves_is_not_told():
    """A token that others stand for in the public text counts nothing, also on the
    limit; the base reads what the server reads, also where that was not clear yet when
    it was asked."""
    account = account_of(
        replace(STEERING, top_p=1.0),
        PrivacyLimits(text=100.0),
        public=PublicText(HoldsSix()),
    )
    account.open(PUBLIC)
    own, sent = [5, 6, 7, 3], [5, 9, 8, 7, 3]
    for place, token in enumerate(own):
        account._to_draft_from(row("small", [*PRIVATE, *own[:place]]), own[:place], 0)
        account._drawn(token, token)
    account.leave(0, sent)
    expected = 0.0
    seen = ([], [], 5), ([5, 6], [5, 9, 8], 7), ([5, 6, 7], [5, 9, 8, 7], 3)
    for before, read, token in seen:
        drawn = weights(row("small", [*PRIVATE, *before]), 0.8)
        without = weights(row("base", [*PUBLIC, *read]), 0.8)
        nats = math.log(drawn[token] / drawn.sum())
        expected += nats - math.log(without[token] / without.sum())
    assert account.tokens == 3
    account.leave(0, sent)
    assert account.unread == 0
    assert account.total == pytest.approx(expected)
    assert account._room(4) == pytest.approx(100.0 - expected)


@pytest.mark.parametrize("left", [True, False])
def test_what_leaves_is_noted_before_it_does(left):
    """So whoever is killed in between has told no more; what did not leave is taken
    back, what did stays."""
    noted = []

    class Breaking(EngineVerifier):
        def submit(self, block):
            assert sum(noted) == pytest.approx(sum(d.nats for d in drafts()))
            counting._left = left
            raise CloudRefusedError("no")

    def drafts():
        return account._draws.values()

    def note(nats):
        noted.append(nats)
        return sum(noted)

    account = account_of(STEERING, PrivacyLimits(text=50.0), note=note)
    inner = Breaking(HashEngine("large"), HashEngine("base"))
    counting = CountingVerifier(inner, account)
    with pytest.raises(CloudRefusedError):
        Writing(STEERING, HashEngine("small"), counting, account=account).run()
    assert account.tokens == (4 if left else 0)
    assert sum(noted) == pytest.approx(account.total)
    assert noted[0]


def test_a_day_is_shared_by_its_texts():
    noted = []

    def note(nats):
        noted.append(nats)
        return 5.0 + sum(noted)

    account = account_of(STEERING, PrivacyLimits(day=6.0), today=5.0, note=note)
    Run(STEERING, max_tokens=40, account=account)
    assert account.total <= 1.0 + 1e-6
    assert sum(noted) == pytest.approx(account.total)


@pytest.mark.parametrize("outcomes", [rejection_outcomes, coupling_outcomes])
@pytest.mark.parametrize("limit", [None, 1e6, 0.0])
def test_what_a_draft_and_its_decision_tell_together(outcomes, limit):
    """Summed over all that may be seen, the probability over what it tells is a
    probability: no more than 1. With nothing left the sum is 1, and what is emitted is
    the target without the history."""
    small, large, base = np.log(np.random.default_rng(7).dirichlet(np.ones(5), 3))
    draw = Draw(1.0, 0.9, Noise(0))
    ids = np.array([0, 1, 3], np.int32)
    row = Candidates(ids, large[ids], base[ids])
    target = weights((large + small - base)[ids], 1.0)
    without = weights(large[ids], 1.0)
    mass, emitted = 0.0, np.zeros(5)
    for token in range(5):
        for outcome in range(4):
            account = Account(
                *(draw, FixedEngine(base), lambda event: None),
                PrivacyLimits(text=limit),
                judges=True,
            )
            account.open(PUBLIC)
            other = account._to_draft_from(small, [], 0)
            drafted = draw.distribution(np.exp(small)) if other is None else other
            if not drafted[token]:
                continue
            account._drawn(token, token)
            account.leave(0, [token])
            judged = DraftedToken(
                token, row, target, lambda: without, small, outcomes, lambda: None
            )
            other = account._to_decide_from(judged, [])
            if other is None:
                own = draw.distribution(target)
                other = outcomes(own, draw.distribution(np.exp(small)), row, token)
            if not other[outcome]:
                continue
            stands = ids[outcome - 1] if outcome else token
            account._drawn(outcome, int(stands))
            account.leave(1, [])
            seen = drafted[token] * other[outcome]
            emitted[stands] += seen
            mass += seen / math.exp(account.total)
    wanted = np.zeros(5)
    if limit == 0.0:
        assert mass == pytest.approx(1)
        wanted[ids] = reference(draw, without)
    else:
        assert 0.5 < mass <= 1 + 1e-9
        wanted[ids] = draw.distribution(target)
    np.testing.assert_allclose(emitted, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "bound"),
    [
        *(("steering", 0.0), ("steering", 0.4), ("lossless", 0.4)),
        *(
            pytest.param(*other, marks=pytest.mark.slow)
            for other in (("lossless", 0.0), ("speculative", 0.0), ("speculative", 0.4))
        ),
    ],
)
def test_with_a_mixture_one_token_is_emitted_as_it_is_defined(method, bound):
    models = np.log(np.random.default_rng(5).dirichlet(np.ones(4), 3))
    settings = MethodSettings(
        method=method, temperature=1.0, draft_length=1, threshold=0.7, candidates=4
    )
    emitted = emission(
        settings,
        models,
        lambda: Account(
            *(settings.draw(), FixedEngine(models[2]), lambda event: None),
            PrivacyLimits(mixture=bound),
            judges=method != "steering",
        ),
        accepts=method == "steering",
    )
    small, large, base = np.exp(models)

    def near(own, without):
        weight = largest_weight(own, without, bound, -bound)
        return mixed(own, without, weight)

    draft, target = near(small, base), large
    if method != "speculative":
        target = large * small / base / (large * small / base).sum()
    if method == "steering":
        kept = draft * np.minimum(1, large / base / 0.7)
        expected = kept + (1 - kept.sum()) * near(target, large)
    else:
        row = Candidates(np.arange(4, dtype=np.int32), models[1], models[2])
        expected = np.zeros(4)
        for token in range(4):
            without = rejection_outcomes(large, base, row, token)
            anew = np.append(large[token], large)
            anew[1 + token] = 0.0
            without = (1 - DECIDED_ANEW) * without + DECIDED_ANEW * anew
            seen = near(rejection_outcomes(target, draft, row, token), without)
            expected[token] += draft[token] * seen[0]
            expected += draft[token] * seen[1:]
        if not bound:
            np.testing.assert_allclose(expected, large)
    np.testing.assert_allclose(emitted, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"temperature": 0.0}, "temperature"), ({"bonus_from": "steered"}, "bonus")],
)
def test_a_limit_that_cannot_be_kept_is_refused(changes, says):
    role = role_of(replace(STEERING, **changes).terms())
    with pytest.raises(InvalidSettingsError, match=says):
        PrivacyLimits(text=5.0).check(role)
    PrivacyLimits().check(role)


@pytest.mark.parametrize("nats", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["text", "day", "mixture"])
def test_a_limit_is_a_number_from_0(name, nats):
    with pytest.raises(InvalidSettingsError, match="nats"):
        PrivacyLimits(**{name: nats})


def test_at_temperature_0_the_number_is_an_indication():
    """What drawing at temperature 1 would have told; it says that it is one."""
    for method in ("steering", "lossless", "coupled", "speculative", "costeer"):
        settings = replace(STEERING, method=method, temperature=0.0)
        _, account, events = written(settings, None)
        assert not account.exact
        assert not any(e.exact for e in events if isinstance(e, PrivacySpent))
        assert math.isfinite(account.total)
