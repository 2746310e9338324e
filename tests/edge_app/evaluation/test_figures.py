"""Groups, tables and sentences; which strength and threshold are chosen, and when
nothing is; a check of a pair takes the time it was given."""

import json
import threading

import numpy as np
import pytest
from evaluation_helpers import case, measured
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoding_core.errors import ContextFullError, StoppedError
from edge_app.evaluation import tables
from edge_app.evaluation.figures import (
    RESAMPLES,
    Resamples,
    check_pair,
    in_turn,
    summarise,
    tune,
    worth_of,
)
from edge_app.evaluation.pair import Measuring, Speed
from models.files import locate
from models.prompts import Request

HOW = Measuring(strengths=(0.5, 1.0), thresholds=(0.5,))


def text(user="u", *, group="set", genre="email", size=100, b=1.5, s=1.2):
    """A measured text; figures in nats per byte, L always 1, T 0.9 and 1.1."""
    secret = {"request": Request("SECRET ask"), "background": "SECRET notes"}
    one = case(group=group, genre=genre, user=user, text="SECRET words", **secret)
    nats = {"base": size * b, "specialist": size * s, "generalist": size * 1.0}
    nats |= {"steered": (size * 0.9, size * 1.1), "kept": (20.0,)}
    return measured(one, 25, size, **nats)


def many(count=8, whose="u", **figures):
    return [text(f"{whose}{n}", size=100 + n, **figures) for n in range(count)]


def split():
    """Half of the users gain what the others lose."""
    return many(4, "u", s=1.4) + many(4, "w", s=1.6)


def test_figures_of_a_group():
    (group,) = summarise(many(), HOW)
    assert group.nats["B"].value == pytest.approx(1.5)
    assert group.changes["S - B"].relative.value == pytest.approx(-0.2)
    assert group.changes["S - B"].absolute.value == pytest.approx(-0.3)
    assert group.best == 0.5
    assert group.changes["T 1 - L"].relative.value == pytest.approx(0.1)
    assert group.kept[0.5].value == pytest.approx(0.8)
    assert (group.texts, group.users, group.tokens) == (8, 8, 200)
    verdicts = [group.changes[name].verdict for name in ("S - B", "T 1 - L")]
    assert verdicts == ["yes", "no"]
    assert summarise(split(), HOW)[0].changes["S - B"].verdict == "unclear"


def test_groups_and_all():
    """One for each set and genre, then one of all; users of two sets are two."""
    groups = summarise([text(), text(genre="review"), text(group="other")], HOW)
    names = ["set, email", "set, review", "other, email", "all"]
    assert [group.name for group in groups] == names
    assert groups[-1].users == 2


def test_tables():
    """The plain one fits into a terminal of 80 columns, the wide one has each strength;
    that of Markdown a row per group, of as many cells as its heading, whatever the sets
    are called."""
    words = tables.plain(summarise([*many(), text(genre="review")], HOW))
    assert max(map(len, words.splitlines())) <= 80
    assert "-20.0" in words
    assert "1.731" in words  # 1.2 nats in bits
    words = tables.wide(summarise(many(), HOW))
    for expected in ("T 0.5", "T 1", "threshold 0.5", "80.0 (80.0 to 80.0)"):
        assert expected in words
    words = tables.markdown(summarise([text(group="a|b"), text(genre="x")], HOW))
    counts = [line.replace("\\|", "").count("|") for line in words.splitlines()]
    assert (len(counts), len({*counts})) == (5, 1)


def test_what_the_figures_say():
    easier = "Your history makes your own texts 20 % easier to predict (20 to 20)."
    for texts, sentence in (
        (many(), easier),
        (many(s=1.503), "0.2 % harder to predict (0.2 to 0.2)."),
        (split(), "is unclear: "),
        ([text()], "cannot be told from so few texts."),
    ):
        assert sentence in tables.in_words(summarise(texts, HOW)[-1])


def test_json_holds_no_word_of_the_texts(tmp_path):
    """Settings, models with their hashes, figures and a line per text."""
    texts = many()
    models = {"specialist": locate("specialist")}
    body = tables.document(texts, summarise(texts, HOW), HOW, models, {"seed": 3})
    tables.write(tmp_path / "out.json", body)
    written = (tmp_path / "out.json").read_text()
    assert "SECRET" not in written
    again = json.loads(written)
    assert again["settings"]["strengths"] == [0.5, 1.0]
    assert again["settings"]["seed"] == 3
    assert len(again["models"]["specialist"]["sha256"]) == 64
    assert again["texts"][0]["nats"]["T 0.5"] == pytest.approx(90)
    assert again["groups"][0]["changes"]["S - B"]["better"] == "yes"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


costs = st.lists(
    st.tuples(st.integers(0, 4), st.floats(0.1, 5.0), st.integers(1, 900)),
    min_size=2,
    max_size=12,
)


@given(costs)
def test_the_figure_is_the_ratio_of_the_sums(rows):
    """Whole users are drawn."""
    users, rates, sizes = zip(*rows, strict=True)
    size = np.array(sizes, float)
    resamples = Resamples(users, 0)
    estimate = resamples.ratio(size * rates, size)
    assert_allclose(estimate.value, (size * rates).sum() / size.sum())
    assert min(rates) - 1e-9 <= estimate.low <= estimate.high <= max(rates) + 1e-9
    assert resamples.weights.shape == (RESAMPLES, len(users))
    if len(set(users)) == 1:
        assert resamples.units == len(users)
        return
    assert resamples.units == len(set(users))
    for place, user in enumerate(users):
        first = resamples.weights[:, users.index(user)]
        assert (resamples.weights[:, place] == first).all()


def test_the_interval_covers():
    """Of figures whose truth is known, about 95 % of the intervals hold it."""
    rng, held = np.random.default_rng(5), 0
    users = np.repeat(range(30), 3).tolist()
    for seed in range(100):
        nats = np.repeat(rng.normal(2.0, 0.5, 30), 3) + rng.normal(0, 0.1, 90)
        estimate = Resamples(users, seed).ratio(nats, np.ones(90))
        held += estimate.low <= 2.0 <= estimate.high
    assert 86 <= held <= 100


TUNING = Measuring(strengths=(0.5, 1.0, 2.0), thresholds=(1.0, 0.5, 0.1))
FLAT = [(100.0, 100.0, 100.0)] * 3
KEPT = (0.2, 0.4, 0.8)


def by_one_writer(count, steered, emitted, kept, noise=0.0):
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
    found = tune(by_one_writer(*args, **options), TUNING, 1.0, 0.5, 0)
    return found.strength.chosen, found.threshold.chosen


def test_a_clearly_better_strength_is_chosen():
    emitted = [(100, 100, 100), (100, 100, 100), (90, 100, 99.0)]
    assert chosen(20, (99, 100, 95), emitted, KEPT, noise=0.1) == (2.0, 1.0)


def test_what_may_be_chance_changes_nothing():
    """An interval that holds zero is unclear, however good the mean looks; and few
    texts choose nothing."""
    for seed in range(3):
        made = by_one_writer(20, (99.5, 100, 99.5), FLAT, (0.4, 0.4, 0.4), noise=8.0)
        found = tune(made, TUNING, 1.0, 0.5, seed)
        assert (found.strength.chosen, found.threshold.chosen) == (1.0, 0.5)
        words = tables.choice_in_words(found, automatic=False)
        assert "is kept" in words[0]
        assert "is kept" in words[1]
    made = by_one_writer(5, (100, 100, 50), [(50, 100, 50)] * 3, KEPT, noise=0.1)
    found = tune(made, TUNING, 1.0, 0.5, 0)
    assert (found.strength.chosen, found.threshold.chosen) == (1.0, 0.5)
    assert not found.enough
    (sentence,) = tables.choice_in_words(found, automatic=False)
    assert sentence.startswith("5 texts are too few")


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


def test_tables_have_bars_where_there_is_room():
    found = tune(by_one_writer(20, (110, 100, 105), FLAT, KEPT), TUNING, 1.0, 0.5, 0)
    both = (found.strength, [0, 24, 0, 12]), (found.threshold, [0, 5, 10, 19])
    for curve, bars in both:
        wide = tables.curve_table(curve, 100, "#", str).splitlines()
        narrow = tables.curve_table(curve, 40, "#", str).splitlines()
        assert [line.count("#") for line in wide] == bars
        assert all(len(line) <= 100 for line in wide)
        assert "#" not in "".join(narrow)
        assert [line.split()[0] for line in narrow] == [one.split()[0] for one in wide]


LETTERS = [case(name=name) for name in "abc"]


class ScriptedPair:
    """Measures at once, until `after` texts; then the time is over."""

    def __init__(self, stop, after=99, full=()):
        self.stop, self.after, self.full, self.seen = stop, after, full, []

    def speeds(self):
        return Speed(100.0, 10.0, 0.5), Speed(50.0, 5.0, 1.0)

    def measure(self, one, how):
        if len(self.seen) >= self.after:
            self.stop.set()
            raise StoppedError("over")
        self.seen.append(one.name)
        if one.name in self.full:
            raise ContextFullError("no room")
        return measured(one, steered=(185.0,))


def check(cases, **pair):
    stop, told = threading.Event(), []
    scripted = ScriptedPair(stop, **pair)
    found = check_pair(scripted, cases, HOW, 60.0, stop, lambda *a: told.append(a))
    return found, scripted, told


def test_texts_are_measured_until_the_time_is_over():
    """What was measured counts."""
    found, pair, told = check(LETTERS, full=("b",))
    assert pair.seen == ["c", "b", "a"]
    assert found.worth.texts == 2
    assert found.specialist.step == 10.0
    assert told[0] == (0, 60)
    found, _, _ = check(LETTERS, after=1)
    assert found.worth.texts == 1
    assert found.worth.steering.low is None  # one text has no interval
    nothing, _, _ = check(LETTERS, after=0)
    assert nothing.worth is None


def test_kinds_take_turns_the_newest_first():
    cases = [*LETTERS, case(name="d", genre="review"), case(name="e", genre="review")]
    assert [one.name for one in in_turn(cases)] == ["e", "c", "d", "b", "a"]


def test_worth_is_nats_a_text_with_an_interval():
    texts = [measured(case(), steered=(185.0 + at,)) for at in range(8)]
    worth = worth_of(texts)
    assert worth.steering.value == pytest.approx(np.mean([at - 5.0 for at in range(8)]))
    assert worth.steering.low < worth.steering.value < worth.steering.high
    assert (worth.history.value, worth.kept.value) == (-20.0, pytest.approx(0.7))
