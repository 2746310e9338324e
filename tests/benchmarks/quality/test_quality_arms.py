"""Arms of a sweep, their targets, and the messages between the models."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.quality.arms import Target, arms, nats_of, target_of
from benchmarks.quality.writing import FramedVerifier
from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import Candidates, DraftBlock, OpenSession, digest
from decoding_core.methods import available, build
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.events import Received, Sent
from edge_app.evaluation.pair import Readers
from tests.fakes import HashEngine

SMALL, LARGE = "small", "large"
PUBLIC, PRIVATE, TEXT = (1, 2), (1, 3, 2), (4, 5, 6, 7, 4, 4)
STEERED = ("steering", "lossless", "coupled", "costeer", "lightcosteer")
WARM = MethodSettings(temperature=1.0)


def combined(methods, thresholds, strengths, usual=WARM):
    found = arms(methods, usual, thresholds, strengths, may_refuse=False)
    return [(one.method, one.threshold, one.strength) for one in found]


def test_a_setting_that_makes_no_difference_is_no_arm():
    """Threshold for those that the server judges, strength for those that steer."""
    both = [1.0, "auto"], [0.5, 2.0]
    assert combined(["generalist"], *both) == [("generalist", None, None)]
    found = combined(["rejection", "lossless"], *both)
    assert found[:2] == [("rejection", 1.0, None), ("rejection", "auto", None)]
    assert found[2:] == [("lossless", None, 0.5), ("lossless", None, 2.0)]
    assert len(combined(["steering"], *both)) == 4


def test_all_methods():
    """Each is there, those that cannot write with the reason."""
    found = arms(available(), MethodSettings(), [0.5], [1.0], may_refuse=True)
    assert [one.method for one in found] == list(available())
    refused = [one.method for one in found if one.refusal]
    assert refused == ["rejection"]
    with pytest.raises(InvalidSettingsError, match="temperature above 0"):
        combined(["rejection"], [0.5], [1.0], MethodSettings())


@pytest.fixture
def rows():
    """Log-probabilities (T, V) of each model at each place of the text."""

    def read(name, prompt):
        engine = HashEngine(name)
        engine.evaluate(prompt)
        logits = [engine.logits(), *engine.evaluate(TEXT, len(TEXT))[:-1]]
        return log_softmax(np.array(logits, float))

    prompts = {"S": (SMALL, PRIVATE), "B": (SMALL, PUBLIC), "L": (LARGE, PUBLIC)}
    prompts["L with history"] = (LARGE, PRIVATE)
    return {name: read(*one) for name, one in prompts.items()}


@pytest.fixture
def cost():
    """Nats of the text by one method."""

    def of(settings):
        target = target_of(settings)
        engines = HashEngine(SMALL), HashEngine(SMALL), HashEngine(LARGE)
        readers = Readers(*engines, PUBLIC, PRIVATE)
        return nats_of(readers, TEXT, [target])[target.key]

    return of


@pytest.mark.parametrize("name", [*STEERED, "generalist", "speculative"])
@pytest.mark.parametrize("strength", [0.5, 1.7])
def test_nats_are_those_of_the_methods_own_target(rows, cost, name, strength):
    """The target that the method itself gives for the whole vocabulary."""
    settings = replace(WARM, method=name, strength=strength)
    method, ids = build(settings), np.arange(17, dtype=np.int32)
    expected = 0.0
    for place, token in enumerate(TEXT):
        row = Candidates(ids, rows["L"][place], rows["B"][place])
        expected -= np.log(method.target(rows["S"][place], row)[token])
    assert cost(settings) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0, 4.0])
def test_nats_of_rejection_are_those_of_the_clipped_target(rows, cost, threshold):
    """S * min(L/B, threshold) / norm, worked out here."""
    settings = replace(WARM, method="rejection", threshold=threshold)
    ratio = np.exp(rows["L"] - rows["B"])
    clipped = np.exp(rows["S"]) * (np.minimum(ratio, threshold) if threshold else 1.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    expected = -np.log(clipped[np.arange(len(TEXT)), TEXT]).sum()
    assert cost(settings) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("specialist", "S"),
        ("specialist_without_history", "B"),
        ("generalist", "L"),
        ("generalist_with_history", "L with history"),
    ],
)
def test_nats_of_one_model_are_its_own(rows, cost, name, reader):
    """Read from the prompt that it is given."""
    expected = -rows[reader][np.arange(len(TEXT)), TEXT].sum()
    assert cost(replace(WARM, method=name)) == pytest.approx(expected, rel=1e-5)


def test_what_has_no_target():
    """A threshold that moves; a target that is cut to few tokens."""
    assert target_of(replace(WARM, method="rejection", threshold="auto")) is None
    if "contrast" in available():
        assert target_of(replace(WARM, method="contrast")) is None
    assert Target("T", 1 / 3).key != Target("T", 0.333333).key


@pytest.mark.parametrize(
    "name", [m for m in available() if build(replace(WARM, method=m)).needs_generalist]
)
def test_messages_change_nothing_and_are_counted(name):
    """The same verdict as without them, and the sizes that the session has."""
    terms = replace(WARM, method=name, candidates=5, draft_length=4).terms()
    request = OpenSession(PUBLIC, (), "fake", terms)
    plain = EngineVerifier(HashEngine(LARGE), HashEngine(SMALL))
    heard = []
    inner = EngineVerifier(HashEngine(LARGE), HashEngine(SMALL))
    framed = FramedVerifier(inner, heard.append)
    assert framed.open(request) == plain.open(request)
    drafted = TEXT[:4] if build(replace(WARM, method=name)).drafts else ()
    block = DraftBlock(0, 0, 0, digest(()), (), drafted)
    expected, found = plain.verify(block), framed.verify(block)
    assert found.accepted == expected.accepted
    for one, other in zip(found.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(one.token_ids, other.token_ids)
        np.testing.assert_array_equal(
            one.generalist_logprobs, other.generalist_logprobs
        )
    sizes = {(type(event), event.what): event.size for event in heard}
    frames = 36 + 4 * (4 + 16)
    assert sizes[Sent, "block"] == frames
    assert sizes[Received, "block"] >= 28
    assert sizes[Sent, "open"] > 100
    assert len(heard) == 4


def test_histories_are_rows_of_what_reads_them():
    """Of each way to choose past texts, for methods to which it makes a difference; T
    for CoSteer alone."""
    more = {"steps": [1, 20], "histories": ["bm25", "noise"]}
    found = arms(available(), WARM, [0.5], [1.0], may_refuse=True, **more)
    by_method = {}
    for arm in found:
        by_method.setdefault(arm.method, []).append((arm.steps, arm.history))
    both = [(None, "bm25"), (None, "noise")]
    deaf = {"generalist", "specialist_without_history"}
    assert {one for one in by_method if by_method[one] == [(None, None)]} == deaf
    assert by_method["speculative"] == by_method["lightcosteer"] == both
    assert by_method["costeer"] == [(t, way) for t in (1, 20) for _, way in both]
    strengths = [target_of(one.settings).value for one in found if one.steps]
    assert strengths == pytest.approx([0.476190] * 2 + [1.783257] * 2, abs=1e-6)
