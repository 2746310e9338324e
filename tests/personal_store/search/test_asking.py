"""What a person types to search: words, phrases, exclusions, and common words alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import Store, import_source
from personal_store.lifecycle.selectors import Which
from personal_store.search.asking import Asked
from personal_store.search.derived import OWN_TEXTS
from personal_store.text.tokens import tokens


@pytest.mark.parametrize(
    ("typed", "terms", "phrases", "without"),
    [
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
    ],
)  # fmt: skip
def test_what_letters_ask_for(typed, terms, phrases, without):
    asked = Asked.of(typed)
    assert [list(part) for part in (asked.terms, asked.phrases, asked.without)] == [
        terms,
        phrases,
        without,
    ]


@given(st.text())
def test_anything_may_be_typed(typed):
    Asked.of(typed)


def a_store(folder, texts):
    lines = folder / "notes.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    store = Store.open(folder / "store.db")
    import_source(store, "jsonl", lines)
    return store


@pytest.fixture(params=[60, 700], ids=["in memory", "in the file"])
def store(request, tmp_path):
    """Every text says 'dear friend'; one in three has the boat, one in five a pier."""
    texts = [
        f"Dear friend, number{n} says "
        + ("the old boat " if n % 3 == 0 else "old or new, a boat " * (n % 7 == 0))
        + ("at the pier" if n % 5 == 0 else "at home")
        for n in range(request.param)
    ]
    with a_store(tmp_path, texts) as store:
        yield store


def texts_of(found):
    return [passage.text for passage in found]


def test_words_of_most_texts_are_used_where_there_are_no_others(store):
    """'Nothing matches' would be wrong: everything does."""
    assert store.search("dear friend", distinctive_only=True) == []
    assert len(store.find("dear friend", limit=3)) == 3
    assert [one.record_id for one in store.find("dear friend", limit=3)] == [
        one.record_id for one in store.search("dear friend", limit=3)
    ]
    rare = texts_of(store.find("dear friend number42", limit=3))
    assert len(rare) == 1
    assert "number42 " in rare[0]
    assert store.find("nowhere") == []
    assert store.find("") == []


def test_a_phrase_and_what_is_left_out(store):
    """In every text that is found, and in none."""
    every = texts_of(store.find("boat", limit=1000))
    phrase = texts_of(store.find('boat "the old boat"', limit=1000))
    assert 0 < len(phrase) < len(every)
    assert all("the old boat" in text for text in phrase)
    without = texts_of(store.find("boat -pier", limit=1000))
    assert without
    assert set(without) == {text for text in every if "pier" not in text}
    assert not any("the old" in t for t in texts_of(store.find('boat -"the old"')))
    assert store.find("boat", which=Which(words="pier"), limit=1000)
    both = texts_of(store.find('"at the pier" boat', which=Which(words="number0")))
    assert len(both) == 1
    assert store.find('"boat old"') == []


_some = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=5)


@settings(max_examples=20, deadline=None)
@given(st.lists(_some.map(" ".join), min_size=1, max_size=9), _some, _some)
def test_phrases_are_runs_of_words(tmp_path_factory, texts, phrase, without):
    """As a look at every text finds them."""
    with a_store(tmp_path_factory.mktemp("phrases"), texts) as store:
        rows = store.db.execute("SELECT id, body FROM record").fetchall()
        typed = f'"{" ".join(phrase)}" -"{" ".join(without)}"'
        found = Asked.of(typed).fitting(store.db, OWN_TEXTS)

    def has(body, run):
        words = tokens(body)
        return any(words[i : i + len(run)] == run for i in range(len(words)))

    expected = {i for i, body in rows if has(body, phrase) and not has(body, without)}
    assert found == expected


def test_texts_that_are_all_alike_are_found(tmp_path):
    """Their words have no weight at all; then the newest come."""
    with a_store(tmp_path, ["the same words, again"] + ["same words"] * 30) as store:
        assert store.find("same words")
