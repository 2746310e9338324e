"""The index in the file finds what a search through everything finds."""

import json
import sqlite3
import string
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from rank_bm25 import BM25Okapi
from sqlite_utils import Database

from personal_store import Store, import_source
from personal_store.database.connecting import connect
from personal_store.database.schema import create_tables
from personal_store.lifecycle.forgetting import delete
from personal_store.lifecycle.selectors import Which
from personal_store.lifecycle.trash import exclude
from personal_store.search.derived import OWN_TEXTS, check, refresh
from personal_store.search.index import Index
from personal_store.search.postings import faults
from personal_store.search.ranking import Wanted
from personal_store.text.tokens import tokens

WORDS = [a + b for a in string.ascii_lowercase for b in "aeiou"]
PEOPLE = ("Ana Ruiz", "Bo", "Çelik Demir", "")


def texts_file(folder, rows):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(rng, count, words=40):
    weights = 1 / np.arange(1, len(WORDS) + 1)
    for number in range(count):
        chosen = rng.choice(WORDS, size=words, p=weights / weights.sum())
        yield {
            "text": " ".join(chosen) + f" unique{number}",
            "recipient": PEOPLE[number % len(PEOPLE)],
            "date": str(date(2015 + number % 9, 1 + number % 12, 1 + number % 28)),
            "kind": ("email", "review", "note")[number % 3],
        }


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A store of 1,200 texts."""
    folder = tmp_path_factory.mktemp("index")
    path = texts_file(folder, rows_of(np.random.default_rng(4), 1200))
    with Store.open(folder / "store.db") as store:
        import_source(store, "jsonl", path)
        yield store


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(9)
    return [list(rng.choice(WORDS, size=size)) for size in (1, 6, 6, 80)]


@pytest.fixture(scope="module")
def of_the_package(big, queries):
    """The texts, and their scores (N,) by rank_bm25 for each query."""
    entries = big.corpus().entries
    whole = BM25Okapi([list(entry.terms) for entry in entries])
    return entries, [whole.get_scores(list(dict.fromkeys(query))) for query in queries]


def same(found, expected):
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.parts == pytest.approx(other.parts)
        assert one.terms == pytest.approx(other.terms)


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(10),
        Wanted(5, "review", "ana"),
        Wanted(7, excluded={3, 4, 5}),
        Wanted(5, only=frozenset(range(100, 140))),
    ],
    ids=["plain", "preferences", "excluded", "only"],
)
def test_finds_and_explains_what_the_corpus_does(big, queries, wanted):
    """Same texts, same scores, same reasons, to the last digits."""
    for query in queries:
        found = Index(big.db, OWN_TEXTS).search(query, wanted)
        same(found, big.corpus().search(query, wanted))
        assert found or wanted.only


def test_every_score_is_explained_to_the_word(big):
    """The words' shares add up to the part that is theirs."""
    hits = Index(big.db, OWN_TEXTS).search(["za", "ze", "unique7"], Wanted(5, "note"))

    assert hits[0].terms["unique7"] == max(hits[0].terms.values())
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        assert hit.parts["bm25"] == pytest.approx(sum(hit.terms.values()))


@pytest.mark.parametrize("where", ["memory", "file"])
def test_the_best_are_those_of_rank_bm25_with_its_scores(
    big, queries, where, of_the_package
):
    """Words of nearly every text included, which the package weighs by a floor."""
    entries, every = of_the_package
    assert any(
        n > len(entries) / 2
        for n in big.corpus()._statistics.document_frequencies.values()
    )
    searcher = Index(big.db, OWN_TEXTS) if where == "file" else big.corpus()
    for query, scores in zip(queries, every, strict=True):
        hits = searcher.search(query, Wanted(200))
        assert len(hits) >= 100
        found = {hit.id: hit.parts["bm25"] for hit in hits}
        expected = {e.id: s for e, s in zip(entries, scores, strict=True)}
        assert_allclose([*found.values()], [expected[i] for i in found], rtol=1e-9)
        assert max(found.values()) == pytest.approx(scores.max())


def test_a_first_look_reads_postings_alone(big, queries, of_the_package):
    """And scores every text as rank_bm25 does, but for the last of 32 bits."""
    entries, every = of_the_package
    index = Index(big.db, OWN_TEXTS)
    for query, expected in zip(queries, every, strict=True):
        statistics = index._statistics(query)
        found = index._scores(statistics.known(query), statistics)
        assert_allclose(found[[entry.id for entry in entries]], expected, rtol=2e-6)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_search_by_telling_words_leaves_out_the_others(big, where):
    """What it finds has the scores of rank_bm25 for the words that are left."""
    entries = big.corpus().entries
    whole = BM25Okapi([list(entry.terms) for entry in entries])
    searcher = Index(big.db, OWN_TEXTS) if where == "file" else big.corpus()
    hits = searcher.search(["ba", "zo", "unique7"], Wanted(1000, distinctive_only=True))
    scores = whole.get_scores(["zo", "unique7"])
    expected = {e.id: s for e, s in zip(entries, scores, strict=True) if s > 0}
    assert {hit.id: hit.parts["bm25"] for hit in hits} == pytest.approx(expected)
    assert not any("ba" in hit.terms for hit in hits)
    assert searcher.search(["ba"], Wanted(5, distinctive_only=True)) == []


def test_only_telling_words_make_a_match(big):
    """A text that shares nothing but words of most texts does not match."""
    entries = big.corpus().entries
    half = len(entries) / 2
    common = "ba"
    assert sum(common in entry.terms for entry in entries) > half
    assert Index(big.db, OWN_TEXTS).matching([common]) == {}
    assert set(Index(big.db, OWN_TEXTS).matching([common, "unique7"])) == {
        entry.id for entry in entries if "unique7" in entry.terms
    }


def test_hundreds_of_excluded_texts_hide_no_other(big):
    """They take no place among the texts that are looked at."""
    matching = big.corpus().matching(["za", "ze", "zi", "zo", "ya"])
    best = sorted(matching, key=lambda i: -matching[i])
    assert len(best) > 250
    wanted = Wanted(5, excluded=set(best[:-5]))
    found = Index(big.db, OWN_TEXTS).search(["za", "ze", "zi", "zo", "ya"], wanted)

    assert {hit.id for hit in found} == set(best[-5:])


def test_recent_texts_are_those_of_the_corpus(big):
    for wanted in (
        Wanted(8),
        Wanted(5, "note", "çelik"),
        Wanted(3, "email", "Ana", excluded=range(1, 900)),
    ):
        same(Index(big.db, OWN_TEXTS).recent(wanted), big.corpus().recent(wanted))


def test_every_match_and_every_kind_are_the_corpus_s(big, queries):
    there = Index(big.db, OWN_TEXTS)

    assert there.kinds() == big.corpus().kinds()
    for query in queries:
        assert there.matching(query) == pytest.approx(big.corpus().matching(query))


def test_a_large_store_is_searched_in_its_file(big, monkeypatch):
    """And finds the same, through the same calls."""
    before = [
        [p.record_id for p in big.search("za ze zi unique77")],
        [p.record_id for p in big.recent(recipient="Bo")],
        big.kinds(),
        big.matching("za ze"),
    ]
    monkeypatch.setattr("personal_store.store.EXHAUSTIVE", 1000)
    monkeypatch.setattr(Store, "corpus", None)
    after = [
        [p.record_id for p in big.search("za ze zi unique77")],
        [p.record_id for p in big.recent(recipient="Bo")],
        big.kinds(),
        big.matching("za ze"),
    ]

    assert after[:3] == before[:3]
    assert after[3] == pytest.approx(before[3])


@pytest.mark.parametrize("limit", [0, 5000], ids=["in file", "in memory"])
@pytest.mark.parametrize(
    ("which", "fits"),
    [
        (Which(kind="review"), lambda p: p.kind == "review"),
        (Which(person="ana"), lambda p: p.recipient == "Ana Ruiz"),
        (Which(person="Ruiz"), lambda p: p.recipient == "Ana Ruiz"),
        (Which(since=date(2020, 1, 1)), lambda p: p.date.year >= 2020),
        (Which(until=date(2016, 12, 31)), lambda p: p.date.year <= 2016),
        (Which(source="texts.jsonl"), lambda p: True),
        (Which(source="other"), lambda p: False),
        (Which(words="unique7"), lambda p: p.text.endswith(" unique7")),
        (
            Which(kind="note", person="Bo", since=date(2018, 1, 1)),
            lambda p: p.kind == "note" and p.recipient == "Bo" and p.date.year >= 2018,
        ),
    ],
    ids=[
        *("kind", "first name", "last name", "since", "until", "source", "no source"),
        *("words", "several"),
    ],
)
def test_filters_leave_nothing_else_and_lose_nothing(
    big, monkeypatch, which, fits, limit
):
    monkeypatch.setattr("personal_store.store.EXHAUSTIVE", limit)
    query = "zo zu unique7"
    every = big.search(query, limit=2000)
    assert 50 < len(every) < 200
    wanted = {p.record_id for p in every if fits(p)}

    assert {p.record_id for p in big.search(query, limit=2000, which=which)} == wanted


TEXTS = st.lists(
    st.lists(st.sampled_from(["tea", "jam", "Öl", "東京都", "a", "b2", "x" * 70])),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, gone=st.sets(st.integers(0, 7)), hidden=st.sets(st.integers(0, 7)))
def test_index_and_counts_follow_every_change(texts, gone, hidden):
    """After imports, exclusions and deletions, in stores of any size from none on."""
    db = memory()
    for number, words in enumerate(texts, 1):
        add(db, number, " ".join(words))
    exclude(db, [i for i in hidden if 0 < i <= len(texts)])
    delete(db, [i for i in gone if 0 < i <= len(texts)])

    assert check(db) == []
    there = {
        number: tokens(f"\n{' '.join(words)}")
        for number, words in enumerate(texts, 1)
        if number not in gone | hidden
    }
    counted = {
        term: sum(term in terms for terms in there.values())
        for term in {t for terms in there.values() for t in terms}
    }
    lengths = {number: len(terms) for number, terms in there.items() if terms}
    assert faults(db, "doc", counted, lengths) == []
    assert faults(db, "doc", counted, {**lengths, 5000: 1}) == [
        "doc_length does not fit the texts"
    ]
    assert faults(db, "doc", {**counted, "one more": 1}, lengths) == [
        "doc_posting does not fit the texts",
        "doc_term does not fit the texts",
        "doc_spread does not fit the texts",
    ]
    for word in ("tea", "東京", "öl"):
        found = Index(db, OWN_TEXTS).matching([word])
        assert set(found) == {i for i, terms in there.items() if word in terms}


def memory():
    db = Database(sqlite3.connect(":memory:", isolation_level=None))
    create_tables(db)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("INSERT INTO source VALUES (1, 'jsonl', 'x')")
    return db


def add(db, number, text, author=1):
    db.execute(
        """INSERT INTO record(id, source_id, key, kind, title, body, recipient,
           recipient_address, sender, thread, reply_to, author, trimmed, cleaning,
           body_sha) VALUES (?, 1, ?, 'note', '', ?, '', '', '', '', '',
           ?, 0, 0, x'')""",
        [number, str(number), text, author],
    )
    refresh(db, [number])


def test_a_query_of_thousands_of_words_is_no_trouble(big):
    query = [*WORDS, *(f"unique{i}" for i in range(3000))]

    assert len(Index(big.db, OWN_TEXTS).search(query, Wanted(10))) == 10


def test_an_empty_store_has_an_empty_index(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        there = Index(store.db, OWN_TEXTS)
        assert there.search(["tea"], Wanted(3)) == there.recent(Wanted(3)) == []
        assert there.matching(["tea"]) == there.kinds() == {}


def test_a_wrong_count_is_found_by_the_check(tmp_path):
    db = connect(tmp_path / "store.db")
    db.execute("UPDATE total SET words = 7 WHERE name = 'doc'")

    assert check(db) == ["doc: (0, 7) counted, (0, 0)"]
    db.close()


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        ("doc SET tok = 'ham'", ("posting", "term", "spread", "length")),
        ("doc_posting SET term = 'x' WHERE term = 'tea'", ("posting",)),
        ("doc_term SET texts = 2 WHERE term = 'tea'", ("term",)),
        ("doc_spread SET terms = 7", ("spread",)),
        ("doc_length SET lengths = x'07000000'", ("length",)),
    ],
)
def test_a_wrong_index_is_found_by_the_check(damage, wrong):
    db = memory()
    add(db, 1, "tea and jam")
    assert check(db) == []
    db.execute(f"UPDATE {damage}")

    found = [f"doc_{one} does not fit the texts" for one in wrong]
    if damage.startswith("doc SET"):
        found.insert(0, "doc 1 does not say what its record says")
    assert check(db) == found


def test_texts_of_thousands_of_records_lie_in_many_blocks():
    """The number of a record decides where its postings lie."""
    db = memory()
    for number in (1, 1023, 1024, 1025, 5000, 2**20):
        add(db, number, f"tea for {number}")
    assert set(Index(db, OWN_TEXTS).matching(["5000"])) == {5000}
    delete(db, [1024, 5000])

    assert check(db) == []
    assert set(Index(db, OWN_TEXTS).matching(["1025"])) == {1025}
    assert not Index(db, OWN_TEXTS).matching(["5000"])
