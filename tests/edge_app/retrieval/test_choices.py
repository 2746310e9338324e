"""What of a history each choice gives, from a store and from a part of a history."""

import json

import pytest

from edge_app.evaluation.cases import History
from edge_app.retrieval.context import PASSAGES, RetrievalQuery, find_passages
from edge_app.retrieval.personalisation import USUAL, available, check, find, summary
from models.prompts import Request
from personal_store import Store, import_source

WORDS = (
    *("otter", "kettle", "ticket", "gate", "drawer", "bean", "ferry", "lamp"),
    *("organ", "ladder", "violin", "harvest", "candle", "bridge", "anchor", "meadow"),
)
REQUEST = Request("Ask about the ferry and the lamp", "email", "Ana")


def row(number, word):
    said = f"{word} {word}s, and number {number} of {word * 2}, {word}-like"
    return {
        "text": f"Hullo Ana, there is a {said}.",
        "kind": "email" if number % 2 else "review",
        "date": f"2024-03-{number + 1:02}T10:00:00",
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    rows = [row(number, word) for number, word in enumerate(WORDS)]
    (folder / "letters.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Store.open(folder / "store.db") as store:
        mapping = {name: name for name in ("text", "kind", "date")}
        import_source(store, "jsonl", folder / "letters.jsonl", mapping=mapping)
        yield store


@pytest.fixture(params=["store", "history"])
def texts(request, store):
    if request.param == "store":
        return store
    whole = [store.passage(i) for i in store.kinds()]
    return History.of(whole)


def found(name, texts, **changes):
    return find(name, texts, RetrievalQuery(REQUEST, **changes))


def ids(found):
    return [passage.record_id for passage in found]


def about(word):
    return WORDS.index(word) + 1


@pytest.mark.parametrize("name", available())
def test_choices_are_found_by_their_files(name):
    check(name)
    assert 10 < len(summary(name)) <= 50
    assert USUAL in available()


@pytest.mark.parametrize(
    "name", [name for name in available() if name not in {"none", "tam"}]
)
def test_every_choice_gives_so_many_texts_and_none_excluded(name, texts):
    excluded = frozenset(ids(found(name, texts)))
    assert len(excluded) == PASSAGES
    assert found(name, texts, excluded=excluded)
    assert not excluded & set(ids(found(name, texts, excluded=excluded)))
    assert ids(found(name, texts)) == ids(found(name, texts))
    assert len(found(name, texts, limit=2)) == 2
    assert not found(name, History.of([]))


class Backwards:
    """Likes what was found last; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def scores(self, query, texts):
        self.asked.append((query, len(texts)))
        return [number - 2.0 for number in range(len(texts))]


def test_a_reranker_chooses_among_more(texts):
    """Four times as many are found; its order counts, and its score is shown."""
    reranker = Backwards()
    found = find("bm25", texts, RetrievalQuery(REQUEST, limit=3), reranker)
    assert reranker.asked == [("Ana Ask about the ferry and the lamp", 12)]
    pool = [p.record_id for p in find_passages(texts, REQUEST, limit=12)]
    assert ids(found) == pool[::-1][:3]
    best = found[0]
    assert best.score_parts == {"reranker": best.score}
    assert 0.99 < best.score < 1.0


def test_a_reranker_is_asked_about_nothing_else(texts):
    """The other choices would be something else with it; an empty history has none."""
    reranker = Backwards()
    query, reranked = RetrievalQuery(REQUEST), reranker
    for name in ("recency", "random", "noise", "none"):
        find(name, texts, query, reranked)
    assert not find("bm25", History.of([]), query, reranked)
    assert reranker.asked == []
