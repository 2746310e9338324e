"""`specsteer lab bench privacy` from its options to its page."""

import json
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from benchmarks.privacy.attack import Bound
from benchmarks.privacy.bench_guard import passes
from benchmarks.privacy.runner import chance_of_first
from benchmarks.privacy.worlds import planted
from edge_app.cli import cli


def run(*arguments):
    words = ["lab", "bench", "privacy", *map(str, arguments)]
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.mark.parametrize("limit", [0.0, 0.3, 2.0])
def test_no_token_tells_more_than_is_left(limit):
    """Of a budget, or of the bound of a token in both directions."""
    rng = np.random.default_rng(3)
    own, without = rng.dirichlet(np.full(9, 0.3)), rng.dirichlet(np.ones(9))
    for bound, lowest in ((Bound(limit, None), -np.inf), (Bound(None, limit), -limit)):
        told = np.log(bound.mixture(own, without, 0.0) / without)
        assert told.max() <= limit + 1e-9
        assert told.min() >= lowest - 1e-9
    assert_allclose(Bound(limit, None).mixture(own, without, limit + 1.0), without)
    assert_allclose(Bound(99.0, None).mixture(own, without, 0.0), own)


def test_secrets_are_read_however_they_are_spaced():
    for one in planted(13, 0):
        assert one.secret not in one.task.request.text
        assert sum(one.secret in letter.text for letter in one.writer.letters) == 1
        assert one.stands_in(f"It is {one.secret.upper().replace(' ', '  ')}.")


def test_what_the_guard_holds_of_planted_secrets():
    """Of thirteen kinds those that a form or a title gives away, in whatever script."""
    secrets = list(planted(52, 3))
    passing = {one.kind for one in secrets if passes(one)}
    assert len({one.kind for one in secrets}) == 13
    assert passing <= {"diagnosis", "code word"}
    assert not passes(replace(secrets[0], draft="Nothing of it."))
    assert passes(replace(secrets[0], secret="no secret", draft="It is no secret."))


@pytest.mark.slow
def test_a_small_run_finds_writers_and_is_kept(tmp_path):
    """With the embedded pair; run again, it gives the same figures from
    what was kept."""
    file = tmp_path / "figures.json"
    options = (
        *("--count", 2, "--texts", 1, "--histories", 4, "--letters", 4),
        *("--secrets", 2, "--max-tokens", 30, "--tokens", 60, "--markdown"),
        *("--conditions", "nothing,lossless,no history", "--threads", 1),
        *("--cache", tmp_path, "--json", file),
    )
    done = run(*options)
    assert done.exit_code == 0, done.output
    body = json.loads(file.read_text())
    rows = {row["condition"]: row for row in body["rows"]}
    assert rows["nothing"]["nats"] > 5.0
    assert rows["lossless"]["nats"] > rows["no history"]["nats"]
    assert rows["no history"]["nats"] < 0.0  # a wrong guess, on the mean
    assert "| nothing |" in done.stdout
    kept = next(tmp_path.glob("privacy-*.jsonl")).stat().st_size
    again = run(*options)
    assert again.exit_code == 0
    assert json.loads(file.read_text())["rows"] == body["rows"]
    assert next(tmp_path.glob("privacy-*.jsonl")).stat().st_size == kept


def test_the_chance_among_fewer_is_that_of_every_drawing():
    """By enumerating which of five others stand beside the true one."""
    placed = (0, 0), (1, 0), (0, 2), (2, 2), (5, 0)
    for among, (above, tied) in product((2, 3, 4, 6), placed):
        others = [1] * above + [0] * tied + [-1] * (5 - above - tied)
        shares = [
            0.0 if 1 in some else 1 / (1 + some.count(0))
            for some in combinations(others, among - 1)
        ]
        found = chance_of_first(above, tied, 5, among)
        assert_allclose(found, np.mean(shares), err_msg=f"{among, above, tied}")
