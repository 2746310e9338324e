"""One text of the real loop over a real socket, with a pair of a trace."""

from contextlib import closing

import pytest

from benchmarks.speed.one_text import Device
from benchmarks.speed.rig.engines import Pace
from benchmarks.speed.rig.serving import Paces, PairOrder, serving
from benchmarks.speed.rig.trace import Trace
from decoding_core.settings import MethodSettings
from edge_app.retrieval.context import Prompts

NONE = Pace(0.0)
ORDER = PairOrder(
    "paced",
    context=512,
    vocabulary_size=2048,
    private_length=40,
    public_length=5,
    trace=Trace(0.75, 0),
    paces=Paces(NONE, NONE, NONE),
)
PROMPTS = Prompts(tuple(range(5)), tuple(range(40)), ())


@pytest.fixture(scope="module")
def address():
    with serving(ORDER) as near:
        yield near


def test_what_is_read_ahead_is_read_once(address, monkeypatch):
    """Before the clock runs; the text is the same."""
    read = []
    with closing(ORDER.device()) as engine:
        evaluate = engine.evaluate

        def counted(readings):
            read.extend(len(one.token_ids) for one in readings)
            return evaluate(readings)

        monkeypatch.setattr(engine, "evaluate", counted)
        device = Device(engine, PROMPTS)
        settings = MethodSettings(window=1)
        texts = []
        for read_ahead in (False, True):
            read.clear()
            texts.append(device.write(address, settings, 20, read_ahead=read_ahead))
            assert max(read) == 39
            assert sum(count == 39 for count in read) == 1
    usual, ahead = texts
    assert ahead.tokens == usual.tokens == tuple(ORDER.trace.text(20))
    assert len(ahead.clock.engine) == len(usual.clock.engine)
