"""Every method through the whole loop, against what it is proved to emit."""

from dataclasses import replace

import numpy as np
import pytest

from decoding_core.methods import available
from decoding_core.sampling import Noise, Use, log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, RunningThreshold, role_of
from edge_app.decoding.events import Drafted, Verified
from edge_app.decoding.loop import MOST_REFUSALS
from edge_app.decoding.on_device import verifier_of
from edge_app.privacy.budget import CountingVerifier
from tests.edge_app.decoding.test_loop import reference
from tests.exact import check_frequencies, clipped, contrasted, cut, mixture, steered
from tests.fakes import HashEngine, seeds
from tests.writing import END, PRIVATE, PUBLIC, Writing

WORDS, SEEDS = 17, 300


def engines(seed=""):
    return (
        HashEngine("small" + seed),
        HashEngine("large" + seed),
        HashEngine("base" + seed),
    )


def written(settings, seed="", max_tokens=20):
    small, large, base = engines(seed)
    on_edge = settings.base == "edge"
    verifier = verifier_of(
        role_of(settings.terms()),
        lambda: EngineVerifier(large) if on_edge else EngineVerifier(large, base),
        lambda: base,
    )
    writing = Writing(settings, small, verifier, max_tokens)
    writing.run()
    return writing


def opinions(after=()):
    """Log-probabilities (V,) of the three models after some tokens of the text."""
    prompts = (PRIVATE, PUBLIC, PUBLIC)
    pairs = zip(engines(), prompts, strict=True)
    return [
        log_softmax(engine.evaluate((*prompt, *after))[0].astype(float))
        for engine, prompt in pairs
    ]


def nucleus(probs):
    order = np.argsort(-probs)
    return cut(probs, order[: np.searchsorted(np.cumsum(probs[order]), 0.8) + 1])


EMITTED = [
    (
        {"method": "steering", "threshold": 0.7},
        lambda *three: mixture(*three, 0.7, steered(*three, 1.0)),
    ),
    ({"method": "lossless"}, lambda *three: steered(*three, 1.0)),
    (
        {"method": "lossless", "strength": 2.0, "candidates": 6},
        lambda *three: cut(steered(*three, 2.0), np.argsort(-three[1])[:6]),
    ),
    (
        {"method": "lossless", "top_p": 0.8},
        lambda *three: nucleus(steered(*three, 1.0)),
    ),
    ({"method": "coupled", "top_p": 0.8}, lambda *three: nucleus(steered(*three, 1.0))),
    ({"method": "rejection", "threshold": 0.7}, lambda *three: clipped(*three, 0.7)),
    ({"method": "speculative"}, lambda _, large, base: np.exp(large)),
    ({"method": "generalist"}, lambda _, large, base: np.exp(large)),
    ({"method": "costeer"}, lambda *three: steered(*three, 1.783257)),
    ({"method": "lightcosteer"}, lambda *three: steered(*three, 0.476190)),
    (
        {"method": "contrast", "strength": 1.5},
        lambda small, _, base: contrasted(small, base, 1.5, 0.1),
    ),
    (
        {"method": "contrast", "strength": 1.5, "plausibility": 0.0},
        lambda small, _, base: contrasted(small, base, 1.5, 0.0),
    ),
    ({"method": "specialist"}, lambda small, *_: np.exp(small)),
]
"""What each method, with these settings, emits of the opinions of the three models."""

NAMES = [" ".join(map(str, changes.values())) for changes, _ in EMITTED]
REPEATING = (
    *("lossless 2.0 6", "lossless 0.8", "generalist", "contrast 1.5 0.0"),
    "speculative",  # of one token exactly below
    *("costeer", "lightcosteer"),
)
"""The same methods or rules again, otherwise set: the slow tests count them."""


@pytest.mark.parametrize(
    ("changes", "target"),
    [
        pytest.param(
            *one, id=name, marks=[pytest.mark.slow] if name in REPEATING else []
        )
        for one, name in zip(EMITTED, NAMES, strict=True)
    ],
)
def test_the_first_two_tokens_follow_their_distribution(changes, target):
    """Of 300 seeds; see `farthest` for the bound. The second token is counted where
    the first is the likeliest one. It comes from the same draft or from another block,
    in turns or drafted while the first was out."""
    firsts, seconds = [], []
    first = target(*opinions())
    likeliest = int(first.argmax())
    for seed in range(SEEDS):
        settings = MethodSettings(
            temperature=1.0,
            draft_length=(1, 2, "auto")[seed % 3],
            window=(1, 2, 4)[seed // 3 % 3],
            seed=seed,
            **changes,
        )
        ids = written(settings, max_tokens=2).ids
        firsts.append(ids[0])
        if ids[0] == likeliest:
            seconds.append(ids[1])
    check_frequencies(firsts, first)
    check_frequencies(seconds, target(*opinions((likeliest,))))
    assert likeliest != END


@seeds(3, 12)
@pytest.mark.parametrize("method", available())
@pytest.mark.parametrize(
    "temperature", [pytest.param(0.0, marks=pytest.mark.slow), 0.8]
)
def test_where_the_base_runs_changes_no_text(method, temperature, seeds):
    """The same tokens, origins and counts; in every method that compares."""
    if method == "rejection" and not temperature:
        pytest.skip("it needs a temperature")
    for seed in seeds:
        both = []
        for base in ("cloud", "edge"):
            settings = MethodSettings(
                method=method,
                base=base,
                temperature=temperature,
                seed=seed,
                candidates=5,
                draft_length=(4, 1, 7)[seed % 3],
                strength=(1.0, 0.5, 2.0)[seed % 3],
                threshold=(0.5, "auto")[seed % 2],
            )
            writing = written(settings, str(seed))
            verified = [(e.drafted, e.accepted) for e in writing.all(Verified)]
            both.append((writing.emitter.tokens, verified, writing.loop.ended))
        assert both[0] == both[1]


EXACT = [
    {"method": "coupled", "temperature": 1.0, "draft_length": 1, "window": 3},
    {"method": "coupled", "temperature": 0.0, "draft_length": 4, "window": 1},
    {"method": "coupled", "temperature": 1.0, "strength": 2.5},
    {"method": "coupled", "temperature": 1.0, "top_p": 0.7},
    {"method": "coupled", "temperature": 0.0, "top_p": 0.7},
    {"method": "lossless", "draft_length": 1},
    {"method": "lossless", "draft_length": 3, "strength": 0.5},
    {"method": "steering", "threshold": 1e6},
]
"""Shared noise, or the argmax of the target: all of it, as far as blocks go."""


@seeds(6, 40)
@pytest.mark.parametrize("changes", EXACT)
def test_a_text_equals_step_by_step_steering(changes, seeds):
    """The same text for every seed, whatever the blocks; top-p cuts draft and
    target."""
    for seed in seeds:
        settings = MethodSettings(seed=seed, **changes)
        assert written(settings, str(seed)).ids == reference(settings, 20, str(seed))


@pytest.mark.parametrize(
    ("method", "candidates", "bounds"),
    [
        ("lossless", 4, lambda one: 0 < one <= 1),
        ("lossless", WORDS, lambda one: one == 0.0),
        ("steering", 4, lambda one: one is None),
    ],
)
def test_candidates_that_are_few_are_reported(method, candidates, bounds):
    """The largest bound of a text; none if the whole vocabulary travels."""
    settings = MethodSettings(method=method, temperature=1.0, candidates=candidates)
    verified = written(settings).all(Verified)
    assert all(bounds(one.truncation_bound) for one in verified)


class FixedEngine(HashEngine):
    """The same logits everywhere."""

    def __init__(self, logits):
        super().__init__("fixed", len(logits))
        self.fixed = np.array(logits)

    def logits(self):
        return self.fixed


class Recorder(EngineVerifier):
    """Keeps blocks and verdicts."""

    def __init__(self, *given):
        super().__init__(*given)
        self.rounds = []

    def verify(self, block):
        verdict = super().verify(block)
        self.rounds.append((block, verdict))
        return verdict


@seeds(3, 10)
def test_the_automatic_threshold_is_the_running_mean(seeds):
    """Each block lies in one stride of places, and carries the mean over those before
    the last stride: the first refused token of a block counts, those behind it do
    not."""
    seen, stride = set(), RunningThreshold.STRIDE
    for seed in seeds:
        small, large, base = engines(str(seed))
        verifier = Recorder(large, base)
        settings = MethodSettings(
            threshold="auto",
            temperature=1.0,
            seed=seed,
            draft_length=(8, 3, "auto")[seed % 3],
            window=(1, 2, 4)[seed % 3],
        )
        Writing(settings, small, verifier, 100, ()).run()
        sums, places = np.zeros(8), np.zeros(8)
        for block, verdict in verifier.rounds:
            first = block.position + len(block.settled)
            at = first // stride
            assert (first + len(block.drafted) - 1) // stride == at
            known = slice(max(at - 1, 0))
            mean = sums[known].sum() / places[known].sum() if at > 1 else 0.5
            assert block.threshold == mean
            sums[at] += verdict.ratio_sum
            places[at] += min(verdict.accepted + 1, len(block.drafted))
            seen.add(block.threshold)
        assert all(places[: 100 // stride] == stride)
    assert len(seen) > 2 * len(seeds)


class Refusing(EngineVerifier):
    """Keeps nothing."""

    def verify(self, block):
        verdict = super().verify(block)
        object.__setattr__(verdict, "accepted", 0)
        return verdict


def test_a_place_where_all_is_refused_ends_the_text():
    small, large, base = engines()
    settings = MethodSettings(method="rejection", temperature=1.0, draft_length=8)
    writing = Writing(settings, small, Refusing(large, base))
    assert writing.run() == []
    assert writing.loop.ended == "refused"
    verified = writing.all(Verified)
    assert len(verified) == MOST_REFUSALS
    drafts = {tuple(event.refused) for event in verified}
    assert len(drafts) > MOST_REFUSALS / 2


def one_token(settings, models, numbers, account=None):
    """(drafted, kept, written) with one random number for each use."""
    small, large, base = map(FixedEngine, models)
    verifier = EngineVerifier(large, base)
    if account is not None:
        verifier = CountingVerifier(verifier, account)
    writing = Writing(settings, small, verifier, 1, account=account)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "uniform", lambda _, use, *place: numbers[use])
        (token,) = writing.run()
    drafted = writing.all(Drafted)[0].id
    return drafted, writing.origins == ["accepted"], token


def pieces(of, low=0.0, high=1 - 1e-9):
    """The lengths of the stretches of [0, 1) on which a monotone step function of a
    random number has one value, by halving."""
    ends = of(low), of(high)
    if ends[0] == ends[1]:
        return {ends[0]: high - low}
    if high - low < 1e-4:
        return {ends[0]: (high - low) / 2, ends[1]: (high - low) / 2}
    middle = (low + high) / 2
    found = pieces(of, low, middle)
    for value, length in pieces(of, middle, high).items():
        found[value] = found.get(value, 0.0) + length
    return found


def emission(settings, models, account=lambda: None, accepts=True):
    """Exactly what one token is emitted with (4,), by going through the random numbers
    of draft, acceptance and redraw one within the other, in the whole loop. `accepts`:
    whether a number of its own decides on the draft."""
    emitted = np.zeros(4)

    def run(place, *numbers):
        uses = (Use.DRAFT, Use.ACCEPT, Use.REDRAW)
        scripted = dict(zip(uses, numbers, strict=True))
        return one_token(settings, models, scripted, account())[place]

    start = 0.0
    for drafted, share in pieces(lambda u: run(0, u, 0.0, 0.5)).items():
        draw, start = start + share / 2, start + share
        kept = {False: 1.0}
        if accepts:
            kept = pieces(lambda u, d=draw: run(1, d, u, 0.5))
        emitted[drafted] += share * kept.pop(True, 0.0)
        for refused in kept.values():
            redrawn = pieces(lambda u, d=draw: run(2, d, 1 - 1e-9, u))
            for token, length in redrawn.items():
                emitted[token] += share * refused * length
    return emitted


@pytest.mark.parametrize(
    ("method", "top_p", "target"),
    [
        (*("steering", 1.0), lambda *three: mixture(*three, 0.7, steered(*three, 1.0))),
        ("lossless", 1.0, lambda *three: steered(*three, 1.0)),
        ("speculative", 1.0, lambda _, large, base: np.exp(large)),
        # Top-p cuts no residual once more.
        ("speculative", 0.8, lambda _, large, base: nucleus(np.exp(large))),
    ],
)
def test_one_token_is_emitted_exactly(method, top_p, target):
    """Were one random number used twice, the sum would not be the distribution that the
    rule promises."""
    models = np.log(np.random.default_rng(5).dirichlet(np.ones(4), 3))
    settings = MethodSettings(
        method=method,
        temperature=1.0,
        top_p=top_p,
        draft_length=1,
        threshold=0.7,
        candidates=4,
    )
    emitted = emission(settings, models)
    np.testing.assert_allclose(emitted, target(*models), atol=1e-3)


@pytest.mark.parametrize("name", available())
def test_no_text_is_longer_than_asked_nor_goes_on_after_its_end(name):
    """Where every drafted token is kept too, and more were drafted behind."""
    ended = 0
    for most in (1, 3, 8):
        for seed in range(6):
            settings = MethodSettings(
                method=name, temperature=1.0, seed=seed, threshold=0.0
            )
            if name == "rejection":
                settings = replace(settings, threshold=0.5)
            tokens = written(settings, str(seed), most).ids
            assert END not in tokens[:-1]
            ended += tokens[-1] == END
            assert len(tokens) == most or tokens[-1] == END
    assert ended
