"""The embedded pair on a server whose slots several texts share."""

import random

import numpy as np
import pytest

from cloud_api.engine.models import ModelOptions
from cloud_api.engine.thread import load_models
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import Terms
from decoding_core.verifier import EngineVerifier
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.running.settings import EngineSettings
from tests.cloud_api.cloud_fakes import client_of, open_session, running, send_block
from tests.fakes import verdict_on

CONTEXT = 512
SETTINGS = EngineSettings(threads=1, extra_buffers=False)
"""The same arithmetic on every processor."""


@pytest.fixture(scope="module")
def models():
    """The pair, loaded once more in this process."""
    loaded = [LlamaModel(locate(r), SETTINGS) for r in ("generalist", "specialist")]
    contexts = [LlamaContext(model, 1, CONTEXT) for model in loaded]
    yield contexts
    for context, model in zip(contexts, loaded, strict=True):
        context.close()
        model.close()


def request_for(models, prompt):
    model = models[0].model
    prompt_ids = tuple(model.vocabulary.tokenize(prompt))
    terms = Terms(method="coupled", candidates=20, draft_limit=6)
    return OpenSession(prompt_ids, (), model.vocabulary_id, terms)


def written(verifier, request, blocks, seed=3):
    """Blocks of a text and the verdicts on them: drafts half from the generalist's own
    candidates, so that some are kept."""
    choose = random.Random(seed)
    verifier.open(request)
    text, settled, epoch = [], [], 0
    likely = list(request.prompt_ids)
    for round_ in range(blocks):
        drafted = tuple(choose.choices(likely, k=choose.randint(1, 6)))
        block = DraftBlock(
            epoch, round_, len(text), digest(text), tuple(settled), drafted
        )
        verdict = verdict_on(verifier, block)
        yield block, verdict
        text += [*settled, *drafted[: verdict.accepted]]
        settled = []
        if verdict.rows:  # none where all is kept
            row = verdict.rows[-1]
            best = row.token_ids[row.generalist_logprobs.argsort()[::-1]].tolist()
            settled, likely = best[:1], best[:3]
        epoch += verdict.accepted < len(drafted)


@pytest.mark.parametrize(
    ("slots", "kv_tokens"), [(2, None), pytest.param(3, 80, marks=pytest.mark.slow)]
)
def test_sessions_beyond_the_seats_are_read_again(models, slots, kv_tokens):
    """Three texts in turn on two slots, or with tokens for two: each verdict as if it
    were alone, but for the order in which sums are formed when texts share a cache."""
    prompts = ["Write a review of a lamp.", "Dear Anna,", "Tell them that I am ill."]
    requests = [request_for(models, one * (4 if kv_tokens else 1)) for one in prompts]
    local = EngineVerifier(*(context.sequence(0) for context in models))
    expected = [list(written(local, request, blocks=3)) for request in requests]
    pair = locate("generalist"), locate("specialist")
    options = ModelOptions(*pair, slots, CONTEXT, SETTINGS, kv_tokens=kv_tokens)
    served = running(lambda: load_models(options))
    with served as server, client_of(server) as client:
        sessions = [open_session(client, request) for request in requests]
        for rounds in zip(*expected, strict=True):
            for request, session_id, (block, verdict) in zip(
                requests, sessions, rounds, strict=True
            ):
                answer = send_block(client, session_id, block, request)
                assert_alike(answer, verdict)
        counts = server.engine.models.counts
        assert set(counts.evictions) == {"turn" if kv_tokens is None else "budget"}
        assert counts.reread > 0


def assert_alike(verdict, expected):
    """Nearly the same distributions: activations are rounded to 8 bits, so tails move
    by a nat, and at the edge of K the candidates may differ."""
    assert verdict.accepted == expected.accepted
    for row, other in zip(verdict.rows, expected.rows, strict=True):
        common, here, there = np.intersect1d(
            row.token_ids, other.token_ids, return_indices=True
        )
        assert len(common) >= 0.8 * len(row.token_ids)
        for name in ("generalist_logprobs", "base_logprobs"):
            left, right = getattr(row, name)[here], getattr(other, name)[there]
            assert np.abs(np.exp(left) - np.exp(right)).sum() / 2 < 0.2
