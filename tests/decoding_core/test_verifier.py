import numpy as np
import pytest

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.judging import BASE_CANDIDATES, judge
from decoding_core.messages import DraftBlock, OpenSession, Terms, digest
from decoding_core.methods import build_for_server
from decoding_core.sampling import log_softmax
from decoding_core.verifier import EngineVerifier
from tests.fakes import HashEngine


def opened(terms=None, vocabulary_id="fake"):
    verifier = EngineVerifier(HashEngine("large"), HashEngine("base"))
    verifier.open(OpenSession((1, 2, 3), (), vocabulary_id, terms or Terms("steering")))
    return verifier


def block(position=0, settled=(), drafted=(4, 5), text=()):
    return DraftBlock(0, 0, position, digest(text[:position]), settled, drafted)


def test_the_greedy_rule_is_applied_position_by_position():
    """The count is that of the first token whose ratio is not above the threshold."""
    rng = np.random.default_rng(0)
    terms = Terms("steering", threshold=0.5, draft_limit=6)
    for _ in range(200):
        large, base = rng.normal(size=(2, 7, 11))
        drafted = tuple(int(x) for x in rng.integers(0, 11, 6))
        verdict = judge(
            block(drafted=drafted), large, base, build_for_server(terms), terms
        )
        ratio = np.exp(log_softmax(large) - log_softmax(base))
        kept = [ratio[i, token] > 0.5 for i, token in enumerate(drafted)]
        assert verdict.accepted == [*kept, False].index(False)


def test_a_row_holds_the_likeliest_the_draft_and_some_by_base():
    """Top-K by the generalist, the refused token, a few by the base."""
    rng = np.random.default_rng(1)
    large, base = rng.normal(size=(2, 2, 500))
    terms = Terms("steering", threshold=1e5, candidates=10, draft_limit=1)
    drafted = int(large[0].argmin())
    verdict = judge(
        block(drafted=(drafted,)), large, base, build_for_server(terms), terms
    )
    ids = set(verdict.rows[0].token_ids.tolist())
    assert verdict.accepted == 0
    assert set(np.argsort(large[0])[-10:].tolist()) <= ids
    assert set(np.argsort(base[0])[-BASE_CANDIDATES:].tolist()) <= ids
    assert drafted in ids
    assert len(ids) <= 10 + BASE_CANDIDATES + 1


def test_the_coupled_method_gets_a_row_at_every_position():
    """The device decides, so the server keeps none by itself."""
    verdict = opened(Terms("coupled")).verify(block())
    assert len(verdict.rows) == 3


def test_rounds_follow_one_another():
    """A later block is judged as if the whole text had been read afresh."""
    verifier = opened()
    verifier.verify(block(drafted=(4, 5, 6)))
    text = (4, 9)
    later = verifier.verify(block(1, (9,), (7,), text))
    fresh = opened().verify(block(0, (4, 9), (7,)))
    assert later.accepted == fresh.accepted
    np.testing.assert_array_equal(later.rows[0].token_ids, fresh.rows[0].token_ids)


def test_a_block_that_does_not_follow_is_refused():
    """The digest shows that the two sides hold different texts."""
    verifier = opened()
    verifier.verify(block(drafted=(4, 5)))
    with pytest.raises(MessageError, match="follow"):
        verifier.verify(block(1, (), (7,), text=(8,)))


def test_another_vocabulary_is_refused():
    """Ids of another vocabulary would be other words."""
    with pytest.raises(VocabularyMismatchError):
        opened(vocabulary_id="other")
