"""From clocks to figures."""

import json
from dataclasses import replace

import pytest

from benchmarks.speed import report
from benchmarks.speed.one_text import (
    Cell,
    Clock,
    Row,
    Text,
    Unloaded,
    bar,
    length,
    overlap,
    row_of,
    timed,
    unloaded,
)
from benchmarks.speed.serving import Paces, PairOrder
from benchmarks.speed.traced import Pace, Trace
from decoding_core.messages import TokenBlock
from edge_app.decoding.events import Drafted, EventEmitter, Received, Sent, Verified

TIMES = Unloaded(0.01, {1: 0.1, 9: 0.18}, {1: 0.02, 9: 0.02})
STEERING = Cell("paced", 0.9, "steering", "1", "8", trip=0.05)


def a_text():
    """Two blocks of four from second 1 on: all kept, then refused at the third."""
    clock = Clock(began=0.0)
    clock.first, clock.before = 1.0, 2
    clock.engine = [(0.5, 1.5), (2.0, 2.5)]
    clock.waits = [(1.5, 2.0), (2.5, 4.0)]
    clock.out = [(1.25, 4.0)]
    clock.lengths, clock.drafted = [4, 4], 8
    clock.accepted, clock.refused, clock.bytes = 6, 1, 700
    clock.in_vain = 1
    return Text(tuple(range(7)), clock, 5.0)


def test_figures_of_a_text():
    """Rates begin with the first token; a verdict on a token is one that was read."""
    row = row_of(STEERING, [a_text(), a_text()], TIMES)
    assert row.tokens == 14
    assert row.tokens_per_second == pytest.approx(5 / 4)
    assert row.tokens_a_round == 3.5
    assert row.kept == pytest.approx(6 / 7)
    assert row.in_vain == pytest.approx(1 / 8)
    assert row.bytes_a_token == 100
    assert row.first == 1.0
    verify = 0.1 + 0.08 * 3 / 8 + 0.02
    assert row.limit == pytest.approx(0.01 + (verify + 0.05) / 7)
    assert row.over_limit == pytest.approx(4 / 5 / row.limit)
    assert row.busy == pytest.approx(0.75 / 2.75)
    parts = {
        "specialist": 1 / 4,
        "server": 0.5 * verify / (verify + 0.05),
        "network": 0.5 * 0.05 / (verify + 0.05),
        "loop": 1 / 4,
    }
    assert row.parts == pytest.approx(parts)


def test_who_drafts_nothing_has_no_share_of_drafts():
    """Its limit is a pass and a trip, and the specialist's step where it takes part."""
    text = a_text()
    text.clock.accepted = text.clock.refused = text.clock.drafted = 0
    text.clock.lengths, text.clock.engine = [0] * 7, []
    cell = replace(STEERING, drafting=False, uses_base=False)
    row = row_of(cell, [text], TIMES)
    assert (row.kept, row.in_vain, row.busy) == (None, None, None)
    assert row.limit == pytest.approx(0.1 + 0.05)
    assert row.tokens_a_round == 1.0


def test_spans_overlap_where_both_run():
    one, other = [(0, 2), (3, 5), (8, 9)], [(1, 4), (4.5, 10)]
    assert overlap(one, other) == 1 + 1 + 0.5 + 1
    assert overlap(other, one) == overlap(one, other)
    assert overlap(one, []) == 0
    assert length(one) == 5


def test_a_bar_is_as_long_as_its_parts():
    parts = {"specialist": 0.26, "server": 0.24, "network": 0.5, "loop": 0.0}
    assert bar(parts, 4) == "svnn"
    assert len(bar({**parts, "network": 0.1, "loop": 0.4})) == 20


def test_the_clock_counts_what_the_loop_says():
    """A refusal takes along what is out behind it."""
    clock = Clock()
    emitter = EventEmitter(clock.hear, lambda _: b"")
    for token in range(8):
        emitter.drafted(token)
    for _ in range(2):
        clock.submitted()
    clock.collected()
    clock.hear(Verified(4, 4, (), 0.1))
    assert clock.out == []  # the second is still on its way
    emitter.settled(TokenBlock((0, 1, 2, 3), ("accepted",) * 4))
    clock.submitted()
    clock.collected()
    clock.hear(Verified(4, 1, ("",) * 4, 0.1, in_vain=1))
    assert len(clock.out) == 1
    clock.submitted()
    clock.collected()
    assert len(clock.out) == 2
    clock.hear(Sent(0.0, "", "block", 30, (), b""))
    clock.hear(Received(0.0, "verdict", 12))
    clock.hear(Drafted(9, ""))
    assert (clock.drafted, clock.accepted, clock.refused) == (9, 5, 1)
    assert (clock.lengths, clock.before, clock.bytes) == ([4, 4], 4, 42)
    assert clock.in_vain == 1


def test_an_engine_is_timed_alone():
    """A paced one takes its pace, and is left as it was."""
    order = PairOrder(
        "paced",
        context=64,
        vocabulary_size=2048,
        trace=Trace(0.5, 0),
        paces=Paces(Pace(0.002), Pace(0.004), Pace(0.0)),
    )
    server = order.server()
    found = unloaded(order.device(), server, 5, 5, times=2)
    assert found.draft >= 0.002
    assert min(found.generalist.values()) >= 0.004
    assert found.verify(3, with_base=True) > found.verify(3, with_base=False)
    assert set(timed(server.generalist, 3, (2, 7), 1)) == {2, 7}


def rows():
    generalist = Cell("paced", None, "generalist", drafting=False, uses_base=False)
    made = [
        Row(generalist, 9, 20.0, parts=dict.fromkeys(("specialist", "server"), 0.5)),
        Row(replace(generalist, trip=0.06), 9, 8.0),
        Row(replace(generalist, method="costeer", trip=0.06), 9, 5.0),
        Row(STEERING, 9, 50.0, kept=0.9, limit=0.01),
        Row(replace(STEERING, trip=0.06), 9, 30.0, kept=0.9, limit=0.02),
        Row(replace(STEERING, method="other's"), 9, 1.0, over_generalist=7.0),
    ]
    return report.compared([replace(row, parts=None) for row in made])


def test_rows_are_compared_with_whom_they_should_be():
    """The generalist alone streams, so its rate at no trip is everyone's measure;
    CoSteer pays the trip, so it is compared with at the same one. A row that comes with
    a comparison of its own keeps it."""
    found = rows()
    assert [row.over_generalist for row in found] == [1.0, 0.4, 0.25, 2.5, 1.5, 7.0]
    costeer = [row.over_costeer for row in found]
    assert costeer == [None, 1.6, 1.0, None, 6.0, None]


def test_the_table_has_a_line_for_each_row():
    table = report.table(rows())
    assert len({len(line) for line in table}) == 1
    assert len(table) == 7
    shown = dict(zip(table[0], table[5], strict=True))
    assert shown["tok/s"] == "30.0"
    assert shown["trip ms"] == "60"
    assert shown["/limit"] == "1.67"
    assert shown["window"] == "1"


def test_the_json_holds_everything(tmp_path):
    """And what it was made with; a model by its hash."""
    model = tmp_path / "a.gguf"
    model.write_bytes(b"x")
    about = report.manifest({"tokens": 9}, [model])
    body = json.loads(json.dumps(report.as_json(rows(), {"paced": TIMES}, about)))
    assert body["rows"][4]["over_limit"] == pytest.approx(1 / 30 / 0.02)
    assert body["rows"][4]["cell"]["trip"] == 0.06
    found = body["manifest"]
    assert found["settings"] == {"tokens": 9}
    assert found["models"]["a.gguf"].startswith("2d711642b726b044")
    assert {"python", "numpy", "specsteer"} <= set(found["versions"])
    assert found["machine"]["cores"] >= 1
    lines = report.manifest_lines(about)
    assert "a.gguf 2d711642b726" in lines
