"""From events to figures."""

from dataclasses import replace

import pytest

from benchmarks.speed.one_text import (
    Cell,
    Clock,
    Row,
    Unloaded,
    compared,
    row_of,
    table,
    timed,
    unloaded,
)
from benchmarks.speed.serving import Paced
from benchmarks.speed.traced import Pace, Trace
from decoding_core.messages import TokenBlock
from edge_app.decoding.events import Drafted, EventEmitter, Received, Sent, Verified

TIMES = Unloaded(0.01, {1: 0.1, 9: 0.18}, {1: 0.02, 9: 0.02})
STEERING = Cell("paced", 0.9, "steering", "1", trip=0.05)


def a_text():
    """Two blocks of four from second 1 to 5: all kept, then refused at the third."""
    return Clock(
        *(0.0, 1.0, 5.0),
        before=2,
        lengths=[4, 4],
        drafted=8,
        accepted=6,
        refused=1,
        in_vain=1,
        bytes=700,
        tokens=tuple(range(7)),
    )


def test_figures_of_a_text():
    """Rates begin with the first token; a verdict on a token is one that was read."""
    row = row_of(STEERING, a_text(), TIMES, reads=True)
    assert (row.tokens, row.tokens_a_round, row.first) == (7, 3.5, 1.0)
    assert row.tokens_per_second == pytest.approx(5 / 4)
    assert row.kept == pytest.approx(6 / 7)
    assert row.in_vain == pytest.approx(1 / 8)
    assert row.bytes_a_token == 100
    verify = 0.1 + 0.08 * 3 / 8 + 0.02
    assert row.limit == pytest.approx(0.01 + (verify + 0.05) / 7)
    assert row.over_limit == pytest.approx(4 / 5 / row.limit)


def test_who_drafts_nothing_has_no_share_of_drafts():
    """Its limit is a pass and a trip, and the specialist's step if it takes part."""
    text = replace(a_text(), accepted=0, refused=0, drafted=0, lengths=[0] * 7)
    cell = replace(STEERING, drafting=False, uses_base=False)
    row = row_of(cell, text, TIMES, reads=False)
    assert (row.kept, row.in_vain, row.tokens_a_round) == (None, None, 1.0)
    assert row.limit == pytest.approx(0.1 + 0.05)
    assert row_of(cell, text, TIMES, reads=True).limit == pytest.approx(0.16)


def test_the_clock_counts_what_the_loop_says():
    clock = Clock()
    emitter = EventEmitter(clock.hear, lambda _: b"")
    for token in range(8):
        emitter.drafted(token)
    clock.hear(Verified(4, 4, (), 0.1))
    emitter.settled(TokenBlock((0, 1, 2, 3), ("accepted",) * 4))
    clock.hear(Verified(4, 1, ("",) * 4, 0.1, in_vain=1))
    clock.hear(Sent(0.0, "", "block", 30, (), b""))
    clock.hear(Received(0.0, "verdict", 12))
    clock.hear(Drafted(9, ""))
    assert (clock.drafted, clock.accepted, clock.refused) == (9, 5, 1)
    assert (clock.lengths, clock.before, clock.bytes) == ([4, 4], 4, 42)
    assert clock.in_vain == 1


def test_an_engine_is_timed_alone():
    """A paced one takes its pace, and is left as it was."""
    paces = {"specialist": Pace(0.002), "generalist": Pace(0.004), "base": Pace(0.0)}
    engines = Paced(Trace(0.5, 0), paces, 64, 5, 5, 2048)
    server = engines.server()
    found = unloaded(engines.device(), server, 5, 5, times=2)
    assert found.draft >= 0.002
    assert min(found.generalist.values()) >= 0.004
    assert found.verify(3, with_base=True) > found.verify(3, with_base=False)
    assert set(timed(server.generalist, 3, (2, 7), 1)) == {2, 7}


def test_rows_are_compared_with_whom_they_should_be():
    """The generalist alone streams, so its rate at no trip is everyone's measure;
    CoSteer pays the trip, so it is compared with at the same one."""
    alone = Cell("paced", None, "generalist", drafting=False, uses_base=False)
    rates = {
        alone: 20.0,
        replace(alone, trip=0.06): 8.0,
        replace(alone, method="costeer", trip=0.06): 5.0,
        STEERING: 50.0,
        replace(STEERING, trip=0.06): 30.0,
    }
    rest = 1.0, 0.9, None, 1.0, 1.0, 0.02
    found = compared([Row(cell, 9, rate, *rest) for cell, rate in rates.items()])
    assert [row.over_generalist for row in found] == [1.0, 0.4, 0.25, 2.5, 1.5]
    assert [row.over_costeer for row in found] == [None, 1.6, 1.0, None, 6.0]
    lines = table(found)
    assert {len(line) for line in lines} == {15}
    shown = dict(zip(lines[0], lines[5], strict=True))
    assert (shown["tok/s"], shown["trip ms"], shown["window"]) == ("30.0", "60", "1")
    assert shown["/limit"] == "1.67"
