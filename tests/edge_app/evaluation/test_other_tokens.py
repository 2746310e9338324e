"""A generalist with other tokens: what lists share, and what a true text costs."""

import pytest
from evaluation_helpers import case
from numpy.testing import assert_allclose

from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import VocabularyMismatchError
from edge_app.evaluation.other_tokens import OtherTokens, Shared, shared_by
from edge_app.evaluation.pair import Measuring

SMALL = ByteVocabulary([b"a", b"b", b"ab", b"c", b"", b"end"], [4, 5])
LARGE = ByteVocabulary([b"b", b"a", b"ca", b"c", b"end"], [4])


def test_what_two_lists_share():
    """The specialist cuts ab|c|a, the other one a|b|ca: of three ends the first and the
    last coincide, and all its tokens but ab are in both."""
    assert shared_by(SMALL, LARGE, ["abca"]) == Shared(3, 4, 4, 2 / 3, 2 / 3)
    assert shared_by(SMALL, LARGE, []).ends == 0.0
    with pytest.raises(VocabularyMismatchError, match="no token for the byte"):
        shared_by(SMALL, LARGE, ["x"])


def test_read_in_bytes_a_text_costs_what_it_costs_in_tokens(pair, monkeypatch):
    """The embedded pair, as if it had two vocabularies; the share that is kept comes
    from the likeliest candidates, and so nearly."""
    text = "Hullo Ana,\n\nThank you for the pier photos. H\u00e9llo!\n\nBest,\nTess"
    how = Measuring(strengths=(1.0,), thresholds=(0.5,))
    cases = case(text=text), case(beginning=text[:12], text=text[12:])
    one = [pair.measure(asked, how) for asked in cases]
    prompts = pair.prompts(cases[0], how)
    other = OtherTokens(pair.small, pair.generalist.slots.model, pair.generalist)
    monkeypatch.setattr(pair, "other", other)
    for asked, expected in zip(cases, one, strict=True):
        found = pair.measure(asked, how)
        assert found.tokens == expected.tokens
        assert_allclose(found.generalist, expected.generalist, rtol=1e-4)
        assert_allclose(found.steered, expected.steered, rtol=1e-2)
        assert_allclose(found.kept, expected.kept, rtol=0.05)
    ids = pair.small.vocabulary.tokenize(text)
    assert 0.0 < other.block_seconds(cases[0].request, ids) < 1.0
    with pytest.raises(VocabularyMismatchError, match="one vocabulary"):
        pair.readers(prompts)
