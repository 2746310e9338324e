"""Finding own texts: rank_bm25's scores, explained, without doubles."""

import random

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rank_bm25 import BM25Okapi

from personal_store import Store, import_source
from personal_store.search.ranking import Entry, Wanted
from personal_store.search.retrieval import Corpus
from personal_store.text.tokens import tokens
from tests.mailboxes import WORDS


def entry(number, text, *, kind="email", to="", sent_at=None):
    return Entry(number, kind, to, f"{to}@example.org", sent_at, tokens(text))


def found(corpus, query, limit=5, **wanted):
    return [hit.id for hit in corpus.search(tokens(query), Wanted(limit, **wanted))]


@pytest.fixture
def corpus():
    rng = random.Random(3)
    words = [*WORDS, *(a + b for a in WORDS for b in WORDS)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    texts = [" ".join(rng.choices(words, weights, k=60)) for _ in range(1000)]
    return Corpus([entry(i, text) for i, text in enumerate(texts)])


def test_scores_are_those_of_rank_bm25(corpus):
    """To the last digits, words of most texts included; each term counts once."""
    documents = [entry.terms for entry in corpus.entries]
    query = tokens("quote supplier lawyer lawyer gardentrain musicdoctor budget")
    assert any(sum(t in d for d in documents) > 500 for t in query)
    expected = BM25Okapi(documents).get_scores(list(dict.fromkeys(query)))
    assert_allclose(corpus.scores(query), expected, rtol=1e-9)


def test_score_is_the_sum_of_its_parts(corpus):
    """So that the screen can explain every choice."""
    hits = corpus.search(tokens("supplier lawyer"), Wanted(5, "email", "anna"))

    assert len(hits) == 5
    for hit in hits:
        assert set(hit.parts) == {"bm25", "recency", "same_recipient", "same_kind"}
        assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)


@pytest.mark.parametrize("count", [1, 2, 3, 19, 20, 60])
def test_a_unique_word_is_found_in_a_store_of_any_size(count):
    """rank_bm25 alone finds nothing in one or two texts."""
    texts = [f"the common text number{i} of all" for i in range(count)]
    corpus = Corpus([entry(i, text) for i, text in enumerate(texts)])

    assert found(corpus, f"number{count - 1}") == [count - 1]
    assert found(corpus, "nowhere") == []


def test_words_of_every_text_find_the_shortest(corpus):
    """As rank_bm25 has it; without words nothing is found."""
    everywhere = Corpus([entry(i, "the " + f"word{i} " * i) for i in range(1, 31)])

    assert found(everywhere, "the the the", limit=3) == [1, 2, 3]
    assert np.all(corpus.scores([]) == 0)


def test_an_empty_store_finds_nothing(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        assert store.search("anything") == []
        assert store.recent() == []


def test_texts_without_words_are_no_trouble():
    corpus = Corpus([entry(1, "..."), entry(2, "!!")])

    assert found(corpus, "...") == []


def test_equal_scores_put_the_newer_first_then_the_later_import():
    texts = {1: 100, 2: None, 3: 300, 4: None}
    corpus = Corpus(
        [
            entry(i, f"apple pie {i}a {i}b {i}c {i}d", sent_at=at)
            for i, at in texts.items()
        ]
    )

    assert found(corpus, "apple") == [3, 1, 4, 2]


def test_nearly_equal_texts_are_shown_once():
    text = "we would like to invite you to our summer party in the garden on friday"
    corpus = Corpus([entry(1, text), entry(2, text + " evening"), entry(3, "party")])

    assert sorted(found(corpus, "summer party")) in ([1, 3], [2, 3])


def test_preferences_order_but_never_hide():
    """Same recipient and same kind come first; others are still found."""
    corpus = Corpus(
        [
            entry(1, "cake one two", kind="review", to="bob"),
            entry(2, "cake three four", to="bob"),
            entry(3, "cake five six", to="anna"),
        ]
    )

    assert found(corpus, "cake", kind="email", recipient="Anna") == [3, 2, 1]
    assert found(corpus, "cake", recipient="anna@example.org")[0] == 3
    assert found(corpus, "cake", excluded={3}, limit=1) == [2]


def test_a_first_name_is_enough():
    """People say "Ana" where the mail says "Ana Ruiz"; "An" is somebody else."""
    corpus = Corpus(
        [
            entry(1, "cake one two", to="Ana Ruiz", sent_at=100),
            entry(2, "cake three four", to="bob", sent_at=300),
        ]
    )

    assert [hit.id for hit in corpus.recent(Wanted(2, None, "ana"))] == [1, 2]
    assert [hit.id for hit in corpus.recent(Wanted(2, None, "An"))] == [2, 1]


def test_recent_texts_need_no_query():
    corpus = Corpus(
        [
            entry(1, "cake one two", to="bob", sent_at=300),
            entry(2, "bread three four", kind="review", sent_at=200),
            entry(3, "milk five six", to="anna", sent_at=100),
        ]
    )

    assert [hit.id for hit in corpus.recent(Wanted(5))] == [1, 2, 3]
    assert [hit.id for hit in corpus.recent(Wanted(2, "email", "anna"))] == [3, 1]


def test_japanese_is_found_without_spaces():
    corpus = Corpus(
        [entry(1, "資料は明日お送りします"), entry(2, "今日は天気がいいですね")]
    )

    assert found(corpus, "明日の資料") == [1]


def test_new_texts_are_found_at_once(tmp_path):
    """The cached index is built anew when the store has changed."""
    path = tmp_path / "notes.csv"
    path.write_text("text\nI bought a red bicycle today.\n")
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "csv", path)
        before = store.corpus()
        assert store.search("kayak") == []
        assert store.corpus() is before

        path.write_text("text\nWe paddled a kayak down the river.\n")
        import_source(store, "csv", path)

        assert [p.text for p in store.search("kayak")] == [
            "We paddled a kayak down the river."
        ]
