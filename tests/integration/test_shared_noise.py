"""Draft, verify, redraw must equal step-by-step steered decoding, token for token."""

import numpy as np
import pytest

from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.events import EventEmitter
from edge_app.decoding.loop import DecodeLoop
from edge_app.transport.client import CloudVerifier
from models.chat import prompt_ids
from models.prompts import Excerpt, Request, private_messages, public_messages
from tests.fakes import opened_session

TEXT = "Hullo Ana,\n\nThank you for the photos; that is going on the piano.\n\nTess"


def prompts(model):
    request = Request("Thank Ana for the photos.", recipient="Ana")
    excerpts = [Excerpt("email", "Ana", "Photos", TEXT)]
    return [
        prompt_ids(model.vocabulary.tokenize, model.chat_template, messages)
        for messages in (private_messages(request, excerpts), public_messages(request))
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


def speculative(settings, specialist, contexts, verifier, tokens):
    private, public = prompts(specialist)
    session = opened_session(
        verifier,
        OpenSession(tuple(public), (), specialist.vocabulary_id, settings.terms()),
    )
    engine = contexts[0].sequence(0)
    engine.rollback(0)
    emitter = EventEmitter(lambda _: None, specialist.vocabulary.piece)
    method = build(settings)
    loop = DecodeLoop(
        settings, method, engine, private, session, emitter, max_tokens=tokens
    )
    list(loop.blocks())
    verifier.close()
    return [token.id for token in emitter.tokens]


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
        written = speculative(settings, specialist, contexts, verifier(), tokens)
        assert written == stepwise(settings, specialist, references, tokens), seed


def in_process(contexts):
    return lambda: EngineVerifier(contexts[2].sequence(0), contexts[1].sequence(0))


def over_the_socket(server):
    return lambda: CloudVerifier(server.url, server.token, lambda _: None)


def test_in_process(specialist, contexts, reference_contexts):
    """One seed; 200 are the slow test's."""
    check(
        range(1),
        specialist,
        contexts,
        reference_contexts,
        in_process(contexts),
        10,
    )


def test_over_the_socket(specialist, contexts, reference_contexts, server):
    """Two processes and real frames between them."""
    check(
        range(1, 2),
        specialist,
        contexts,
        reference_contexts,
        over_the_socket(server),
        10,
    )


@pytest.mark.slow
@pytest.mark.parametrize("place", ["in process", "socket"])
def test_two_hundred_seeds(place, specialist, contexts, reference_contexts, server):
    """Token for token, for every seed."""
    verifier = (
        in_process(contexts) if place == "in process" else over_the_socket(server)
    )
    check(range(200), specialist, contexts, reference_contexts, verifier, 16)
