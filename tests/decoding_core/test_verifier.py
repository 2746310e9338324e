from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import RATIO_UNIT, DraftBlock, OpenSession, digest
from decoding_core.sampling import TIED, ArrayRows, log_softmax
from decoding_core.settings import WINDOW, Terms
from decoding_core.verifier import EngineVerifier, count_kept, role_of, verify
from tests.fakes import HashEngine


def opened(terms=None, vocabulary_id="fake"):
    verifier = EngineVerifier(HashEngine("large"), HashEngine("base"))
    verifier.open(OpenSession((1, 2, 3), (), vocabulary_id, terms or Terms("steering")))
    return verifier


def block(position=0, settled=(), drafted=(4, 5), text=(), threshold=0.5):
    check = digest(text[:position])
    return DraftBlock(0, 0, position, check, settled, drafted, threshold)


def test_the_greedy_rule_is_applied_position_by_position():
    """The count is that of the first token whose ratio is not above the threshold by
    more than a tie; the sum is that of the ratios up to it, in whole units, so that it
    does not depend on where blocks end."""
    rng = np.random.default_rng(0)
    role = role_of(Terms("steering", draft_limit=6))
    for _ in range(200):
        large, base = rng.normal(size=(2, 6, 11))
        drafted = tuple(int(x) for x in rng.integers(0, 11, 6))
        verdict = verify(block(drafted=drafted), large, base, role)
        ratios = np.exp(log_softmax(large) - log_softmax(base))
        ratio = ratios[np.arange(6), drafted]
        assert verdict.accepted == [*(ratio > 0.5 * np.exp(TIED)), False].index(False)
        units = np.rint(ratio[: verdict.accepted + 1] / RATIO_UNIT)
        assert verdict.ratio_sum == units.sum() * RATIO_UNIT


def verified(drafted, large, base, **terms):
    terms = Terms(**{"method": "steering", "draft_limit": 1, **terms})
    one = block(drafted=(drafted,), threshold=1e5)
    return verify(one, large, base, role_of(terms))


def test_of_candidates_as_likely_as_the_last_the_lowest_are_sent():
    rng = np.random.default_rng(3)
    large = np.repeat([[2.0, 1.0, 0.0]], 100, axis=0).reshape(1, -1).repeat(2, axis=0)
    for _ in range(20):
        nudged = large + rng.integers(-3, 4, large.shape) * np.spacing(np.float32(16))
        verdict = verified(299, nudged, nudged, candidates=150)
        expected = [*range(0, 300, 3), *range(1, 150, 3), 299]
        assert sorted(expected) == verdict.rows[0].token_ids.tolist()


@pytest.mark.parametrize("method", ["lossless", "coupled", "speculative"])
def test_where_the_device_decides_the_candidates_do_not_depend_on_the_draft(method):
    large, base = np.random.default_rng(1).normal(size=(2, 2, 500))
    unlikely = int(large[0].argmin())
    verdict = verified(unlikely, large, base, method=method, candidates=10)
    assert [len(row.token_ids) for row in verdict.rows] == [10]
    assert unlikely not in verdict.rows[0].token_ids


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_tail_is_never_too_small(seed, strength):
    """The largest L/B^strength outside, rounded up to a float32."""
    large, base = np.random.default_rng(seed).normal(size=(2, 2, 50))
    row = verified(
        3, large, base, method="lossless", candidates=10, strength=strength
    ).rows[0]
    contrast = (log_softmax(large) - strength * log_softmax(base))[0]
    largest = np.delete(contrast, row.token_ids).max()
    assert largest <= row.tail_log_ratio <= largest + 1e-5
    assert row.tail_log_ratio == np.float32(row.tail_log_ratio)


@pytest.mark.parametrize("method", ["steering", "rejection"])
def test_the_noise_of_an_epoch(method):
    """Rejection has one of its own in each, and is sent a count alone; the texts of
    other methods do not depend on how often they were refused."""
    verifier, alone = opened(Terms(method, "stochastic", 1.0)), method == "rejection"
    verdicts = []
    for epoch in range(60):
        one = replace(block(drafted=(4, 5, 6), threshold=9.0), epoch=epoch, round=epoch)
        verdicts.append(verifier.verify(one))
    assert all((verdict.rows == ()) == alone for verdict in verdicts)
    assert (len({verdict.accepted for verdict in verdicts}) > 1) == alone


def test_the_coupled_method_gets_a_row_at_every_position():
    verdict = opened(Terms("coupled")).verify(block())
    assert len(verdict.rows) == 2
    assert verdict.ratio_sum == 0.0


def test_with_the_base_elsewhere_the_server_gives_its_opinion_alone():
    """A row with every drafted token at every position, no count and no base."""
    verifier = EngineVerifier(HashEngine("large"))
    terms = Terms("steering", candidates=3, base="edge")
    verifier.open(OpenSession((1, 2, 3), (), "fake", terms))
    verdict = verifier.verify(block(drafted=(4, 5)))
    assert verdict.accepted == 0
    assert len(verdict.rows) == 2
    assert all(row.base_logprobs is None for row in verdict.rows)
    for row, token in zip(verdict.rows, (4, 5), strict=True):
        assert token in row.token_ids
    with pytest.raises(MessageError, match="without the base"):
        _ = verdict.rows[0].base


def test_without_a_base_no_method_is_verified_that_needs_one():
    verifier = EngineVerifier(HashEngine("large"))
    with pytest.raises(MessageError, match="needs a base"):
        verifier.open(OpenSession((1, 2, 3), (), "fake", Terms("steering")))
    verifier.open(OpenSession((1, 2, 3), (), "fake", Terms("speculative")))


def test_a_block_that_does_not_follow_is_refused():
    verifier = opened()
    verifier.verify(block(drafted=(4, 5)))
    with pytest.raises(MessageError, match="follow"):
        verifier.verify(block(1, (), (7,), text=(8,)))


def test_another_vocabulary_is_refused():
    with pytest.raises(VocabularyMismatchError):
        opened(vocabulary_id="other")


def test_a_block_that_is_kept_whole_has_a_row_where_a_bonus_is_drawn():
    """Else there is none: nothing is drawn after it."""
    whole = replace(block(drafted=(4, 5)), threshold=0.0)
    found = [
        opened(Terms("steering", bonus=bonus)).verify(whole) for bonus in (False, True)
    ]
    assert [verdict.accepted for verdict in found] == [2, 2]
    assert [len(verdict.rows) for verdict in found] == [0, 1]


def test_the_next_text_is_read_from_where_it_differs_from_the_last():
    large, base = HashEngine("large"), HashEngine("base")
    verifier = EngineVerifier(large, base)
    for prompt in ((1, 2, 3), (1, 2, 8)):
        verifier.open(OpenSession(prompt, (), "fake", Terms("steering")))
        verifier.verify(block())
        verifier.close()
        assert large.read == base.read == [*prompt, 4]

    assert large.evaluations == base.evaluations == [4, 2]


@given(st.lists(st.integers(0, 16), max_size=12), st.data())
def test_the_sums_of_a_text_do_not_depend_on_where_blocks_end(drafted, data):
    """To the last bit, in any order of adding; up to the first refused token."""

    def told(ends):
        verifier = opened(Terms("steering", "stochastic", 0.8, draft_limit=12))
        total, refused, start = 0.0, False, 0
        for end in [*ends, len(drafted)]:
            one = block(start, (), tuple(drafted[start:end]), drafted, threshold=0.3)
            verdict = verifier.verify(one)
            refused, start = verdict.accepted < len(one.drafted), end
            total += verdict.ratio_sum
            if refused:
                break
        return total

    ends = data.draw(st.lists(st.integers(0, len(drafted)), unique=True).map(sorted))
    assert told(ends) == told([])


def following(count, first=0, epoch=0, text=()):
    """Blocks that each follow the one before as if that were kept whole."""
    text = list(text)
    for number in range(first, first + count):
        one = block(len(text), (), (4, 5), text, threshold=0.0)
        yield replace(one, epoch=epoch, round=number)
        text += (4, 5)


def test_verdicts_come_in_the_order_of_the_blocks():
    verifier = opened()
    with pytest.raises(MessageError, match="before submit"):
        verifier.collect()
    *blocks, more = following(WINDOW + 1)
    for one in blocks:
        verifier.submit(one)
    with pytest.raises(MessageError, match="too many"):
        verifier.submit(more)
    assert not verifier.ready()
    verdicts = [verifier.collect() for _ in blocks]
    assert [verdict.round for verdict in verdicts] == [0, 1, 2, 3]
    assert all(verdict.accepted == 2 for verdict in verdicts)
    verifier.submit(more)
    assert verifier.collect().round == WINDOW


def test_a_block_of_another_epoch_voids_those_that_wait():
    verifier = opened()
    for one in following(WINDOW):
        verifier.submit(one)
    assert verifier.collect().round == 0
    (after,) = following(1, first=WINDOW, epoch=1, text=(4,))
    verifier.submit(after)
    verdict = verifier.collect()
    assert (verdict.epoch, verdict.round) == (1, WINDOW)
    with pytest.raises(MessageError, match="before submit"):
        verifier.collect()


def test_an_error_takes_all_blocks_out_of_the_window():
    """They may be submitted again; another text takes them out too."""
    verifier = opened()
    verifier.submit(block(1, (), (7,), text=(8,)))
    verifier.submit(block(2, (), (7,), text=(8, 7)))
    with pytest.raises(MessageError, match="does not follow"):
        verifier.collect()
    with pytest.raises(MessageError, match="before submit"):
        verifier.collect()
    verifier.submit(block(drafted=(4, 5)))
    verifier.open(OpenSession((1, 2, 3), (), "fake", Terms("steering")))
    with pytest.raises(MessageError, match="before submit"):
        verifier.collect()


class Frugal:
    """Rows on another machine: what is handed out is counted."""

    def __init__(self, logits):
        self.rows, self.handed_out = ArrayRows(logits), 0

    def __len__(self):
        return len(self.rows)

    @property
    def vocabulary_size(self):
        return self.rows.vocabulary_size

    def _hand_out(self, found):
        self.handed_out += np.size(found)
        return found

    def log_sum_exps(self, temperature):
        return self._hand_out(self.rows.log_sum_exps(temperature))

    def at(self, rows, token_ids):
        return self._hand_out(self.rows.at(rows, token_ids))

    def likeliest_ids(self, row, count, tied, base=None, weight=0.0):
        base = base and base.rows
        return self._hand_out(self.rows.likeliest_ids(row, count, tied, base, weight))

    def largest_besides(self, row, token_ids, base=None, weight=0.0):
        base = base and base.rows
        return self._hand_out(self.rows.largest_besides(row, token_ids, base, weight))


class Whole(Frugal):
    """And can be had whole."""

    def whole(self):
        return self.rows.logits


@pytest.mark.parametrize(
    ("method", "rule", "elsewhere"),
    [
        ("steering", "generalist", "both"),
        ("steering", "contrast", "both"),
        ("steering", "contrast", "generalist"),
        ("steering", "contrast", "base"),
        ("lossless", "generalist", "both"),
        ("speculative", "generalist", "both"),
        ("rejection", "generalist", "both"),
    ],
)
def test_rows_that_stay_where_they_are_give_the_same_verdict(method, rule, elsewhere):
    """And hand out some numbers for each candidate, not the vocabulary, but if one
    engine is here: then the rows of the other are had whole."""
    role = role_of(Terms(method, "stochastic", 0.7, candidates=5, candidate_rule=rule))
    large, base = np.random.default_rng(3).normal(0, 2, (2, 4, 9000)).astype("f4")
    one = block(drafted=(4, 5, 6), threshold=0.9)
    rows = {"generalist": large, "base": base if role.uses_base else None}
    far = {
        name: logits
        if logits is None or elsewhere not in ("both", name)
        else (Frugal if elsewhere == "both" else Whole)(logits)
        for name, logits in rows.items()
    }

    plain = verify(one, *rows.values(), role)
    found = verify(one, *far.values(), role)

    assert found.accepted == plain.accepted
    assert found.ratio_sum == plain.ratio_sum
    for here, there in zip(plain.rows, found.rows, strict=True):
        for name in ("token_ids", "generalist_logprobs", "base_logprobs"):
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
        assert here.tail_log_ratio == there.tail_log_ratio
    frugal = (logits for logits in far.values() if type(logits) is Frugal)
    assert all(logits.handed_out < 100 for logits in frugal)


def plainly_verified(one, large, base, role):
    """The verdict by its definition, over whole rows of float64 log-probabilities."""
    temperature, weight = role.terms.temperature, role.method.delta_weight
    large = log_softmax(large.astype(float), temperature)
    base = log_softmax(base.astype(float), temperature)
    at = np.arange(len(one.drafted)), np.array(one.drafted, int)
    kept, rows = 0, []
    if role.decides:
        kept, _ = count_kept(one, large[at], base[at], role)
    for i in role.positions(kept, len(one.drafted)):
        ranked = large[i]
        if role.terms.candidate_rule == "contrast":
            ranked = large[i] - weight * base[i]
        ids = set(np.argsort(-ranked)[: role.terms.candidates].tolist())
        if role.adds_draft:
            ids.update(one.drafted[i : i + 1])
        ids = sorted(ids)
        tail = np.delete(large[i] - weight * base[i], ids).max()
        rows.append((ids, large[i][ids], base[i][ids], tail))
    return kept, rows


@pytest.mark.parametrize("rule", ["generalist", "contrast"])
@pytest.mark.parametrize("method", ["steering", "lossless"])
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.sampled_from([0.5, 1.0, 1.7]),
)
def test_a_verdict_is_that_of_the_plain_formulas(
    method, rule, seed, temperature, strength
):
    """From the few rows and columns that it looks at, in float32."""
    terms = Terms(method, "stochastic", temperature, seed, 20, rule, strength, 3)
    role = role_of(terms)
    rng = np.random.default_rng(seed)
    large, base = rng.normal(0, 3, (2, 4, 3000)).astype("f4")
    one = block(drafted=tuple(int(i) for i in rng.integers(0, 3000, 3)))

    found = verify(one, large, base, role)

    kept, rows = plainly_verified(one, large, base, role)
    assert found.accepted == kept
    for row, (ids, generalist, of_base, tail) in zip(found.rows, rows, strict=True):
        # Two that are all but tied may change places at the last of the candidates.
        assert len(row.token_ids) == len(ids)
        if row.token_ids.tolist() != ids:
            continue
        np.testing.assert_allclose(row.generalist_logprobs, generalist, atol=5e-6)
        np.testing.assert_allclose(row.base_logprobs, of_base, atol=5e-6)
        assert tail - 5e-6 <= row.tail_log_ratio <= tail + 5e-5
