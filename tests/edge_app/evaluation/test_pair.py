"""What a text costs: the chain rule, the target and the share that is kept; and real
texts under the real embedded pair."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from evaluation_helpers import case as usual_case
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoding_core.errors import EngineError, StoppedError
from decoding_core.methods.steering import Steering, log_steered
from decoding_core.sampling import log_softmax
from edge_app.evaluation.other_tokens import OtherTokens
from edge_app.evaluation.pair import Measuring, Readers, read
from models.chat import prompt_ids
from models.prompts import public_messages
from tests.exact import emitted_by_server, row_of, steered
from tests.fakes import HashEngine

TEXT = "Hullo Ana,\n\nThank you for the pier photos. Héllo!\n\nBest,\nTess"
HOW = Measuring(strengths=(0.0, 1.0), thresholds=(0.5,))
case = partial(usual_case, text=TEXT)


def test_notes_change_the_specialist_alone(pair):
    bare = pair.measure(case(), HOW)
    noted = pair.measure(case(background=TEXT), HOW)
    assert noted.specialist < bare.specialist
    assert_allclose([noted.base, noted.generalist], [bare.base, bare.generalist])


def test_the_cost_is_that_of_the_conversation(pair):
    """Prompt, text and the end of the turn, as one reading of the whole gives it."""
    model, engine = pair.small, pair.base
    prompt = prompt_ids(
        model.vocabulary.tokenize, model.chat_template, public_messages(case().request)
    )
    text = model.vocabulary.tokenize(TEXT)
    text.append(model.vocabulary.tokenize("<|im_end|>", control=True)[0])
    engine.rollback(0)
    logits = engine.evaluate([*prompt, *text[:-1]], len(text))
    rows = log_softmax(logits.astype(np.float64))
    whole = -rows[np.arange(len(text)), text].sum()
    measured = pair.measure(case(), HOW)
    assert_allclose(measured.base, whole, rtol=1e-3)
    assert measured.tokens == len(text)


def test_a_beginning_is_read_and_not_counted(pair):
    """The chain rule again: beginning and rest cost what the whole costs. A text that
    is cut has no end."""
    first, rest = TEXT[:12], TEXT[12:]
    tokenize = pair.small.vocabulary.tokenize
    assert tokenize(first) + tokenize(rest) == tokenize(TEXT)
    whole = pair.measure(case(), HOW)
    ended = pair.measure(case(beginning=first, text=rest), HOW)
    begun = pair.measure(case(), replace(HOW, max_tokens=len(tokenize(first))))
    assert_allclose(begun.base + ended.base, whole.base, rtol=1e-3)
    assert (begun.tokens, begun.whole) == (len(tokenize(first)), False)
    assert (begun.size, ended.size) == (len(first), whole.size - len(first))


def test_a_stop(pair):
    pair._stop.set()
    try:
        with pytest.raises(StoppedError):
            pair.measure(case(background="tea " * 300), HOW)
    finally:
        pair._stop.clear()
    assert pair.measure(case(), HOW).tokens > 5


def test_a_generalist_of_another_vocabulary_costs_what_its_own_tokens_cost(
    pair, monkeypatch
):
    """The embedded pair as if its lists differed: the figures are those of one list,
    but for what the candidates leave out and other ways to write the text."""
    one = case()
    same = pair.measure(one, HOW)
    models = pair.small, pair.generalist.slots.model
    monkeypatch.setattr(pair, "other", OtherTokens(*models, pair.generalist))
    found = pair.measure(one, HOW)
    assert (found.base, found.specialist) == (same.base, same.specialist)
    assert found.generalist == pytest.approx(same.generalist, rel=1e-4)
    assert_allclose(found.steered, same.steered, rtol=0.02)
    assert_allclose(found.kept, same.kept, rtol=0.02)


SIZE = 17
PUBLIC, PRIVATE = (3, 1, 4), (1, 5, 9, 2, 6)
texts = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=12)


def readers(generalist="large"):
    engines = map(HashEngine, ("small", "small", generalist))
    return Readers(*engines, PUBLIC, PRIVATE)


def rows_of(name, prompt, token_ids):
    """Log-probabilities (T, V) of what follows, one step at a time."""
    engine = HashEngine(name)
    parts = [prompt, *([token] for token in token_ids[:-1])]
    logits = [engine.evaluate(part)[0] for part in parts]
    return log_softmax(np.array(logits, np.float64))


def cost(*asked):
    """Nats of each token (T,)."""
    return -rows_of(*asked)[np.arange(len(asked[-1])), asked[-1]]


@given(texts, st.integers(1, 20))
def test_the_cost_is_that_of_the_chain_rule(token_ids, rows):
    opinions = read(readers(), token_ids, [1.0], [0.5], rows)
    assert_allclose(opinions.base, cost("small", PUBLIC, token_ids))
    assert_allclose(opinions.specialist, cost("small", PRIVATE, token_ids))
    assert_allclose(opinions.generalist, cost("large", PUBLIC, token_ids))
    whole = read(readers(), token_ids, [1.0], [0.5])
    assert_allclose(opinions.steered, whole.steered)
    assert_allclose(opinions.kept, whole.kept)


@given(texts)
def test_steering_by_a_small_model_of_ones_own_size_gives_the_specialist(token_ids):
    """Where L is B, T of strength 1 is S."""
    opinions = read(readers(generalist="small"), token_ids, [1.0], [0.5])
    assert_allclose(opinions.steered[0], opinions.specialist)
    assert_allclose(opinions.kept[0], 1.0)


@given(st.integers(0, 10_000), st.floats(0.0, 3.0))
def test_the_target_is_a_distribution(seed, strength):
    """Its logarithm is normalised over the vocabulary, and is the steered one's."""
    rng = np.random.default_rng(seed)
    three = log_softmax(rng.normal(0, 3, (3, 5, SIZE)))
    logs = log_steered(*three, strength)
    assert_allclose(np.exp(logs).sum(axis=-1), 1.0)
    for *rows, found in zip(*three, logs, strict=True):
        assert_allclose(np.exp(found), steered(*rows, strength))


def test_what_is_emitted_costs_what_the_method_gives_it():
    strengths, thresholds, text = (0.5, 1.0, 2.0), (0.0, 0.3, 1.0, 50.0), [3, 1, 4, 1]
    found = read(readers(), text, strengths, thresholds).emitted(thresholds)
    assert found.shape == (3, 4, 4)
    prompts = ("small", PRIVATE), ("large", PUBLIC), ("small", PUBLIC)
    rows = [rows_of(*prompt, text) for prompt in prompts]
    every = product(strengths, thresholds, zip(text, *rows, strict=True))
    for cost_of_one, (strength, threshold, one) in zip(found.flat, every, strict=True):
        token, small, large, base = one
        keep = Steering(strength, "stochastic").acceptance(large, base, threshold)
        target = steered(small, large, base, strength)
        out = emitted_by_server(keep, np.exp(small), row_of(large, base), target)
        assert_allclose(cost_of_one, -np.log(out[token]), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_that_are_no_probabilities(monkeypatch):
    monkeypatch.setattr(HashEngine, "logits", lambda self: np.full(SIZE, -np.inf))
    with pytest.raises(EngineError, match="no probabilities"):
        read(readers(), [1, 2], [1.0], [])
