"""Engines of a trace: what is kept is what the trace says, for every method."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.speed.serving import Paced
from benchmarks.speed.traced import Pace, Trace
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.events import EventEmitter, Tally
from edge_app.decoding.loop import DecodeLoop
from tests.fakes import opened_session

PUBLIC, PRIVATE = 5, 9
NONE = Pace(0.0)
PACES = dict.fromkeys(("specialist", "generalist", "base"), NONE)
ENGINES = Paced(Trace(0.75, 0), PACES, 512, PRIVATE, PUBLIC, 2048)
METHODS = (
    *("generalist", "speculative", "costeer", "lightcosteer", "steering"),
    *("lossless", "coupled"),
)


def write(engines, settings, tokens=60):
    """A text of the real loop, with all engines in this process."""
    models = engines.server()
    verifier = EngineVerifier(models.generalist.sequence(), models.base.sequence())
    device = engines.device().sequence()
    request = OpenSession(
        tuple(range(PUBLIC)), (), device.vocabulary_id, settings.terms()
    )
    session = opened_session(verifier, request)
    tally = Tally()
    emitter = EventEmitter(tally.add, lambda _: b"")
    loop = DecodeLoop(
        settings,
        build(settings),
        device,
        range(PRIVATE),
        session,
        emitter,
        max_tokens=tokens,
    )
    text = [token for block in loop.blocks() for token in block.token_ids]
    return text, tally.statistics()


@pytest.mark.parametrize(
    "acceptance",
    [0.0, 0.9, *(pytest.param(a, marks=pytest.mark.slow) for a in (0.5, 1.0))],
)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_the_text_of_the_trace(method, acceptance):
    """By its own rule, at temperature 0."""
    trace = Trace(acceptance, 0)
    text, statistics = write(
        replace(ENGINES, trace=trace), MethodSettings(method=method)
    )
    assert text == trace.text(60)
    if statistics.drafted:
        assert statistics.recovered == trace.digits(60).count("0")


def test_traces_are_the_same_for_ever():
    """Figures of one day are compared with those of another."""
    assert Trace(0.5, 0).digits(24) == "000100011101010100110101"
    assert Trace(0.75, 0).digits(24) == "111111101110011011101010"
    assert Trace(0.9, 0).digits(24) == "111110111101111111011111"
    for acceptance in (0.5, 0.75, 0.9):
        share = np.mean(Trace(acceptance, 0).kept)
        assert share == pytest.approx(acceptance, abs=0.02)
    assert Trace(0.5, 0).kept != Trace(0.5, 1).kept
