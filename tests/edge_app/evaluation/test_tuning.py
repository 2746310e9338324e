"""Which strength and threshold are chosen, and when nothing is."""

import numpy as np
from evaluation_helpers import case, measured
from numpy.testing import assert_allclose

from decoding_core.methods import steering
from decoding_core.sampling import log_softmax
from edge_app.evaluation import tables
from edge_app.evaluation.figures import tune
from edge_app.evaluation.pair import Measuring, Readers, read
from tests.exact import emitted_by_server, row_of, steered
from tests.fakes import HashEngine

STRENGTHS, THRESHOLDS = (0.5, 1.0, 2.0), (1.0, 0.5, 0.1)
HOW = Measuring(strengths=STRENGTHS, thresholds=THRESHOLDS)


def test_what_is_emitted_costs_what_the_method_gives_it():
    asked = {"base": (1, 2), "small": (7, 1, 2), "large": (1, 2)}
    thresholds, text = (0.0, 0.3, 1.0, 50.0), [3, 1, 4, 1, 5]
    readers = Readers(*map(HashEngine, asked), (1, 2), (7, 1, 2))
    found = read(readers, text, STRENGTHS, thresholds).emitted(thresholds)
    assert found.shape == (3, 4, 5)
    for place, token in enumerate(text):
        rows = (HashEngine(n).evaluate([*p, *text[:place]]) for n, p in asked.items())
        base, small, large = (log_softmax(row[0].astype(float)) for row in rows)
        for row, column in np.ndindex(3, 4):
            method = steering.Steering(STRENGTHS[row], "stochastic")
            keep = method.acceptance(large, base, thresholds[column])
            target = steered(small, large, base, STRENGTHS[row])
            out = emitted_by_server(keep, np.exp(small), row_of(large, base), target)
            cost = -np.log(out[token])
            assert_allclose(found[row, column, place], cost, rtol=1e-6)


def texts(count, steered, emitted, kept, noise=0.0):
    """So many texts of 100 bytes and 10 tokens by one writer."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(count):
        shift = 1 + noise * rng.normal()
        costs = tuple(rng.normal(value, noise) for value in steered)
        rows = (tuple(rng.normal(value, noise) for value in row) for row in emitted)
        shares = tuple(10 * share * shift for share in kept)
        one = case(user="you", name=str(number))
        found.append(measured(one, steered=costs, kept=shares, emitted=tuple(rows)))
    return found


def chosen(*args, **options):
    found = tune(texts(*args, **options), HOW, 1.0, 0.5, 0)
    return found.strength.chosen, found.threshold.chosen


FLAT = [(100.0, 100.0, 100.0)] * 3
KEPT = (0.2, 0.4, 0.8)


def test_a_clearly_better_strength_is_chosen():
    emitted = [(100, 100, 100), (100, 100, 100), (90, 100, 99.0)]
    assert chosen(20, (99, 100, 95), emitted, KEPT, noise=0.1) == (2.0, 1.0)


def test_noise_changes_nothing():
    """An interval that holds zero is unclear, however good the mean looks."""
    for seed in range(3):
        made = texts(20, (99.5, 100, 99.5), FLAT, (0.4, 0.4, 0.4), noise=8.0)
        found = tune(made, HOW, 1.0, 0.5, seed)
        assert (found.strength.chosen, found.threshold.chosen) == (1.0, 0.5)
        words = tables.choice_in_words(found, automatic=False)
        assert "is kept" in words[0]
        assert "is kept" in words[1]


def test_a_faster_threshold_may_cost_a_hundredth():
    """And no more; a slower one has to save as much. One that keeps no more is not
    chosen, though it costs nothing."""
    for emitted, kept, threshold in (
        ((100, 100, 100.5), KEPT, 0.1),
        ((100, 100, 102.0), KEPT, 0.5),
        ((98.0, 100, 102.0), KEPT, 1.0),
        ((99.5, 100, 102.0), KEPT, 0.5),
        ((100, 100, 100), (0.4, 0.4, 0.4), 0.5),
    ):
        found = chosen(20, (100, 100, 100), [emitted] * 3, kept, noise=0.05)
        assert found == (1.0, threshold), emitted


def test_few_texts_choose_nothing():
    made = texts(5, (100, 100, 50), [(50, 100, 50)] * 3, KEPT, noise=0.1)
    found = tune(made, HOW, 1.0, 0.5, 0)
    assert (found.strength.chosen, found.threshold.chosen) == (1.0, 0.5)
    assert not found.enough
    (sentence,) = tables.choice_in_words(found, automatic=False)
    assert sentence.startswith("5 texts are too few")


def test_tables_have_bars_where_there_is_room():
    found = tune(texts(20, (110, 100, 105), FLAT, KEPT), HOW, 1.0, 0.5, 0)
    both = (found.strength, [0, 24, 0, 12]), (found.threshold, [0, 5, 10, 19])
    for curve, bars in both:
        wide = tables.curve_table(curve, 100, "#", str).splitlines()
        narrow = tables.curve_table(curve, 40, "#", str).splitlines()
        assert [line.count("#") for line in wide] == bars
        assert all(len(line) <= 100 for line in wide)
        assert "#" not in "".join(narrow)
        assert [line.split()[0] for line in narrow] == [one.split()[0] for one in wide]
