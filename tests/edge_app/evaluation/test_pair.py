"""Real texts under the real embedded pair."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from evaluation_helpers import case as usual_case
from numpy.testing import assert_allclose

from decoding_core.errors import StoppedError, VocabularyMismatchError
from decoding_core.sampling import log_softmax
from edge_app.evaluation.pair import Measuring, Pair
from models.chat import prompt_ids
from models.engines.llama_cpp import LlamaModel
from models.files import locate
from models.prompts import public_messages
from models.running.settings import EngineSettings

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


def test_two_families_do_not_fit(monkeypatch):
    ids = {locate("specialist"): "one", locate("generalist"): "other"}
    monkeypatch.setattr(
        LlamaModel, "vocabulary_id", property(lambda model: ids[model.path])
    )
    with pytest.raises(VocabularyMismatchError, match=r"specialist.*generalist"):
        Pair(*ids, EngineSettings(threads=1, extra_buffers=False))
