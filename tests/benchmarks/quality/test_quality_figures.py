"""Figures of texts, and rows of figures."""

import math

import numpy as np
import pytest

from benchmarks.quality.arms import Arm
from benchmarks.quality.report import (
    Row,
    macro_f1,
    markdown,
    plain,
    rows_of,
    settings_of,
)
from benchmarks.quality.sets import Query
from benchmarks.quality.writing import (
    Outcome,
    Result,
    meteor,
    scores,
    stars,
)
from decoding_core.settings import MethodSettings

ARM = Arm(MethodSettings(), 0.5, 1.0)


def query(kind="text", text="the otter rode the ferry", user="u", **changes):
    """A query that asks for nothing."""
    words = {"dataset": "set", "name": "1", "asked": "x", "prompts": None, **changes}
    return Query(user=user, kind=kind, source="s", text=text, **words)


def result(text, one=None, arm=ARM, **numbers):
    """A text that was written, with its scores."""
    one = one or query()
    told = {"tokens": 10, "drafted": 8, "accepted": 4, "seconds": 2.0, "down": 30}
    told |= {"rounds": 1, "up": 20, "ended": "end", **numbers}
    return Result(one, arm, Outcome(text, scores=scores(one, text), **told), 5, 2)


def test_rouge_counts_words_and_their_order():
    """F-measures worked out by hand: 3 of 5 words both ways; 2 in order."""
    found = scores(query(), "ferry otter the quay lamp")
    assert found["rouge1"] == pytest.approx(3 / 5)
    assert found["rougeL"] == pytest.approx(2 / 5)


def test_meteor_matches_stems_and_no_synonyms():
    """By its formula: P = R = 1, one chunk of three; a synonym is no match."""
    whole = 1.0 - 0.5 * (1 / 3) ** 3
    assert meteor("otters ride ferries", "otter rides ferry") == pytest.approx(whole)
    assert meteor("big", "large") == 0.0


def test_the_same_text_is_the_best():
    """But for METEOR's penalty of a single chunk."""
    found = scores(query(), "the otter rode the ferry\n")
    assert found["rouge1"] == found["rougeL"] == 1.0
    assert found["meteor"] == pytest.approx(1.0 - 0.5 / 5**3)


def test_labels_must_be_exact():
    """But for spaces around them."""
    choice = query("choice", "[1]", labels=("[1]", "[2]"))
    assert scores(choice, " [1]\n") == {"accuracy": 1.0}
    assert scores(choice, "[1], I think") == {"accuracy": 0.0}


@pytest.mark.parametrize(
    ("text", "true", "expected"),
    [
        ("4", "5", 4.0),
        (" 3.5 ", "5", 3.5),
        ("five", "5", 1.0),
        ("nan", "2", 5.0),
        ("inf", "4", 1.0),
        ("", "1", 5.0),
    ],
)
def test_ratings_that_are_none_count_as_far_off(text, true, expected):
    """As in LaMP."""
    assert stars(text.strip(), true) == expected


def test_f1_is_that_of_each_label_averaged():
    """By hand: a has P 1/2, R 1, F 2/3; b has F 0; c is nobody's, so 0."""
    (found,) = macro_f1(["a", "b"], ["a", "a"], ["a", "b", "c"], np.ones((1, 2)))
    assert found == pytest.approx((2 / 3) / 3)


def test_weights_of_f1_are_repetitions():
    """An answer that counts twice is as good as two."""
    true, given = ["a", "b", "b"], ["a", "a", "b"]
    (weighed,) = macro_f1(true, given, ["a", "b"], np.array([[1.0, 2.0, 1.0]]))
    more = [*true, "b"], [*given, "a"]
    (repeated,) = macro_f1(*more, ["a", "b"], np.ones((1, 4)))
    assert weighed == pytest.approx(repeated)


def test_ratings_give_mae_and_rmse():
    """Errors of 1 and 3: 2 and the root of 5."""
    texts = [("4", "5", "u1"), ("5", "2", "u2")]
    made = [result(t, query("rating", true, user)) for t, true, user in texts]
    (row,) = rows_of(made, 0)
    assert row.figures["mae"].value == pytest.approx(2.0)
    assert row.figures["rmse"].value == pytest.approx(math.sqrt(5))
    assert row.figures["rmse"].low <= math.sqrt(5) <= row.figures["rmse"].high
    assert "rouge1" not in row.figures


def test_figures_are_ratios_of_sums():
    """So a long text counts more for speed, bytes and the share kept."""
    one = result("the otter", query(user="u1"))
    two = result("x", query(user="u2"), tokens=30, drafted=32, accepted=4, seconds=3.0)
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
    silent = Result(query(), ARM, None, 5, 2.0)
    (row,) = rows_of([silent], 0)
    assert row.figures.keys() == {"nats"}


def test_rows_keep_sets_together():
    """In the order in which sets and arms came."""
    other = Arm(MethodSettings(method="generalist"), None, None)
    sets = [query(dataset=name) for name in ("b", "a", "b")]
    made = [result("x", one, arm) for one in sets for arm in (other, ARM)]
    rows = [(row.dataset, row.arm.method, row.texts) for row in rows_of(made, 0)]
    assert rows == [
        ("b", "generalist", 2),
        ("b", "steering", 2),
        ("a", "generalist", 1),
        ("a", "steering", 1),
    ]


def test_tables_show_what_there_is():
    """A column for each figure that some row has; dashes elsewhere."""
    text = result("the otter")
    label = result("[1]", query("choice", "[1]", dataset="a|b", labels=("[1]",)))
    rows = rows_of([text, label], 0)
    heading, first, second = plain(rows).splitlines()
    assert heading.split()[:4] == ["set", "method", "threshold", "strength"]
    assert "METEOR (no syn.)" in heading
    assert "MAE" not in heading
    assert len(heading) == len(first)
    assert " - " in second
    assert markdown(rows).splitlines()[-1].startswith("| a\\|b | steering | 0.5 | 1 |")


def test_settings_in_words():
    """A dash where a setting makes no difference; the rarer ones only where one is not
    the usual."""

    def said(*arms):
        settings = MethodSettings()
        return settings_of(
            [Row("set", Arm(settings, *arm), 1, 1, {}) for arm in arms],
        )

    shown = {"threshold": ["auto", "0.5"], "strength": ["0.25", "-"]}
    usual = ("auto", 0.25, "", 20, "bm25"), (0.5, None, "", None, None)
    assert said(*usual) == shown
    other = (0.5, None, "", 5, "noise")
    assert said(usual[0], other) == shown | {
        "T": ["20", "5"],
        "history": ["bm25", "noise"],
    }
