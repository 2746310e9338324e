"""`specsteer lab bench capacity`: from what people saw to how many there may be."""

import json
from contextlib import nullcontext
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.load import bench_capacity
from benchmarks.load.bench_capacity import (
    BOUNDS,
    WAYS,
    Person,
    Row,
    capacity,
    command,
    plot,
    table,
)

REST = 500.0, 0.9, 0.02, 1.3, 9.5, 300.0, 0.0002, 0.2


def rows(way, trip, *seen):
    """A curve of people and the p95 that they have, in ms."""
    return [Row("paced", way, trip, n, ms / 1000, ms / 1000, *REST) for n, ms in seen]


def test_no_wait_of_a_person_is_left_out():
    """From the last block before the stretch to the first behind it."""
    marks = [
        (float(t), n, 100 * n, n, 0) for t, n in ((1, 5), (2, 9), (4, 15), (9, 20))
    ]
    assert Person(marks=marks).within(2.5, 4.5).tolist() == [7, 11, 1100, 11, 0]
    assert Person(marks=marks).within(2.0, 4.0).tolist() == [2, 6, 600, 6, 0]
    # Whoever had nothing settled for all of it has waited for ever.
    assert Person(marks=marks[:1]).within(2.0, 4.0).tolist() == [0] * 5


def test_how_many_people_have_a_bound():
    """On the line between two numbers; none if one alone is too slow, and not known if
    all that were tried are served."""
    seen = rows("steering", 0.0, (1, 20), (16, 40), (32, 80), (48, 120))
    found = [capacity(seen, ms / 1000) for ms in (10, 40, 60, 100, 200)]
    assert found == pytest.approx([0.0, 16.0, 24.0, 40.0, None])
    slow = rows("costeer", 0.1, (1, 150))
    head, *lines = table([*slow, *seen], BOUNDS)
    shown = [dict(zip(head, line, strict=True)) for line in lines]
    assert [one["p95 80"] for one in shown] == ["0", "32"]
    assert [one["at"] for one in shown] == ["1", "32"]
    drawn = ElementTree.fromstring(plot([*slow, *seen], BOUNDS))
    assert len(drawn.findall(".//{*}path")) == 1 + len(BOUNDS) + 2


def test_a_stopped_run_goes_on(monkeypatch):
    """Ctrl-C loses the number that was being measured; another setting, all."""
    served = SimpleNamespace()
    monkeypatch.setattr(bench_capacity, "serving", lambda *_: nullcontext(served))
    stops_at, measured = set(), []

    def measure(_pair, way, _address, _near, people, options):
        if options["seconds"] != 1.0:  # not the one who writes alone first
            if people in stops_at:
                raise KeyboardInterrupt
            measured.append(people)
        return rows(way, 0.0, (people, 10.0))[0]

    monkeypatch.setattr(bench_capacity, "measure", measure)
    for stops, seconds, code, new in (
        ({16}, "2", 130, [1, 8]),
        (set(), "2", 0, [16]),
        (set(), "2", 0, []),
        (set(), "3", 0, [1, 8, 16]),
    ):
        measured.clear()
        stops_at = stops
        words = "--ways", "steering", "--trips", "0", "--people", "1,8,16"
        result = CliRunner().invoke(command, [*words, "--seconds", seconds])
        assert (result.exit_code, measured) == (code, new)
        assert result.stderr.count("p95 10 ms") == 3 - (code != 0)


@pytest.mark.slow
def test_people_write_at_once_in_every_way(tmp_path):
    """Real server and devices, paced so that they hardly wait: each text is the one
    that the trace gives, or the run says so."""
    file, curves = tmp_path / "capacity.json", tmp_path / "curves.svg"
    words = (
        "--trips 0,10 --people 1,3 --bounds 5000 --seconds 1 --stretch 1 --pass-ms 4 .1"
    )
    more = "--json", str(file), "--plot", str(curves)
    result = CliRunner().invoke(command, [*words.split(), *more])
    assert result.exit_code == 0, result.output
    found = json.loads(file.read_text())["rows"]
    assert {row["way"] for row in found} == set(WAYS)
    assert [row["people"] for row in found] == [1, 3] * 10
    for row in found:
        assert 0 < row["p50"] <= row["p95"] < np.inf
        assert row["bytes"] > 0
        assert 0 < row["passes"] < 2
        assert 1.0 <= row["blocks"] <= row["people"]
    assert ElementTree.parse(curves)
