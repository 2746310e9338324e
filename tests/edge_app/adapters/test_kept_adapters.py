"""What is kept of an adapter, which texts it may hold, and which it is made of."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from decoding_core.errors import InvalidSettingsError
from edge_app.adapters import kept
from edge_app.adapters.kept import named, training_alone, wanted
from edge_app.adapters.training import divided
from edge_app.config.settings import store_path
from edge_app.evaluation.cases import CasesError
from personal_store import Store, import_source
from tests.loras import about


def test_what_is_kept_is_private_and_comes_back():
    """And it names no text but by a keyed hash."""
    adapter = named("work").keep(about({3: "Dear Ana, the pier."}))
    assert named("work").about == adapter.about
    for path in (adapter.folder, *adapter.folder.iterdir()):
        assert path.stat().st_mode & 0o077 == 0
    assert "pier" not in (adapter.folder / "adapter.json").read_text()
    assert [one.name for one in kept.kept_adapters()] == ["work"]
    named("work").remove()
    assert kept.kept_adapters() == []


def test_forgotten_texts_are_found_by_number_and_by_what_they_say():
    """Numbers mean texts of one store; the same words are the same text anywhere."""
    one = about({3: "Dear Ana, the pier.", 4: "Dear Ben, the ferry.", 5: "Notes."})
    assert one.holds({3: "rewritten since"}, "store.db") == [3]
    assert one.holds({3: "of another store"}, "sample.db") == []
    assert one.holds({77: "Dear Ben, the ferry."}, "sample.db") == [4]
    assert one.holds({78: ""}, "store.db") == []
    left = kept.without(one, [3, 4])
    assert (set(left.texts), left.forgotten, left.trained_on) == ({5}, 2, 3)


def test_what_cannot_be_read_may_hold_anything():
    """So it is told of with whatever is forgotten."""
    named("work").keep(about({3: "Dear Ana."}))
    path = named("broken").keep(about({9: "x"})).folder / "adapter.json"
    for broken in ("{", "[]", json.dumps({"texts": 3}), '{"key": "zz"}'):
        path.write_text(broken)
        found = kept.that_may_hold({3: ""}, "store.db")
        assert [(one.name, held) for one, held in found] == [
            ("broken", []),
            ("work", [3]),
        ]


def test_an_adapter_is_named_by_its_name_or_its_path(tmp_path):
    assert wanted("") is None
    assert wanted("off") is None
    adapter = named("work").keep(about({3: "Dear Ana."}))
    with pytest.raises(InvalidSettingsError, match="'work' is not finished"):
        wanted("work")
    adapter.weights.write_bytes(b"")
    assert wanted("work") == adapter.folder
    assert kept.kept_at(adapter.folder).about == adapter.about
    assert kept.kept_at(tmp_path) is None
    file = tmp_path / "other.gguf"
    file.write_bytes(b"")
    assert wanted(str(file)) == file
    with pytest.raises(InvalidSettingsError, match=r"no adapter 'nobody': .*list"):
        wanted("nobody")
    for word in ("../up", "", "off", "a b", "-x", "x" * 65, "\x1b[2J"):
        with pytest.raises(InvalidSettingsError, match="has letters"):
            named(word)


def test_two_trainings_of_one_name_are_refused():
    """And a name of which nothing came is no adapter."""
    with training_alone(named("work")), training_alone(named("home")):
        busy = pytest.raises(InvalidSettingsError, match="by another process")
        with busy, training_alone(named("work")):
            pass
    assert kept.kept_adapters() == []


WORDS = ("otter", "kettle", "ticket", "gate", "drawer", "bean", "ferry", "lamp", "pier")


@pytest.fixture
def store(tmp_path):
    lines = []
    for number in range(20):
        word, day = WORDS[number % len(WORDS)], datetime(2020, 1, 1, tzinfo=UTC)
        every = (*WORDS, word, "soup", "tea", "Tess")
        row = {"text": " ".join(f"{one}{number}" for one in every), "kind": "note"}
        row |= {"date": (day + timedelta(days=number)).isoformat()}
        lines.append(json.dumps(row | {"title": f"about {word} {number}"}))
    again = json.loads(lines[9]) | {"date": "2020-02-01", "title": "again"}
    lines.append(json.dumps(again | {"text": again["text"] + " indeed"}))
    lines.append(json.dumps({"text": "too short to learn", "date": "2020-03-01"}))
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(lines))
    with Store.open(store_path()) as store:
        import_source(store, "jsonl", path)
        yield store


def test_the_newest_texts_are_held_out_and_never_read(store):
    """One that says nearly the same as a learnt one would be predicted from itself."""
    found = divided(store, held_out=3)
    assert [case.name for case in found.learnt] == [str(i) for i in range(1, 19)]
    assert [case.name for case in found.held_out] == ["19", "20"]
    with pytest.raises(CasesError, match="nearly the same as another"):
        divided(store, held_out=1)
    assert {int(case.name) for case in found.learnt} == set(found.texts)
    for case in (*found.learnt, *found.held_out):
        ids = {p.record_id for p in case.history().recent(limit=50)}
        assert ids == set(range(1, 19)) - {int(case.name)}
    assert found.learnt[0].request.text.startswith("about otter 0")


def test_texts_are_chosen(store):
    """The newest so many; some by chance, the same again for a seed; some alone."""
    few = divided(store, texts=5, held_out=2)
    assert [case.name for case in few.learnt] == ["15", "16", "17", "18", "19"]
    assert [case.name for case in few.held_out] == ["20", "21"]
    draws = [divided(store, held_out=3, by="random", seed=s) for s in (1, 1, 2)]
    names = [[case.name for case in found.held_out] for found in draws]
    assert names[0] == names[1] != names[2]
    only = divided(store, only=frozenset(range(1, 11)), held_out=9)
    assert (len(only.learnt), len(only.held_out)) == (8, 2)
    with pytest.raises(CasesError, match="8 are needed"):
        divided(store, only=frozenset({1, 2, 3}))
