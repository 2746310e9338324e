"""What `bench adapter` makes of costs, and that it runs."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.pair.bench_adapter import NONE, as_table, command, divided, rows_of
from models.synthetic_writers.examples import texts_of_unseen_writer


def test_one_writers_texts_are_learnt_or_held_out():
    """The same again for a seed; a history holds learnt texts alone, and never the text
    itself."""
    pieces = texts_of_unseen_writer(30, seed=3)
    assert pieces == texts_of_unseen_writer(30, seed=3)
    texts = divided(pieces, 24, "0")
    assert len(texts.learnt) == len(texts.texts) == 24
    assert 1 <= len(texts.held_out) <= 6
    for case in (*texts.learnt, *texts.held_out):
        ids = {one.record_id for one in case.history().recent(limit=30)}
        assert ids <= set(range(1, 25)) - {int(case.name)}
    assert {int(case.name) for case in texts.held_out} <= set(range(25, 31))


def test_changes_are_against_the_same_without_an_adapter():
    """By history; the rows without an adapter have none."""

    def measured(user, specialist, target):
        case = SimpleNamespace(user=user)
        cost = {"specialist": specialist, "steered": (target,)}
        return SimpleNamespace(case=case, size=10, **cost)

    costs = {
        (NONE, "without"): [measured("0", 20.0, 10.0), measured("1", 10.0, 10.0)],
        ("LoRA", "without"): [measured("0", 10.0, 9.0), measured("1", 5.0, 9.0)],
    }
    bare, row = rows_of(costs)
    assert bare.specialist_change is None
    assert (bare.specialist.value, row.specialist.value) == (1.5, 0.75)
    assert row.specialist_change.value == pytest.approx(-0.5)
    assert row.target_change.value == pytest.approx(-0.1)
    assert "-50.0 % (-50.0 to -50.0)" in as_table([bare, row])
    one = [measured("0", 20.0, 10.0), measured("0", 20.0, 10.0)]
    other = [measured("0", 10.0, 9.0), measured("0", 18.0, 9.0)]
    texts = rows_of({(NONE, "with"): one, ("LoRA", "with"): other})[1]
    assert texts.specialist_change.low == pytest.approx(-0.5)


@pytest.mark.slow
def test_the_measurement_runs(tmp_path, monkeypatch):
    pytest.importorskip("peft")
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    file = tmp_path / "figures.json"
    words = ["--texts", "8", "--held-out", "3", "--passes", "1", "--json", str(file)]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    body = json.loads(file.read_text())
    assert len(body["rows"]) == 8
    assert set(body["seconds"]) == {"LoRA", "LoRA, RAFT", "LoRA, both"}
