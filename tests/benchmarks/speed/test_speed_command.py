"""`specsteer lab bench speed` as a whole: processes, sockets, relay, table."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.speed import bench_speed
from benchmarks.speed.bench_speed import check, command
from benchmarks.speed.one_text import Clock
from benchmarks.speed.traced import Pace, Trace
from decoding_core.errors import EngineError


@pytest.mark.slow
def test_a_text_of_each_kind_gives_a_row(tmp_path, monkeypatch):
    """The trace's own acceptance, with a relay and without, in a table and as JSON;
    engines hardly wait."""
    paces = {"specialist": Pace(0.001), "generalist": Pace(0.003), "base": Pace(0.0)}
    monkeypatch.setattr(bench_speed, "PACES", paces)
    file = tmp_path / "speed.json"
    words = "--engines paced --methods generalist,steering --trips 0,8 --acceptance 0.9"
    more = "--windows", "1", "--tokens", "12", "--json", str(file)
    result = CliRunner().invoke(command, [*words.split(), *more])
    assert result.exit_code == 0, result.output
    head, *lines = result.stdout.splitlines()
    body = json.loads(file.read_text())
    assert [line.split()[3] for line in lines] == ["generalist", "0.9"] * 2
    assert "/limit" in head
    rows = body["rows"]
    assert [row["cell"]["trip"] for row in rows] == [0.0, 0.0, 0.008, 0.008]
    for row in rows:
        assert row["tokens"] == 12
        assert row["bytes_a_token"] > 0
        assert row["first"] > 0
        # Nothing is faster than its engines and the round trip.
        assert row["over_limit"] > 0.9 or row["cell"]["drafting"]
    assert body["traces"] == {"a = 0.9, seed 0": Trace(0.9, 0).digits(12)}


def test_a_text_that_no_trace_gives_is_no_measurement():
    """Something else decided what was kept."""
    trace, wrong = Trace(0.5, 0), Clock(tokens=(1, 2, 3))
    check(Clock(tokens=tuple(trace.text(9))), trace, "steering")
    check(wrong, None, "steering")
    with pytest.raises(EngineError, match="steering did not write"):
        check(wrong, trace, "steering")
