"""The measure of cleaning: what it asks for, and that it can fail."""

import pytest

from benchmarks.store.bench_cleaning import WRITTEN, Case, read_cases, score, words
from tests.mails import generated

HANDMADE = {case.name: case for case in read_cases(WRITTEN)}
GENERATED = list(generated(390, seed=5))


@pytest.mark.parametrize("name", HANDMADE)
def test_a_written_mail_gives_exactly_its_own_words(name):
    """Each has one right answer."""
    found = score(HANDMADE[name])

    assert words(found.text) == words(found.case.own)


def test_the_generated_set_meets_the_aim():
    """95 % exact, 1 % of own words lost, 1 % of others' words left."""
    scores = [score(case) for case in GENERATED]

    exact = sum(one.exact for one in scores) / len(scores)
    lost = sum(one.lost for one in scores) / sum(one.own for one in scores)
    left = sum(one.left for one in scores) / sum(one.others for one in scores)

    assert exact >= 0.95
    assert lost <= 0.01
    assert left <= 0.01


def test_lost_and_left_are_counted_in_words():
    for own, lost, left in (
        ("one two three", 0, 0),
        ("one two three four", 1, 0),
        ("one two", 0, 1),
        ("one deux three", 1, 1),
    ):
        found = score(Case("x", "one two three", "", own))
        assert (found.lost, found.left) == (lost, left)
        assert found.exact == (not lost and not left)
    assert words("报告 ok 好") == ["报", "告", "ok", "好"]
