"""Figures of texts, and rows of figures."""

import pytest

from benchmarks.quality.arms import Arm
from benchmarks.quality.bench_quality import Row, rows_of, table
from benchmarks.quality.writing import Outcome, Result, scores
from decoding_core.settings import MethodSettings
from edge_app.evaluation.cases import Case
from models.prompts import Request

ARM = Arm(MethodSettings(), 0.5, 1.0)
TRUE = "the otter rode the ferry"


def case(user="u", dataset="set"):
    return Case(dataset, "post", user, "1", Request("x", "post"), lambda: None, TRUE)


def result(text, one=None, arm=ARM, **numbers):
    """A text that was written, with its scores."""
    told = {"tokens": 10, "drafted": 8, "accepted": 4, "seconds": 2.0, "down": 30}
    told |= {"rounds": 1, "up": 20, "ended": "end", **numbers}
    outcome = Outcome(text, scores=scores(text, TRUE), **told)
    return Result(one or case(), arm, outcome, 5, 2)


def test_figures_are_ratios_of_sums():
    """So a long text counts more for speed, bytes and the share kept."""
    one = result("the otter", case("u1"))
    two = result("x", case("u2"), tokens=30, drafted=32, accepted=4, seconds=3.0)
    (row,) = rows_of([one, two], 0)
    found = {name: figure.value for name, figure in row.figures.items()}
    assert found["kept"] == pytest.approx(8 / 40)
    assert found["speed"] == pytest.approx(40 / 5)
    assert found["bytes"] == pytest.approx(100 / 40)
    assert found["tokens"] == pytest.approx(20)
    assert found["nats"] == pytest.approx(4 / 10)
    assert (row.texts, row.users) == (2, 2)


def test_a_figure_without_sense_is_missing():
    """Nothing drafted: no share of it; nothing written: no figure but the nats."""
    (row,) = rows_of([result("x", drafted=0, accepted=0)], 0)
    assert "kept" not in row.figures
    (row,) = rows_of([Result(case(), ARM, None, 5, 2.0)], 0)
    assert row.figures.keys() == {"nats"}


def test_rows_keep_sets_together():
    """In the order in which sets and arms came; dashes stand where nothing is."""
    other = Arm(MethodSettings(method="generalist"), None, None)
    sets = [case(dataset=name) for name in ("b", "a", "b")]
    made = [result("x", one, arm) for one in sets for arm in (other, ARM)]
    rows = rows_of(made, 0)
    assert [(row.dataset, row.arm.method, row.texts) for row in rows] == [
        ("b", "generalist", 2),
        ("b", "steering", 2),
        ("a", "generalist", 1),
        ("a", "steering", 1),
    ]
    heading, first, *_ = table(rows)
    assert heading[:4] == ["set", "method", "threshold", "strength"]
    assert first[:5] == ["b", "generalist", "-", "-", "2"]


def test_rarer_settings_are_shown_if_one_is_not_usual():
    def said(*arms):
        rows = [Row("set", Arm(MethodSettings(), *arm), 1, 1, {}) for arm in arms]
        return [" ".join(line[2:-1]) for line in table(rows)]

    usual, rare = ("auto", 0.25, "", 20, "bm25"), (0.5, None, "", None, None)
    assert said(usual, rare) == ["threshold strength", "auto 0.25", "0.5 -"]
    assert said(usual, (0.5, None, "", 5, "noise")) == [
        "threshold strength T history",
        "auto 0.25 20 bm25",
        "0.5 - 5 noise",
    ]
