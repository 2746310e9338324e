"""Finding texts: BM25 as rank_bm25 has it, preferences, doubles, and what is typed."""

import json
import math
import random
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from rank_bm25 import BM25Okapi
from sqlite_utils import Database

from personal_store import import_source
from personal_store.connection import create_tables
from personal_store.lifecycle.forgetting import delete, exclude
from personal_store.lifecycle.overview import Which
from personal_store.search.index import Asked, Entry, Index, Wanted
from personal_store.search.tables import OWN_TEXTS, check, refresh
from personal_store.text.tokens import tokens
from tests.mailboxes import WORDS


class Reference(BM25Okapi):
    """rank_bm25, with the weights of ours."""

    def _calc_idf(self, nd):
        for term, n in nd.items():
            self.idf[term] = math.log1p((self.corpus_size - n + 0.5) / (n + 0.5))


def entry(number, text, *, kind="email", to="", sent_at=None):
    return Entry(number, kind, to, f"{to}@example.org", sent_at, tokens(text))


def index_of(*texts, **more):
    return Index.of([entry(i, text, **more) for i, text in enumerate(texts, 1)])


def found(index, query, limit=5, **wanted):
    return [hit.id for hit in index.search(tokens(query), Wanted(limit, **wanted))]


@pytest.fixture(scope="module")
def entries():
    """1,000 texts of words as frequent as in prose."""
    rng = random.Random(3)
    words = [*WORDS, *(a + b for a in WORDS for b in WORDS)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    texts = [" ".join(rng.choices(words, weights, k=60)) for _ in range(1000)]
    return [entry(i, f"{text} unique{i}") for i, text in enumerate(texts)]


@pytest.fixture(scope="module")
def index(entries):
    return Index.of(entries)


@pytest.mark.parametrize(
    "query",
    [
        "unique7",
        "quote supplier lawyer lawyer gardentrain musicdoctor budget",
        " ".join(WORDS),
    ],
)
def test_scores_are_those_of_rank_bm25(entries, index, query):
    """With our weights, of the best texts that match; words of most texts included, and
    each term once. A score is the sum of its parts: the screen can explain it."""
    terms = tokens(query)
    expected = Reference([e.terms for e in entries]).get_scores([*dict.fromkeys(terms)])
    hits = index.search(terms, Wanted(100))
    scores = {hit.id: hit.parts["bm25"] for hit in hits}
    assert scores
    assert_allclose([*scores.values()], expected[[*scores]], rtol=2e-6)
    assert min(scores.values()) >= sorted(expected[expected > 0])[-100:][0] * 0.9999
    for hit in hits[:5]:
        assert hit.parts["bm25"] == pytest.approx(sum(hit.terms.values()), rel=1e-5)

    hits = index.search(terms, Wanted(5, "email", "anna"))
    assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)
    for hit in hits:
        assert set(hit.parts) == {"bm25", "recency", "same_recipient", "same_kind"}
        assert hit.score == pytest.approx(sum(hit.parts.values()))


def test_distinctive_words_alone_make_a_match(entries, index):
    common = max(WORDS, key=lambda w: sum(w in e.terms for e in entries))
    assert sum(common in e.terms for e in entries) > 500
    assert index.search([common], Wanted(5, distinctive_only=True)) == []
    assert index.matching([common]) == {}
    assert set(index.matching([common, "unique7"])) == {7}
    (hit,) = index.search([common, "unique7"], Wanted(5, distinctive_only=True))
    assert set(hit.terms) == {"unique7"}


def test_hundreds_of_excluded_texts_hide_no_other(index):
    """They take no place among the texts that are looked at."""
    query = ["gardentrain", "musicdoctor", "lawyer"]
    matching = index.matching(query)
    best = sorted(matching, key=lambda i: -matching[i])
    assert len(best) > 200
    excluded, only = set(best[:-5]), set(best[-5:])
    assert {h.id for h in index.search(query, Wanted(5, excluded=excluded))} == only
    assert {h.id for h in index.search(query, Wanted(5, only=only))} == only


def test_japanese_is_found_without_spaces_and_nothing_without_words():
    index = index_of("資料は明日お送りします", "今日は天気がいいですね")
    assert found(index, "明日の資料") == [1]
    assert found(index_of("...", "!!"), "...") == []
    assert found(Index.of([]), "tea") == Index.of([]).recent(Wanted(3)) == []


def test_preferences_order_but_never_hide():
    """Same recipient and same kind come first; others are still found."""
    cakes = (("one two", "review", "bob"), ("three four", "email", "bob"),
             ("five six", "email", "anna"))  # fmt: skip
    index = Index.of(
        entry(n, f"cake {text}", kind=kind, to=to)
        for n, (text, kind, to) in enumerate(cakes, 1)
    )
    assert found(index, "cake", kind="email", recipient="Anna") == [3, 2, 1]
    assert found(index, "cake", recipient="anna@example.org")[0] == 3
    assert found(index, "cake", excluded={3}, limit=1) == [2]


TYPED = (
    ("the Boat", ["the", "boat"], [], []),
    ('pier "Next  summer!"', ["pier", "next", "summer"], ["next summer"], []),
    ("pier -boat -", ["pier"], [], ["boat"]),
    ('pier -"next summer"', ["pier"], [], ["next summer"]),
    ("well-known e-mail", ["well", "known", "e", "mail"], [], []),
    ("„nächster Sommer“ «la mer»", ["nächster", "sommer", "la", "mer"],
     ["nächster sommer", "la mer"], []),
    ('"not closed', ["not", "closed"], ["not closed"], []),
    ('"" - -"" "…"', [], [], []),
    ('"東京都"', ["東京", "京都"], ["東京 京都"], []),
    ('5"disk', ["5", "disk"], ["disk"], []),
)  # fmt: skip


def test_what_letters_ask_for():
    for typed, *asked in TYPED:
        assert Asked.of(typed) == Asked(*map(tuple, asked)), typed


@given(st.text())
def test_anything_may_be_typed(typed):
    Asked.of(typed)


def test_what_is_typed_is_found(store, tmp_path):
    """Every text says 'dear friend'; one in three has the boat, one in five a pier."""
    texts = [
        f"Dear friend, number{n} says "
        + ("the old boat " if n % 3 == 0 else "old or new, a boat " * (n % 7 == 0))
        + ("at the pier" if n % 5 == 0 else "at home")
        for n in range(60)
    ]
    lines = tmp_path / "notes.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    import_source(store, "jsonl", lines)

    def find(typed, **options):
        return [passage.text for passage in store.find(typed, **options)]

    # Words of most texts are used if there are no others: all match.
    assert store.search("dear friend", distinctive_only=True) == []
    assert len(find("dear friend", limit=3)) == 3
    (rare,) = find("dear friend number42", limit=3)
    assert "number42 " in rare
    assert find("nowhere") == find("") == []

    # A phrase is in every text that is found, and what is left out in none.
    every = find("boat", limit=1000)
    phrase = find('boat "the old boat"', limit=1000)
    assert 0 < len(phrase) < len(every)
    assert all("the old boat" in text for text in phrase)
    without = find("boat -pier", limit=1000)
    assert set(without) == {text for text in every if "pier" not in text} != set()
    assert not any("the old" in text for text in find('boat -"the old"'))
    assert find("boat", which=Which(words="pier"), limit=1000)
    assert len(find('"at the pier" boat', which=Which(words="number0"))) == 1
    assert find('"boat old"') == []


def memory():
    db = Database(sqlite3.connect(":memory:", isolation_level=None))
    create_tables(db)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("INSERT INTO source VALUES (1, 'jsonl', 'x')")
    return db


def add(db, number, text):
    empty = ("recipient", "recipient_address", "sender", "thread", "reply_to", "title")
    own = {"id": number, "source_id": 1, "key": str(number), "kind": "note"}
    own |= {"body": text, "author": 1, "trimmed": 0, "cleaning": 0, "body_sha": b""}
    db["record"].insert(dict.fromkeys(empty, "") | own)
    refresh(db, [number])


TEXTS = st.lists(
    st.lists(st.sampled_from(["tea", "jam", "Öl", "東京都", "a", "b2", "x" * 70])),
    max_size=8,
)


@settings(max_examples=25)
@given(texts=TEXTS, gone=st.sets(st.integers(0, 7)), hidden=st.sets(st.integers(0, 7)))
def test_the_index_follows_every_change(texts, gone, hidden):
    """After imports, exclusions and deletions, in stores of any size from 0 on; and
    phrases are runs of words."""
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
    index = Index(db, OWN_TEXTS)
    for word in ("tea", "東京", "öl"):
        holding = {i for i, terms in there.items() if word in terms}
        hits = index.search([word], Wanted(10))
        assert {hit.id for hit in hits} <= holding
        assert bool(hits) == bool(holding)
    fitting = Asked.of('"tea jam" -a').fitting(db, OWN_TEXTS)
    assert fitting == {
        i
        for i, terms in there.items()
        if ["tea", "jam"] in [terms[k : k + 2] for k in range(len(terms))]
        and "a" not in terms
    }


def test_a_wrong_index_is_found_by_the_check():
    for damage, wrong in (
        ("doc SET tok = 'ham'", ("posting", "length")),
        ("doc SET n = 7", ()),
        ("doc_posting SET term = 'x' WHERE term = 'tea'", ("posting",)),
        ("doc_length SET lengths = x'07000000'", ("length",)),
    ):
        db = memory()
        add(db, 1, "tea and jam")
        assert check(db) == []
        db.execute(f"UPDATE {damage}")
        expected = [f"doc_{one} does not fit the texts" for one in wrong]
        if damage.startswith("doc SET"):
            expected.insert(0, "doc 1 does not say what its record says")
        assert check(db) == expected


def test_texts_of_thousands_of_records_lie_in_many_blocks():
    """The number of a record decides where its postings lie."""
    db = memory()
    for number in (1, 4095, 4096, 4097, 5000, 2**20):
        add(db, number, f"tea for {number}")
    index = Index(db, OWN_TEXTS)
    assert set(index.matching(["5000"])) == {5000}
    delete(db, [4096, 5000])

    assert check(db) == []
    assert set(index.matching(["4097"])) == {4097}
    assert not index.matching(["5000"])
    many = [f"unique{i}" for i in range(3000)]
    assert len(index.search(["tea", *many], Wanted(10))) == 4
