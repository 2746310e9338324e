"""Draft, verify, redraw must equal step-by-step steered decoding, token for token."""

import numpy as np
import pytest

from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.transport.client import CloudVerifier
from models.chat import prompt_ids
from models.prompts import Excerpt, Request, private_messages, public_messages
from tests.writing import Writing

TEXT = "Hullo Ana,\n\nThank you for the photos; that is going on the piano.\n\nTess"


REQUEST = Request("Thank Ana for the photos.", recipient="Ana")


def prompts(model):
    excerpts = [Excerpt("email", "Ana", "Photos", TEXT)]
    return [
        prompt_ids(model.vocabulary.tokenize, model.chat_template, messages)
        for messages in (private_messages(REQUEST, excerpts), public_messages(REQUEST))
    ]


def settings_for(seed, vocabulary_size):
    """Candidates are the whole vocabulary, so that nothing is cut off."""
    return MethodSettings(
        method="coupled",
        temperature=0.0 if seed == 0 else 0.9,
        seed=seed,
        strength=(1.0, 0.5, 1.5)[seed % 3],
        draft_length=(4, 1, 7)[seed % 3],
        candidates=vocabulary_size,
    )


def written(settings, specialist, contexts, verifier, tokens):
    """The token ids of a text of the real loop."""
    engine = contexts[0].sequence(0)
    engine.rollback(0)
    writing = Writing(
        *(settings, engine, verifier, tokens, ()),
        prompts=prompts(specialist),
        vocabulary_id=specialist.vocabulary_id,
        piece=specialist.vocabulary.piece,
        weighs=False,
        may_go_offline=False,
    )
    writing.run()
    verifier.close()
    return writing.ids


def stepwise(settings, specialist, contexts, tokens):
    """The reference: one token at a time, over the whole vocabulary."""
    private, public = prompts(specialist)
    draw, text, rows = settings.draw(), [], []
    engines = [context.sequence() for context in contexts]
    for engine, prompt in zip(engines, (private, public, public), strict=True):
        engine.rollback(0)
        rows.append(engine.evaluate(prompt)[0])
    for position in range(tokens):
        small, base, large = (log_softmax(row, settings.temperature) for row in rows)
        steered = log_softmax(large + np.float32(settings.strength) * (small - base))
        text.append(draw.coupled(steered, position))
        rows = [engine.evaluate([text[-1]])[0] for engine in engines]
    return text


def check(seeds, specialist, contexts, references, verifier, tokens):
    for seed in seeds:
        settings = settings_for(seed, specialist.vocabulary_size)
        found = written(settings, specialist, contexts, verifier(), tokens)
        assert found == stepwise(settings, specialist, references, tokens), seed


def verifiers(place, contexts, server):
    if place == "socket":  # two processes, and real frames between them
        return lambda: CloudVerifier(server.url, server.token, lambda _: None)
    return lambda: EngineVerifier(contexts[2].sequence(0), contexts[1].sequence(0))


@pytest.mark.parametrize(
    ("place", "seeds", "tokens"),
    [
        ("in process", range(1), 10),
        ("socket", range(1, 2), 10),
        pytest.param("in process", range(200), 16, marks=pytest.mark.slow),
        pytest.param("socket", range(200), 16, marks=pytest.mark.slow),
    ],
)
def test_a_text_equals_step_by_step_steering(
    place, seeds, tokens, specialist, contexts, reference_contexts, server
):
    """Token for token, for every seed."""
    verifier = verifiers(place, contexts, server)
    check(seeds, specialist, contexts, reference_contexts, verifier, tokens)
