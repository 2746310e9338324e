"""`specsteer lab bench speed` as a whole: processes, sockets, relay, table."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.speed import bench_speed
from benchmarks.speed.bench_speed import check, command
from benchmarks.speed.one_text import Clock
from benchmarks.speed.traced import Trace
from decoding_core.errors import EngineError

FAST = (
    *("--engines", "paced", "--draft-ms", "1", "--verify-ms", "3", "--tokens", "12"),
    *("--vocabulary", "2048", "--request", "20", "--history", "20"),
)


def run(*words):
    return CliRunner().invoke(command, words)


@pytest.mark.slow
def test_a_text_of_each_kind_gives_a_row(tmp_path):
    """The trace's own acceptance, with a relay and without, in a table and as JSON."""
    file = tmp_path / "speed.json"
    result = run(
        *FAST,
        *("--methods", "generalist,steering", "--trips", "0,8", "--windows", "1"),
        *("--acceptance", "0.9", "--json", str(file)),
    )
    assert result.exit_code == 0, result.output
    head, *lines = result.stdout.splitlines()
    assert [line.split()[3] for line in lines] == ["generalist", "0.9"] * 2
    assert "/limit" in head
    body = json.loads(file.read_text())
    rows = body["rows"]
    assert [row["cell"]["trip"] for row in rows] == [0.0, 0.0, 0.008, 0.008]
    for row in rows:
        assert row["tokens"] == 12
        assert row["bytes_a_token"] > 0
        assert row["first"] > 0
        # Nothing is faster than its engines and the round trip.
        assert row["over_limit"] > 0.9 or row["cell"]["drafting"]
    assert body["traces"] == {"a = 0.9, seed 0": Trace(0.9, 0).digits(12)}


@pytest.mark.slow
def test_every_method_and_every_acceptance(tmp_path):
    """What drafts nothing is written once, whatever the traces are."""
    file = tmp_path / "speed.json"
    result = run(*FAST, "--trips", "0", "--windows", "1", "--json", str(file))
    assert result.exit_code == 0, result.output
    cells = [row["cell"] for row in json.loads(file.read_text())["rows"]]
    drafting = [cell for cell in cells if cell["drafting"]]
    assert [cell["method"] for cell in cells if not cell["drafting"]] == [
        "generalist",
        "costeer",
        "lightcosteer",
    ]
    assert [cell["acceptance"] for cell in drafting] == [0.5] * 4 + [0.75] * 4 + [
        0.9
    ] * 4


@pytest.mark.slow
def test_the_embedded_pair_writes_by_itself(tmp_path):
    """By its own acceptance, with steering once for each threshold."""
    file = tmp_path / "speed.json"
    result = run(
        *("--engines", "embedded", "--trips", "0", "--windows", "1", "--tokens", "20"),
        *("--methods", "generalist,steering,lossless", "--json", str(file)),
    )
    assert result.exit_code == 0, result.output
    body = json.loads(file.read_text())
    methods = [row["cell"]["method"] for row in body["rows"]]
    assert methods == [
        "generalist",
        "steering 1",
        "steering 0.5",
        "steering 0.1",
        "lossless",
    ]
    assert len(body["models"]) == 2


def test_a_text_that_no_trace_gives_is_no_measurement():
    """Something else decided what was kept."""
    trace, wrong = Trace(0.5, 0), Clock(tokens=(1, 2, 3))
    check(Clock(tokens=tuple(trace.text(9))), trace, "steering")
    check(wrong, None, "steering")
    with pytest.raises(EngineError, match="steering did not write"):
        check(wrong, trace, "steering")


def test_the_lists_know_their_items():
    """`quick` changes what is usual, and what is given stands."""
    known = {option.name for option in command.params}
    assert known >= {*bench_speed._USUAL, *bench_speed._QUICK}
